// The clock and the device of a real worker. With a learner, values are computed for real, on one thread, and
// take the time they take. Without one, the workload's times are slept through. Every second of the main
// thread is booked: what passes in the algorithm's own code between two calls is host time.
#pragma once

#include <array>

#include "measure/machine.hpp"
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
    bool emulates = false;  ///< takes the workload's times also where values are computed
    Executor& executor;
    const Observers& observers;
    const RunClock& clock;
    MpiProgress& progress;
    Trust& trust;
  };
  explicit MpiClock(const Setup& setup) : of_(setup) {}

  double now() const override { return of_.clock.now(); }
  void compute(double seconds, double straggle) override;
  void spend(Activity activity, double seconds, const char* label) override;
  bool evaluates() const override { return of_.learns && !of_.emulates; }
  void evaluate(const Tensor& value, Activity activity, double straggle) override;
  /// None: what follows begins when the gradient is there.
  double backward_overlap_s() const override { return 0; }
  void compute_beside(double seconds, double straggle) override;
  void finish_beside() override {}
  void outage(double until_s, const std::function<void()>& restart) override;
  void catch_up() override { of_.progress.progress(); }
  /// The value is there when this returns. Emulated, it should have been, and the time counts as late.
  void need(const Tensor& value);

  /// What the device does while the main thread waits: it is delayed until `compute_s`, computes until
  /// `end_s`, and a share of that is the stragglers'.
  struct DeviceWork {
    double compute_s = 0, end_s = 0;
    double straggle_share = 0;
  };
  void works_on(const DeviceWork& work) { work_ = work; }

  /// The main thread did that, or waited for that channel, since the last booking.
  void book(Activity activity);
  /// The same for what it did until then, where that is later than the last booking.
  void book_until(Activity activity, double time_s);
  void waited(std::int32_t channel);
  /// Everything before is booked.
  double booked_s() const { return booked_s_; }

 private:
  double pass();
  double occupy(Activity activity, double seconds);
  double book_device(double from_s, double to_s);
  void compute_value(const Tensor& value);
  void sleep_until(double time_s);

  Setup of_;
  double booked_s_ = 0;
  DeviceWork work_;                           // a gradient that may be given up
  std::array<double, kActivities> late_s_{};  // naps were longer by so much: the next is shorter
  double device_end_s_ = -1;                  // of what it was last asked
};

}  // namespace simsgd
