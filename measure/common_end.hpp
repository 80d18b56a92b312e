// The end of a run whose workers do not need each other (Algorithm::needs_others): all of them together do so
// many steps, and it is over at an instant, wherever each of them is. Ranks report the steps that they have
// completed to rank 0, which counts them and tells everybody when the run is over, or when the models are to
// be kept for an evaluation; a rank learns of it as much later as a small message takes.
#pragma once

#include <mpi.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <deque>
#include <limits>
#include <list>
#include <optional>
#include <vector>

#include "measure/mpi_progress.hpp"
#include "measure/packing.hpp"
#include "sim/job.hpp"
#include "sim/observer.hpp"
#include "sim/recording/ledger.hpp"
#include "sim/recording/rounds.hpp"

namespace simsgd {

/// Sums of samples may miss a bound by rounding.
inline constexpr double kSampleRounding = 1 - 1e-9;

// Requests are tested in progress(). NOLINTBEGIN(clang-analyzer-optin.mpi.MPI-Checker)
class CommonEnd final : public MpiProgress::Part {
 public:
  /// `model`: this rank's, now.
  CommonEnd(const Job& job, const RunClock& clock, std::function<ModelAtInstant()> model, MPI_Comm world)
      : job_(job), clock_(clock), model_(std::move(model)), alone_(!job.algorithm->needs_others()) {
    MPI_Comm_dup(world, &world_);
    MPI_Comm_rank(world_, &rank_);
    if (alone_ && std::isfinite(job.stop.time_s)) over_s_ = job.stop.time_s;
  }
  ~CommonEnd() override {
    // Left behind: MPI may still read there. NOLINTNEXTLINE(bugprone-unhandled-exception-at-new)
    if (!leaving_.empty()) new auto(std::move(leaving_));
  }
  CommonEnd(const CommonEnd&) = delete;
  CommonEnd& operator=(const CommonEnd&) = delete;

  bool alone() const { return alone_; }
  /// This rank has completed a step in which it used so many samples.
  void completed(double now_s, double samples) {
    if (!alone_) return;
    const Report report{now_s, samples};
    if (rank_ == 0) return count(report);
    Leaving& leaving = leaving_.emplace_back(Leaving{report, {}});
    MPI_Isend(&leaving.report, sizeof leaving.report, MPI_BYTE, 0, kReportOfStep, world_, &leaving.request);
  }

  bool over() const { return over_s_ && clock_.now() >= *over_s_; }
  /// When the run was over, as far as this rank knows.
  std::optional<double> over_s() const { return over_s_; }

  struct Kept {
    double time_s = 0;
    ModelAtInstant state;
  };
  /// This rank's model at each instant that was to be evaluated.
  const std::vector<Kept>& kept() const { return kept_; }

  void progress() override {
    if (!alone_) return;
    std::erase_if(leaving_, [](Leaving& leaving) { return is_complete(leaving.request); });
    receive();
    keep_by_clock();
  }
  bool idle() const override { return !alone_; }

 private:
  static constexpr int kReportOfStep = 1, kNoticeOfEnd = 2;
  struct Report {
    double time_s = 0, samples = 0;
  };
  struct Notice {
    double time_s = 0;
    bool over = false;
  };
  struct Leaving {
    Report report;
    Notice notice;
    MPI_Request request = MPI_REQUEST_NULL;
  };
  void count(const Report& report) {
    if (told_) return;
    ++steps_;
    samples_ += report.samples;
    const auto workers = static_cast<std::uint64_t>(job_.workers());
    const bool every = job_.learner && job_.record.evaluate_every > 0;
    if (every && steps_ % (job_.record.evaluate_every * workers) == 0) tell_all({report.time_s, false});
    const bool steps = job_.stop.steps <= steps_ / workers;
    if (!steps && samples_ < job_.stop.samples * kSampleRounding) return;
    told_ = true;
    tell_all({clock_.now(), true});
  }

  void tell_all(const Notice& notice) {
    for (int to = 1; to < job_.workers(); ++to) {
      Leaving& leaving = leaving_.emplace_back(Leaving{{}, notice});
      MPI_Isend(&leaving.notice, sizeof leaving.notice, MPI_BYTE, to, kNoticeOfEnd, world_, &leaving.request);
    }
    heard(notice);
  }

  void heard(const Notice& notice) {
    if (notice.over)
      over_s_ = std::min(over_s_.value_or(notice.time_s), notice.time_s);
    else
      kept_.push_back({notice.time_s, model_()});
  }
  void receive() {
    const auto here = [this](int tag) {
      int found = 0;
      MPI_Iprobe(MPI_ANY_SOURCE, tag, world_, &found, MPI_STATUS_IGNORE);
      return found != 0;
    };
    while (rank_ == 0 && here(kReportOfStep)) {
      Report report;
      MPI_Recv(&report, sizeof report, MPI_BYTE, MPI_ANY_SOURCE, kReportOfStep, world_, MPI_STATUS_IGNORE);
      count(report);
    }
    while (rank_ != 0 && here(kNoticeOfEnd)) {
      Notice notice;
      MPI_Recv(&notice, sizeof notice, MPI_BYTE, 0, kNoticeOfEnd, world_, MPI_STATUS_IGNORE);
      heard(notice);
    }
  }

