// SGP, AD-PSGD and Non-blocking SGD over D-PSGD against models of their events.
#include <nlohmann/json.hpp>
#include <set>

#include "tests/algorithms/event_models.hpp"

namespace simsgd::test::algorithms_event_models {

namespace {

/// SGP (Assran et al., Algorithm 1): in step k rank i sends to i + 2^((k - 1) mod 3); a message begins when
/// both sides have computed; a step ends when the one sent and the one received have.
StepEnds sgp_model(const ModelSetup& setup, double until_s) {
  EventQueue queue(until_s);
  StepEnds ends(kModelRanks);
  std::map<std::pair<int, std::size_t>, int> open;  // messages of a rank's step that have not ended
  std::map<std::pair<int, std::size_t>, bool> ready;
  std::function<void(int, std::size_t)> begin;
  const auto message = [&](int from, int to, std::size_t step) {
    if (!ready[{from, step}] || !ready[{to, step}]) return;
    queue.told(queue.now() + setup.model_s, [&, from, to, step] {
      for (const int rank : {from, to}) {
        if (--open[{rank, step}] > 0) continue;
        ends[static_cast<std::size_t>(rank)].push_back(queue.now());
        begin(rank, step + 1);
      }
    });
  };
  begin = [&](int rank, std::size_t step) {
    queue.computed(queue.now() + setup.compute_s(rank, step), [&, rank, step] {
      const int distance = 1 << (step - 1) % 3;
      ready[{rank, step}] = true;
      open[{rank, step}] = 2;
      message(rank, (rank + distance) % kModelRanks, step);
      message((rank + kModelRanks - distance) % kModelRanks, rank, step);
    });
  };
  for (int rank = 0; rank < kModelRanks; ++rank) begin(rank, 1);
  queue.run();
  return ends;
}

/// AD-PSGD (Lian et al., Algorithm 1) on a ring: even ranks send their model to a neighbour drawn for each
/// averaging, which answers at once; the averagings of a step follow one another, and the step ends when the
/// gradient and the last answer are there. Odd ranks only compute.
StepEnds ad_psgd_model(const ModelSetup& setup, double until_s, int averagings) {
  EventQueue queue(until_s);
  StepEnds ends(kModelRanks);
  std::vector<int> open(kModelRanks);  // of the step: the gradient, and all averagings
  std::function<void(int, std::size_t)> begin;
  const auto ended = [&](int rank, std::size_t step) {
    if (--open[static_cast<std::size_t>(rank)] > 0) return;
    ends[static_cast<std::size_t>(rank)].push_back(queue.now());
    begin(rank, step + 1);
  };
  begin = [&](int rank, std::size_t step) {
    open[static_cast<std::size_t>(rank)] = rank % 2 == 0 ? 2 : 1;
    queue.computed(queue.now() + setup.compute_s(rank, step), [&, rank, step] { ended(rank, step); });
    if (rank % 2 ==
        0)  // there and back, so often; whom it averages with does not matter to time: links are its own
      queue.told(queue.now() + 2 * averagings * setup.model_s, [&, rank, step] { ended(rank, step); });
  };
  for (int rank = 0; rank < kModelRanks; ++rank) begin(rank, 1);
  queue.run();
  return ends;
}

/// Non-blocking SGD: M micro-batches a round; the first rank that is through tells all; whoever hears drops
/// or finishes the micro-batch that it is in, and exchanges with both neighbours, each message when both are
/// there.
class NonblockingModel {
 public:
  NonblockingModel(const ModelSetup& setup, double until_s, int micro_batches, bool drop)
      : setup_(setup), micro_batches_(micro_batches), drop_(drop), queue_(until_s) {}

  StepEnds run() {
    for (int rank = 0; rank < kModelRanks; ++rank) begin(rank);
    queue_.run();
    return ends_;
  }

 private:
  struct Rank {
    std::uint64_t round = 0, heard = 0;  // rounds that are over
    int done = 0;
    bool computing = false;
    std::uint64_t run = 0;  // counts micro-batches, so that a dropped one's end is known
  };
  Rank& at(int rank) { return ranks_[static_cast<std::size_t>(rank)]; }

