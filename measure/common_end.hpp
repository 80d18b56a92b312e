// The end of a run whose workers do not need each other (Algorithm::needs_others): all of them together do so
// many steps, and it is over at an instant, wherever each of them is. Ranks report the steps that they have
// completed to rank 0, which counts them and tells everybody when the run is over, or when the models are to
// be kept for an evaluation; a rank learns of it as much later as a small message takes.
#pragma once

#include <mpi.h>

#include <list>
#include <optional>
#include <vector>

#include "measure/mpi_progress.hpp"
#include "sim/job.hpp"
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
  // Of rank 0:
  std::uint64_t steps_ = 0;
  double samples_ = 0;
  bool told_ = false;  // that it is over
};

}  // namespace simsgd
