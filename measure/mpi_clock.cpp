#include "measure/mpi_clock.hpp"

#include <algorithm>
#include <utility>

#include "sim/learn/tensor.hpp"

namespace simsgd {

namespace {
/// What stragglers add to a time that they have made `straggle` times as long.
double added(double seconds, double straggle) { return straggle > 1 ? seconds * (1 - 1 / straggle) : 0; }
}  // namespace

// Seconds since the last booking, which are to be booked now.
double MpiClock::pass() {
  const double now_s = now();
  return now_s - std::exchange(booked_s_, now_s);
}

void MpiClock::book(Activity activity) {
  of_.observers.tell(Topic::time, &Observer::booked, of_.rank, activity, pass());
}

void MpiClock::book_until(Activity activity, double time_s) {
  const double seconds = std::min(time_s, now()) - booked_s_;
  if (!(seconds > 0)) return;
  booked_s_ += seconds;
  of_.observers.tell(Topic::time, &Observer::booked, of_.rank, activity, seconds);
}

void MpiClock::waited(std::int32_t channel) {
  const double from_s = booked_s_;
  pass();
  const double after_s = book_device(from_s, booked_s_);
  of_.observers.tell(Topic::time, &Observer::waited, of_.rank, channel, after_s, booked_s_);
}

// Books what the device did while the main thread waited; returns where its time ended.
double MpiClock::book_device(double from_s, double to_s) {
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

// The device goes on while its host hands operations over (hooks): what it is asked next begins where the
// last ended, unless the rank has waited or done something else since. Time that a nap was too long is taken
// from the next of its kind, until the gradient is there. Returns what it took, less what handlers booked.
double MpiClock::occupy(Activity activity, double seconds) {
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

void MpiClock::compute(double seconds, double straggle) {
  const double spent_s = occupy(Activity::compute, seconds * straggle), straggle_s = added(spent_s, straggle);
  of_.observers.tell(Topic::time, &Observer::booked, of_.rank, Activity::compute, spent_s - straggle_s);
  of_.observers.tell(Topic::time, &Observer::booked, of_.rank, Activity::straggle, straggle_s);
}

// Called at the end of every gradient; with no overlap there is nothing beside it. No step pays for another.
void MpiClock::compute_beside(double, double) { late_s_.fill(0); }

void MpiClock::spend(Activity activity, double seconds, const char*) {
  of_.observers.tell(Topic::time, &Observer::booked, of_.rank, activity, occupy(activity, seconds));
}

// How late sleeps end tells how much the machine can be trusted.
void MpiClock::sleep_until(double time_s) {
  const double begin_s = now();
  of_.progress.sleep_until(time_s);
  if (time_s <= begin_s) return;
  const double late_s = now() - time_s;
  of_.trust.slept_s += time_s - begin_s;
  of_.trust.overslept_s += late_s;
  of_.trust.longest_oversleep_s = std::max(of_.trust.longest_oversleep_s, late_s);
}

void MpiClock::need(const Tensor& value) {
  if (!value || of_.executor.ready(value)) return;
  const double begin_s = of_.clock.wall_s();
  compute_value(value);
  if (of_.emulates) of_.trust.late_values_s += of_.clock.wall_s() - begin_s;
}

void MpiClock::evaluate(const Tensor& value, Activity activity, double straggle) {
  book(Activity::host);
  const double from_s = booked_s_;
  compute_value(value);
  book(activity);
  if (straggle > 1) spend(Activity::straggle, (booked_s_ - from_s) * (straggle - 1), nullptr);
}

// On the executor's thread, so that what is under way goes on; by this one where nothing is.
void MpiClock::compute_value(const Tensor& value) {
  if (of_.progress.idle()) {
    of_.executor.get(value);
    return;
  }
  const double begin_s = of_.clock.wall_s();
  while (!of_.executor.ready(value)) {
    of_.progress.progress();
    of_.progress.rest(of_.clock.wall_s() - begin_s, false);
  }
  of_.executor.get(value);  // where computing it failed, says so
}

void MpiClock::outage(double until_s, const std::function<void()>& restart) {
  book(Activity::host);
  of_.progress.sleep_until(until_s);
  book(Activity::straggle);
  restart();
}

}  // namespace simsgd
