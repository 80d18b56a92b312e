// The clock of one simulated worker, which may run ahead of the simulation's, and its device. Computing and
// collectives at `closed` and `steps` only move that clock; the worker sleeps (`settle`) where the order of
// events matters: messages, waiting for any of several things, a run that ends by the clock.
#pragma once

#include <functional>
#include <span>

#include "sim/base/instants.hpp"
#include "sim/engine/fibers.hpp"
#include "sim/engine/interference.hpp"
#include "sim/engine/transport.hpp"
#include "sim/handle.hpp"
#include "sim/job.hpp"
#include "sim/observer.hpp"
#include "sim/recording/ledger.hpp"
#include "sim/roles/machine.hpp"

namespace simsgd {

class SimClock final : public Machine, public Completion, public Waiter {
 public:
  /// The worker of a rank is the fiber of that number. `observers` are told beside its ledger.
  SimClock(int rank, const Job& job, Fibers& fibers, Transport& transport, Interference& interference,
           Ledger& ledger, const Observers& observers);
  SimClock(const SimClock&) = delete;
  SimClock& operator=(const SimClock&) = delete;

  // Machine.
  double now() const override;
  void compute(double seconds, double straggle) override;
  void spend(Activity activity, double seconds, const char* label) override;
  bool evaluates() const override { return false; }
  void evaluate(const Tensor&, Activity, double) override {}
  double backward_overlap_s() const override { return backward_overlap_s_; }
  void compute_beside(double seconds, double straggle) override;
  void finish_beside() override;
  void outage(double until_s, const std::function<void()>& restart) override;
  void catch_up() override;
  void gradient_computed() override { begin_held(); }

  // Completion.
  void wait(Awaited handle) override;
  /// For an operation of that channel of the ledger, which is known to end at `end_s`.
  void wait_until(double end_s, std::int32_t channel);
  std::size_t wait_any(std::span<const Awaited> handles) override;
  bool done(Awaited handle) override;

  void wake() override;

  /// Goes on as the clock of another rank, which does the same.
  void take_over(const SimClock& other);

  /// Time on this worker, exactly.
  const Clock& local() const { return local_s_; }
  /// Sleeps until the simulation's clock is there too.
  void settle();
  /// Sleeps for something whose end is not known.
  void block();
  bool blocked() const { return blocked_; }

  /// Handlers may touch this worker: its clock must not run ahead of events.
  void serves() { serves_ = true; }
  bool is_serving() const { return serves_; }
  bool is_in_background() const { return in_background_; }
  /// Called before the main thread waits, and when it has computed a gradient.
  void before_waiting(std::function<void()> action) { before_waiting_ = std::move(action); }
  void begin_held() {
    if (before_waiting_) before_waiting_();
  }
  /// Runs `action` as a handler, at the simulation's time.
  void in_background(const std::function<void()>& action);

  /// A collective occupies the device.
  void communicates(const Slowdown::Started& operation) { slowdown_.started(operation); }
  bool is_slowed_by_communication() const { return slowdown_.active(); }

  /// What the device does while the main thread waits: it is delayed until `compute_s`, computes until
  /// `end_s`, and a share of that is the stragglers'.
  struct DeviceWork {
    double compute_s = 0, end_s = 0;
    double straggle_share = 0;
    const char* label = nullptr;  ///< in timelines; null: it is drawn by others
  };
  void works_on(const DeviceWork& work);

 private:
  double work(double seconds);
  void book(Activity activity, double seconds) {
    ledger_.book(activity, seconds);
    observers_.tell(Topic::time, &Observer::booked, rank_, activity, seconds);
  }
  double book(const DeviceWork& work, double from_s, double to_s);
  void book_wait(std::int32_t channel, double from_s, double to_s);

  int rank_;
  Fibers& fibers_;
  Transport& transport_;
  Interference& interference_;
  Ledger& ledger_;
  const Observers& observers_;
  Clock local_s_;
  Slowdown slowdown_;
  double backward_overlap_s_;
  std::function<void()> before_waiting_;  // empty: nothing is held back
  bool blocked_ = false;
  bool in_background_ = false;  // a handler or an action of `then` is running
  bool serves_ = false;
  DeviceWork beside_;   // the end of the last backward pass
  DeviceWork running_;  // a gradient that may be given up
};

}  // namespace simsgd
