// The clock and the device of a real worker. With a learner, values are computed for real, on one thread, and
// take the time they take. Without one, the workload's times are slept through. Every second of the main
// thread is booked: what passes in the algorithm's own code between two calls is host time.
#pragma once

#include "measure/mpi_progress.hpp"
#include "measure/run_clock.hpp"
#include "sim/observer.hpp"
#include "sim/roles/machine.hpp"

namespace simsgd {

class Executor;

class MpiClock final : public Machine {
 public:
  struct Setup {
    int rank = 0;
    bool learns = false;
    Executor& executor;
    const Observers& observers;
    const RunClock& clock;
    MpiProgress& progress;
  };
  explicit MpiClock(const Setup& setup) : of_(setup) {}

  double now() const override { return of_.clock.now(); }
  void compute(double seconds, double straggle) override;
  void spend(Activity activity, double seconds, const char* label) override;
  bool evaluates() const override { return of_.learns; }
  void evaluate(const Tensor& value, Activity activity, double straggle) override;
  /// None: what follows begins when the gradient is there.
  double backward_overlap_s() const override { return 0; }
  void compute_beside(double seconds, double straggle) override;
  void finish_beside() override {}
  void outage(double until_s, const std::function<void()>& restart) override;
  void catch_up() override { of_.progress.progress(); }

  /// The main thread did that, or waited for that channel, since the last booking.
  void book(Activity activity);
  void waited(std::int32_t channel);
  /// Everything before is booked.
  double booked_s() const { return booked_s_; }

 private:
  double pass();

  Setup of_;
  double booked_s_ = 0;
  double late_s_ = 0;  // naps of this gradient were longer by so much: the next is shorter
};

}  // namespace simsgd
