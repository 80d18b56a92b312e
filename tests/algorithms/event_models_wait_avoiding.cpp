// Eager-SGD and WAGMA against a model of their events.
#include <nlohmann/json.hpp>

#include "tests/algorithms/event_models.hpp"

namespace simsgd::test::algorithms_event_models_wait_avoiding {

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

}  // namespace simsgd::test::algorithms_event_models_wait_avoiding
