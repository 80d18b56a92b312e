#include "sim/recording/rounds.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "sim/base/check.hpp"
#include "sim/base/errors.hpp"
#include "sim/base/instants.hpp"

namespace simsgd {

namespace {

std::vector<Tensor> known_losses(std::vector<Tensor> by_rank) {
  std::erase_if(by_rank, [](const Tensor& loss) { return !loss; });
  return by_rank;
}

// What each worker had completed, and when, from the first round on that is to be evaluated and was not.
class Histories {
 public:
  explicit Histories(std::size_t workers) : of_rank_(workers) {}

  void add(const StepEnd& end) {
    of_rank_[static_cast<std::size_t>(end.rank)].push_back({end.begin_s, end.end_s, {end.step, end.model}});
  }

  /// Whether worker `rank` can have completed no more by `time_s` than is known.
  bool knows(std::size_t rank, double time_s) const {
    return !of_rank_[rank].empty() && !before(of_rank_[rank].back().end_s, time_s);
  }

  /// At the instant `time_s` at which all had completed `round`.
  std::vector<ModelAtInstant> at(std::uint64_t round, double time_s) const {
    std::vector<ModelAtInstant> all;
    for (const std::deque<Entry>& entries : of_rank_) {
      const Entry* latest = nullptr;
      for (const Entry& entry : entries)
        if (entry.state.step <= round || (before(entry.begin_s, time_s) && not_after(entry.end_s, time_s)))
          latest = &entry;
      CHECK(latest != nullptr, "a worker without a model in a round that all completed");
      all.push_back(latest->state);
    }
    return all;
  }

  void forget_before(std::uint64_t step) {
    for (std::deque<Entry>& entries : of_rank_)
      while (!entries.empty() && entries.front().state.step < step) entries.pop_front();
  }

 private:
  struct Entry {
    double begin_s = 0, end_s = 0;
    ModelAtInstant state;
  };
  std::vector<std::deque<Entry>> of_rank_;
};

class RoundsTogether final : public Rounds {
 public:
  RoundsTogether(const Job& job, Executor& executor, Later later, RoundListeners listeners)
      : executor_(executor),
        later_(std::move(later)),
        listeners_(std::move(listeners)),
        workers_(static_cast<std::size_t>(job.workers())),
        every_(job.learner ? job.record.evaluate_every : 0),
        learns_(job.learner != nullptr),
        histories_(every_ > 0 ? workers_ : 0) {}

  void loss(int rank, std::uint64_t step, const Tensor& loss) override {
    Tensor& slot = at(step).losses[static_cast<std::size_t>(rank)];
    slot = slot ? add_losses(executor_, {slot, loss}) : loss;
  }

  void completed(const StepEnd& end) override {
    const std::uint64_t step = end.step;
    Open& entry = at(step);
    entry.time_s = std::max(entry.time_s, end.end_s);
    ++entry.workers_done;
    const bool evaluated = every_ > 0 && step % every_ == 0;
    if (evaluated && step > last_awaited_) {
      if (first_awaited_ == 0) first_awaited_ = step;
      last_awaited_ = step;
    }
    if (first_awaited_ > 0 && step >= first_awaited_) histories_.add(end);
    while (!open_.empty() && open_.front().workers_done == workers_) close();
    if (!later_) evaluate_what_is_known();
  }

  std::uint64_t complete() const override { return complete_; }

  void finish() override {
    while (!due_.empty()) evaluate_first();
  }

 private:
  struct Open {
    std::size_t workers_done = 0;
    double time_s = 0;
    std::vector<Tensor> losses;  // by rank
  };
  struct Due {
    std::uint64_t round = 0;
    double time_s = 0;
    std::size_t known = 0;  // the first so many ranks have been here at that instant
  };

  Open& at(std::uint64_t step) {
    if (step <= complete_)
      throw RunError(
          "The method took a gradient after its last step. Let it ask for each step first: "
          "while (yield w.next_step()) in Python, while (worker.next_step()) in C++.");
    const auto index = static_cast<std::size_t>(step - complete_ - 1);
    while (open_.size() <= index) {
      Open fresh;
      if (learns_) fresh.losses.resize(workers_);
      open_.push_back(std::move(fresh));
    }
    return open_[index];
  }