  void begin(int rank) {
    ++at(rank).round;
    at(rank).done = 0;
    next(rank);
  }
  void next(int rank) {
    Rank& own = at(rank);
    if (own.done == 0 && own.heard >= own.round) return exchange(rank);
    own.computing = true;
    queue_.computed(queue_.now() + setup_.compute_s(rank, own.round) / micro_batches_,
                    [this, rank, run = ++own.run] { computed(rank, run); });
  }
  void computed(int rank, std::uint64_t run) {
    Rank& own = at(rank);
    if (!own.computing || run != own.run) return;  // dropped
    own.computing = false;
    ++own.done;
    if (own.heard >= own.round) return exchange(rank);
    if (own.done < micro_batches_) return next(rank);
    hearing_.tell(rank, own.round);
    exchange(rank);
  }
  void heard(int rank, std::uint64_t round) {
    Rank& own = at(rank);
    own.heard = std::max(own.heard, round);
    if (!own.computing || !drop_ || own.heard < own.round) return;
    own.computing = false;
    exchange(rank);
  }
  void exchange(int rank) {
    const std::uint64_t round = at(rank).round;
    there_[{rank, round}] = 2;
    for (const int other : {(rank + 1) % kModelRanks, (rank + kModelRanks - 1) % kModelRanks}) {
      if (!there_.contains({other, round})) continue;
      queue_.told(queue_.now() + setup_.model_s, [=, this] {
        for (const int each : {rank, other}) {
          if (--there_[{each, round}] > 0) continue;
          ends_[static_cast<std::size_t>(each)].push_back(queue_.now());
          begin(each);
        }
      });
    }
  }

  ModelSetup setup_;
  int micro_batches_;
  bool drop_;
  EventQueue queue_;
  HearingModel hearing_{queue_, setup_.alpha_s,
                        [this](int rank, std::uint64_t round) { heard(rank, round); }};
  std::vector<Rank> ranks_ = std::vector<Rank>(kModelRanks);
  std::map<std::pair<int, std::uint64_t>, int> there_;  // exchanges of a rank's round that have not ended
  StepEnds ends_ = StepEnds(kModelRanks);
};

}  // namespace

TEST_CASE("SGP: every worker's steps end when a model of its events says") {
  for (const Fidelity fidelity : {Fidelity::automatic, Fidelity::messages})
    check_against(sgp_model, false, fidelity, "sgp", Json::object());
}

TEST_CASE("AD-PSGD: every worker's steps end when a model of its events says") {
  for (const int averagings : {1, 8})  // eight of them take longer than computing
    check_against(
        [=](const ModelSetup& setup, double until_s) { return ad_psgd_model(setup, until_s, averagings); },
        true, Fidelity::automatic, "ad_psgd", {{"averagings_per_step", averagings}});
}

TEST_CASE("Non-blocking SGD over D-PSGD: every worker's rounds end when a model of its events says") {
  for (const bool drop : {false, true}) {
    CAPTURE(drop);
    check_against([=](const ModelSetup& setup,
                      double until_s) { return NonblockingModel(setup, until_s, 8, drop).run(); },
                  true, Fidelity::messages, "nonblocking",
                  {{"over", "d_psgd"}, {"micro_batches", 8}, {"preempt", drop ? "drop" : "finish"}});
  }
}

// Eager-SGD and WAGMA against a model of their events.

namespace {

/// A worker that has computed activates the next version, unless it has heard of it. All that hear begin
/// their part of it when their part of the version before has ended: an all-reduce by recursive doubling in
/// their group, whose pairs exchange when both are there. A call ends when the worker's own part has ended.
/// (Li et al., PPoPP 2020, section 4; TPDS 2021, Algorithm 2.) In every `period`-th step all-reduce with all
/// instead, and wait for them.
class WaitAvoidingModel {
 public:
  WaitAvoidingModel(const ModelSetup& setup, double until_s, std::uint64_t period, int group_bits)
      : setup_(setup), period_(period), group_bits_(group_bits), queue_(until_s) {}

  StepEnds run() {
    for (int rank = 0; rank < kModelRanks; ++rank) compute(rank);
    queue_.run();
    return ends_;
  }

