// The clock and the device of a real worker. With a learner, values are computed for real, on one thread, and
// take the time they take. Without one, the workload's times are slept through. Every second of the main
// thread is booked: what passes in the algorithm's own code between two calls is host time.
#pragma once

#include <algorithm>
#include <array>
#include <utility>

#include "measure/machine.hpp"
#include "measure/mpi_progress.hpp"
#include "sim/learn/tensor.hpp"
#include "sim/roles/machine.hpp"

namespace simsgd {

class MpiClock final : public Machine {
 public:
  MpiClock(const RealRank& self, MpiProgress& progress, Trust& trust)
      : of_(self), progress_(progress), trust_(trust) {}

  double now() const override { return of_.clock.now(); }
  void compute(double seconds, double straggle) override {
    const double spent_s = occupy(Activity::compute, seconds * straggle),
                 straggle_s = added(spent_s, straggle);
    of_.observers.tell(Topic::time, &Observer::booked, of_.rank, Activity::compute, spent_s - straggle_s);
    of_.observers.tell(Topic::time, &Observer::booked, of_.rank, Activity::straggle, straggle_s);
  }
  void spend(Activity activity, double seconds, const char*) override {
    of_.observers.tell(Topic::time, &Observer::booked, of_.rank, activity, occupy(activity, seconds));
  }
  bool evaluates() const override { return of_.job.learner && !of_.emulates(); }
  void evaluate(const Tensor& value, Activity activity, double straggle) override {
    book(Activity::host);
    const double from_s = booked_s_;
    compute_value(value);
    book(activity);
    if (straggle > 1) spend(Activity::straggle, (booked_s_ - from_s) * (straggle - 1), nullptr);
  }

  /// None: what follows begins when the gradient is there.
  double backward_overlap_s() const override { return 0; }
  // Called at the end of every gradient; with no overlap there is nothing beside it. No step pays for
  // another.
  void compute_beside(double, double) override { late_s_.fill(0); }
  void finish_beside() override {}
  void outage(double until_s, const std::function<void()>& restart) override {
    book(Activity::host);
    progress_.sleep_until(until_s);
    book(Activity::straggle);
    restart();
  }
  void catch_up() override { progress_.progress(); }
  /// The value is there when this returns. Emulated, it should have been, and the time counts as late.
  void need(const Tensor& value) {
    if (!value || of_.executor.ready(value)) return;
    const double begin_s = of_.clock.wall_s();
    compute_value(value);
    if (of_.emulates()) trust_.late_values_s += of_.clock.wall_s() - begin_s;
  }

  /// What the device does while the main thread waits: it is delayed until `compute_s`, computes until
  /// `end_s`, and a share of that is the stragglers'.
  struct DeviceWork {
    double compute_s = 0, end_s = 0;
    double straggle_share = 0;
  };
  void works_on(const DeviceWork& work) { work_ = work; }

  /// The main thread did that, or waited for that channel, since the last booking.
  void book(Activity activity) {
    of_.observers.tell(Topic::time, &Observer::booked, of_.rank, activity, pass());
  }
  /// The same for what it did until then, where that is later than the last booking.
  void book_until(Activity activity, double time_s) {
    const double seconds = std::min(time_s, now()) - booked_s_;
    if (!(seconds > 0)) return;
    booked_s_ += seconds;
    of_.observers.tell(Topic::time, &Observer::booked, of_.rank, activity, seconds);
  }
  void waited(std::int32_t channel) {
    const double from_s = booked_s_;
    pass();
    const double after_s = book_device(from_s, booked_s_);
    of_.observers.tell(Topic::time, &Observer::waited, of_.rank, channel, after_s, booked_s_);
  }
  /// Everything before is booked.
  double booked_s() const { return booked_s_; }

 private:
  /// What stragglers add to a time that they have made `straggle` times as long.
  static double added(double seconds, double straggle) {
    return straggle > 1 ? seconds * (1 - 1 / straggle) : 0;
  }
  // Seconds since the last booking, which are to be booked now.
  double pass() {
    const double now_s = now();
    return now_s - std::exchange(booked_s_, now_s);
  }
  // The device goes on while its host hands operations over (hooks): what it is asked next begins where the
  // last ended, unless the rank has waited or done something else since. Time that a nap was too long is
  // taken from the next of its kind, until the gradient is there. Returns what it took, less what handlers
  // booked.
  double occupy(Activity activity, double seconds) {
    if (booked_s_ != device_end_s_) book(Activity::host);
    const double from_s = booked_s_;
    double& late_s = late_s_[static_cast<std::size_t>(activity)];
    const double end_s = from_s + seconds - late_s;
    double spent_s = 0;
    if (now() < end_s) {
      sleep_until(end_s);
      spent_s = pass();
    } else {
      booked_s_ = std::max(from_s, end_s);
      spent_s = booked_s_ - from_s;
    }
    late_s = booked_s_ - end_s;
    if (seconds > 0) device_end_s_ = booked_s_;
    return spent_s;
  }

  // Books what the device did while the main thread waited; returns where its time ended.
  double book_device(double from_s, double to_s) {
    const double end_s = std::min(to_s, work_.end_s);
    if (end_s <= from_s) return from_s;
    const double delayed_s = std::clamp(work_.compute_s, from_s, end_s);
    const double straggle_s = (end_s - delayed_s) * work_.straggle_share;
    of_.observers.tell(Topic::time, &Observer::booked, of_.rank, Activity::straggle,
                       delayed_s - from_s + straggle_s);
    of_.observers.tell(Topic::time, &Observer::booked, of_.rank, Activity::compute,
                       end_s - delayed_s - straggle_s);
    of_.observers.tell(Topic::drawing, &Observer::span, of_.rank, "micro-batch", from_s, end_s);
    return end_s;
  }

  // On the executor's thread, so that what is under way goes on; by this one where nothing is.
  void compute_value(const Tensor& value) {
    if (progress_.idle()) {
      of_.executor.get(value);
      return;
    }
    const double begin_s = of_.clock.wall_s();
    while (!of_.executor.ready(value)) {
      progress_.progress();
      progress_.rest(of_.clock.wall_s() - begin_s, false);
    }
    of_.executor.get(value);  // where computing it failed, says so
  }

  // How late sleeps end tells how much the machine can be trusted.
  void sleep_until(double time_s) {
    const double begin_s = now();
    progress_.sleep_until(time_s);
    if (time_s <= begin_s) return;
    const double late_s = now() - time_s;
    trust_.slept_s += time_s - begin_s;
    trust_.overslept_s += late_s;
    trust_.longest_oversleep_s = std::max(trust_.longest_oversleep_s, late_s);
  }

  RealRank of_;
  MpiProgress& progress_;
  Trust& trust_;
  double booked_s_ = 0;
  DeviceWork work_;                           // a gradient that may be given up
  std::array<double, kActivities> late_s_{};  // naps were longer by so much: the next is shorter
  double device_end_s_ = -1;                  // of what it was last asked
};

}  // namespace simsgd