  // Every rank by its own clock.
  void keep_by_clock() {
    const double every_s = job_.record.evaluate_every_s;
    if (!(every_s > 0) || !job_.learner || job_.record.evaluate_every > 0) return;
    const double now_s = clock_.now();
    for (double next_s = static_cast<double>(kept_.size() + 1) * every_s; next_s <= now_s && !over();
         next_s += every_s)
      kept_.push_back({next_s, model_()});
  }

  const Job& job_;
  const RunClock& clock_;
  std::function<ModelAtInstant()> model_;
  bool alone_;
  MPI_Comm world_ = MPI_COMM_NULL;
  int rank_ = 0;
  std::optional<double> over_s_;
  std::vector<Kept> kept_;
  std::list<Leaving> leaving_;
  // What rank 0 keeps:
  std::uint64_t steps_ = 0;
  double samples_ = 0;
  bool told_ = false;  // that it is over
};
// NOLINTEND(clang-analyzer-optin.mpi.MPI-Checker)

class LateSteps final : public Observer {
 public:
  /// Watches the rank whose ledger it is, attached behind it. The run's time is up at `time_s`.
  explicit LateSteps(const Ledger& ledger, double time_s = std::numeric_limits<double>::infinity())
      : ledger_(ledger), time_s_(time_s) {}

  void step_began(int, std::uint64_t, double now_s) override {
    open_ = Step{now_s, 0, 0, ledger_.record(), 0};
  }

  void step_ended(const StepEnd& end) override {
    if (!open_) return;
    open_->end_s = end.end_s;
    open_->samples = ledger_.record().samples - open_->before.samples;
    open_->busy_s = busy_time_s(ledger_.record()) - busy_time_s(open_->before);
    last_.push_back(std::move(*open_));
    open_.reset();
    if (last_.size() <= kKept || last_.front().end_s > time_s_) return;
    ++earlier_steps_;
    earlier_samples_ += last_.front().samples;
    last_.pop_front();
  }

  /// Collective. When the run was over: the end of the step with which there were enough, or `known_s` (its
  /// time was up), where that is earlier.
  double agree(MPI_Comm world, const StopRule& stop, double known_s) const {
    std::vector<Ended> own;
    for (const Step& step : last_) own.push_back({step.end_s, step.samples});
    const auto of_ranks = gather_at_root(world, own);
    const auto earlier = gather_at_root(world, std::vector<Earlier>{{earlier_steps_, earlier_samples_}});
    double over_s = std::min(stop.time_s, known_s);
    if (!of_ranks.empty()) {
      std::vector<Ended> all;
      for (const auto& each : of_ranks) all.insert(all.end(), each.begin(), each.end());
      std::sort(all.begin(), all.end(), [](const Ended& a, const Ended& b) { return a.end_s < b.end_s; });
      Earlier before;
      for (const auto& each : earlier) {
        before.steps += each.front().steps;
        before.samples += each.front().samples;
      }
      const double most_steps = static_cast<double>(stop.steps) * static_cast<double>(of_ranks.size());
      for (const Ended& each : all) {
        ++before.steps;
        before.samples += each.samples;
        if (static_cast<double>(before.steps) < most_steps && before.samples < stop.samples * kSampleRounding)
          continue;
        over_s = std::min(over_s, each.end_s);
        break;
      }
    }
    MPI_Bcast(&over_s, 1, MPI_DOUBLE, 0, world);
    return over_s;
  }

  /// How many steps of this rank ended after `over_s`.
  std::uint64_t after(double over_s) const {
    return static_cast<std::uint64_t>(
        std::count_if(last_.begin(), last_.end(), [&](const Step& step) { return step.end_s > over_s; }));
  }
  /// The ledger's record without them. Ages that were noted do count: what others used of this rank is
  /// theirs.
  WorkerRecord without(double over_s) const {
    const auto first =
        std::find_if(last_.begin(), last_.end(), [&](const Step& step) { return step.end_s > over_s; });
    if (first == last_.end()) return ledger_.record();
    WorkerRecord record = first->before;
    if (record.steps == 0)
      record.activity_s.fill(0);  // none completed: what came before the first was no step's
    const WorkerRecord& whole = ledger_.record();
    record.staleness_sum = whole.staleness_sum;
    record.staleness_max = whole.staleness_max;
    record.staleness_count = whole.staleness_count;
    record.ages = whole.ages;
    record.unfinished_busy_s = std::clamp(first->busy_s, 0.0, std::max(0.0, over_s - first->begin_s));
    return record;
  }

 private:
  static constexpr std::size_t kKept = 256;
  struct Ended {
    double end_s = 0, samples = 0;
  };
  struct Earlier {
    std::uint64_t steps = 0;
    double samples = 0;
  };
  struct Step {
    double begin_s = 0, end_s = 0, samples = 0;
    WorkerRecord before;  // the record at its begin
    double busy_s = 0;    // of the device, in it
  };
  const Ledger& ledger_;
  double time_s_;
  std::optional<Step> open_;
  std::deque<Step> last_;  // after time_s_, or no more than end while a small message is on its way
  std::uint64_t earlier_steps_ = 0;
  double earlier_samples_ = 0;
};

}  // namespace simsgd
