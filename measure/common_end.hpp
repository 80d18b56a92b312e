// The end of a run whose workers do not need each other (Algorithm::needs_others): all of them together do so
// many steps, and it is over at an instant, wherever each of them is. Ranks report the steps that they have
// completed to rank 0, which counts them and tells everybody when the run is over, or when the models are to
// be kept for an evaluation; a rank learns of it as much later as a small message takes.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <deque>
#include <limits>
#include <list>
#include <optional>
#include <vector>

#include "measure/mpi_progress.hpp"
#include "sim/job.hpp"
#include "sim/observer.hpp"
#include "sim/recording/ledger.hpp"
#include "sim/recording/rounds.hpp"

namespace simsgd {

/// Sums of samples may miss a bound by rounding.
inline constexpr double kSampleRounding = 1 - 1e-9;

class CommonEnd final : public MpiProgress::Part {
 public:
  /// `model`: this rank's, now.
  CommonEnd(const Job& job, const RunClock& clock, std::function<ModelAtInstant()> model, MPI_Comm world);
  ~CommonEnd() override;
  CommonEnd(const CommonEnd&) = delete;
  CommonEnd& operator=(const CommonEnd&) = delete;

  bool alone() const { return alone_; }
  /// This rank has completed a step in which it used so many samples.
  void completed(double now_s, double samples);
  bool over() const { return over_s_ && clock_.now() >= *over_s_; }
  /// When the run was over, as far as this rank knows.
  std::optional<double> over_s() const { return over_s_; }

  struct Kept {
    double time_s = 0;
    ModelAtInstant state;
  };
  /// This rank's model at each instant that was to be evaluated.
  const std::vector<Kept>& kept() const { return kept_; }

  void progress() override;
  bool idle() const override { return !alone_; }

 private:
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
  void count(const Report& report);
  void tell_all(const Notice& notice);
  void heard(const Notice& notice);
  void receive();
  void keep_by_clock();

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

class LateSteps final : public Observer {
 public:
  /// Watches the rank whose ledger it is, attached behind it. The run's time is up at `time_s`.
  explicit LateSteps(const Ledger& ledger, double time_s = std::numeric_limits<double>::infinity())
      : ledger_(ledger), time_s_(time_s) {}

  void step_began(int rank, std::uint64_t step, double now_s) override;
  void step_ended(const StepEnd& end) override;

  /// Collective. When the run was over: the end of the step with which there were enough, or `known_s` (its
  /// time was up), where that is earlier.
  double agree(MPI_Comm world, const StopRule& stop, double known_s) const;
  /// How many steps of this rank ended after `over_s`.
  std::uint64_t after(double over_s) const;
  /// The ledger's record without them. Ages that were noted do count: what others used of this rank is
  /// theirs.
  WorkerRecord without(double over_s) const;

 private:
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