 private:
  struct Rank {
    std::uint64_t calls = 0;                          // of versions
    std::uint64_t heard = 0, started = 0, ended = 0;  // versions
    bool waits = false;                               // for the version of its last call
  };
  using Part = std::tuple<bool, std::uint64_t, int, int>;  // global?, number, stage, rank
  Rank& at(int rank) { return ranks_[static_cast<std::size_t>(rank)]; }

  void compute(int rank) {
    const std::size_t step = ends_[static_cast<std::size_t>(rank)].size() + 1;
    queue_.computed(queue_.now() + setup_.compute_s(rank, step), [this, rank, step] {
      if (period_ > 0 && step % period_ == 0) return enter(true, step, 0, rank);
      Rank& own = at(rank);
      const std::uint64_t version = own.calls++;
      own.waits = true;
      if (own.heard <= version) hearing_.tell(rank, version);
      if (own.waits && own.ended > version) end_step(rank);
    });
  }
  void end_step(int rank) {
    at(rank).waits = false;
    ends_[static_cast<std::size_t>(rank)].push_back(queue_.now());
    compute(rank);
  }
  void heard(int rank, std::uint64_t version) {
    at(rank).heard = std::max(at(rank).heard, version + 1);
    start_next(rank);
  }
  void start_next(int rank) {
    Rank& own = at(rank);
    if (own.started < own.heard && own.started == own.ended) enter(false, own.started++, 0, rank);
  }

  // The bits of a rank in which the members of its group differ, ascending. Without groups all three.
  std::vector<int> bits(bool global, std::uint64_t version) const {
    if (global || period_ == 0) return {0, 1, 2};
    const std::uint64_t iteration = version + version / (period_ - 1);
    std::vector<int> all;
    for (int phase = 0; phase < group_bits_; ++phase)
      all.push_back(static_cast<int>(
          (iteration * static_cast<std::uint64_t>(group_bits_) + static_cast<std::uint64_t>(phase)) % 3));
    std::sort(all.begin(), all.end());
    return all;
  }
  void enter(bool global, std::uint64_t number, std::size_t stage, int rank) {
    const std::vector<int> pairs = bits(global, number);
    if (stage == pairs.size()) return through(global, rank);
    const int other = rank ^ (1 << pairs[stage]);
    there_.insert({global, number, static_cast<int>(stage), rank});
    if (!there_.contains({global, number, static_cast<int>(stage), other})) return;
    queue_.told(queue_.now() + setup_.model_s, [=, this] {
      for (const int each : {rank, other}) enter(global, number, stage + 1, each);
    });
  }
  void through(bool global, int rank) {
    if (global) return end_step(rank);
    Rank& own = at(rank);
    ++own.ended;
    start_next(rank);
    if (own.waits && own.ended >= own.calls) end_step(rank);
  }

  ModelSetup setup_;
  std::uint64_t period_;  // 0: eager-SGD
  int group_bits_;
  EventQueue queue_;
  HearingModel hearing_{queue_, setup_.alpha_s,
                        [this](int rank, std::uint64_t version) { heard(rank, version); }};
  std::vector<Rank> ranks_ = std::vector<Rank>(kModelRanks);
  std::set<Part> there_;
  StepEnds ends_ = StepEnds(kModelRanks);
};

}  // namespace

TEST_CASE("eager-SGD: every worker's steps end when a model of its events says") {
  for (const Fidelity fidelity : {Fidelity::automatic, Fidelity::messages})
    check_against(
        [](const ModelSetup& setup, double until_s) { return WaitAvoidingModel(setup, until_s, 0, 3).run(); },
        false, fidelity, "eager_sgd", Json::object());
}

TEST_CASE("WAGMA: every worker's steps end when a model of its events says") {
  for (const Fidelity fidelity : {Fidelity::automatic, Fidelity::messages})
    for (const std::uint64_t period : {std::uint64_t{5}, std::uint64_t{1000}}) {
      CAPTURE(period);
      check_against([=](const ModelSetup& setup,
                        double until_s) { return WaitAvoidingModel(setup, until_s, period, 2).run(); },
                    false, fidelity, "wagma", {{"group_size", 4}, {"period", period}});
    }
}

}  // namespace simsgd::test::algorithms_event_models