  void close() {
    Open round = std::move(open_.front());
    open_.pop_front();
    ++complete_;
    listeners_.complete({complete_, round.time_s, known_losses(std::move(round.losses))});
    if (every_ > 0 && complete_ % every_ == 0) due_.push_back({complete_, round.time_s});
    if (later_ && due_.size() == 1) later_([this] { finish(); });
  }

  void evaluate_what_is_known() {
    while (!due_.empty()) {
      Due& first = due_.front();
      while (first.known < workers_ && histories_.knows(first.known, first.time_s)) ++first.known;
      if (first.known < workers_) return;
      evaluate_first();
    }
  }

  void evaluate_first() {
    const Due due = due_.front();
    due_.pop_front();
    listeners_.evaluate(due.round, due.time_s, histories_.at(due.round, due.time_s));
    const std::uint64_t next = due.round + every_;
    first_awaited_ = next <= last_awaited_ ? next : 0;
    histories_.forget_before(next);
  }

  Executor& executor_;
  Later later_;
  RoundListeners listeners_;
  std::size_t workers_;
  std::uint64_t every_;
  bool learns_;
  std::deque<Open> open_;  // rounds that are not complete; the first is complete_ + 1
  std::uint64_t complete_ = 0;
  std::deque<Due> due_;                                 // complete, and to be evaluated
  std::uint64_t first_awaited_ = 0, last_awaited_ = 0;  // to be evaluated, and reached by somebody; 0: none
  Histories histories_;
};

class RoundsAlone final : public Rounds {
 public:
  RoundsAlone(const Job& job, Executor& executor, std::function<std::vector<ModelAtInstant>()> now,
              Later later, RoundListeners listeners)
      : executor_(executor),
        now_(std::move(now)),
        later_(std::move(later)),
        listeners_(std::move(listeners)),
        workers_(static_cast<std::uint64_t>(job.workers())),
        every_(job.learner ? job.record.evaluate_every : 0),
        step_losses_(static_cast<std::size_t>(job.workers())) {}

  void loss(int rank, std::uint64_t /*step*/, const Tensor& loss) override {
    Tensor& slot = step_losses_[static_cast<std::size_t>(rank)];
    slot = slot ? add_losses(executor_, {slot, loss}) : loss;
  }

  void completed(const StepEnd& end) override {
    round_losses_.push_back(std::exchange(step_losses_[static_cast<std::size_t>(end.rank)], {}));
    if (++steps_ % workers_ != 0) return;
    listeners_.complete({complete(), end.end_s, known_losses(std::exchange(round_losses_, {}))});
    if (every_ == 0 || complete() % every_ != 0) return;
    finish();  // where steps take no time, the one before is of the same instant
    due_ = {complete(), end.end_s};
    if (later_)
      later_([this] { finish(); });
    else
      finish();
  }

  std::uint64_t complete() const override { return steps_ / workers_; }
  void finish() override {
    if (const auto due = std::exchange(due_, std::nullopt))
      listeners_.evaluate(due->first, due->second, now_());
  }

 private:
  Executor& executor_;
  std::function<std::vector<ModelAtInstant>()> now_;
  Later later_;
  RoundListeners listeners_;
  std::uint64_t workers_, every_;
  std::uint64_t steps_ = 0;
  std::vector<Tensor> step_losses_;                      // by rank, of the step that it is in
  std::vector<Tensor> round_losses_;                     // of the steps of this round
  std::optional<std::pair<std::uint64_t, double>> due_;  // a round that is to be evaluated, and when it ended
};

}  // namespace

std::unique_ptr<Rounds> rounds_together(const Job& job, Executor& executor, Later later,
                                        RoundListeners listeners) {
  return std::make_unique<RoundsTogether>(job, executor, std::move(later), std::move(listeners));
}

std::unique_ptr<Rounds> rounds_alone(const Job& job, Executor& executor,
                                     std::function<std::vector<ModelAtInstant>()> now, Later later,
                                     RoundListeners listeners) {
  return std::make_unique<RoundsAlone>(job, executor, std::move(now), std::move(later), std::move(listeners));
}

Tensor add_losses(Executor& executor, std::vector<Tensor> losses) {
  return executor.submit(std::move(losses), [](TensorData& out, auto in) {
    out.scalars = {0, 0};
    for (const TensorData* loss : in) {
      out.scalars[0] += loss->scalars.at(0);
      out.scalars[1] += loss->scalars.at(1);
    }
  });
}

}  // namespace simsgd
