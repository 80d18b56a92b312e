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

void MpiClock::waited(std::int32_t channel) {
  const double from_s = booked_s_;
  pass();
  of_.observers.tell(Topic::time, &Observer::waited, of_.rank, channel, from_s, booked_s_);
}

// What passes between two calls (hooks) is no computing: only naps count.
void MpiClock::compute(double seconds, double straggle) {
  book(Activity::host);
  const double end_s = booked_s_ + seconds * straggle - late_s_;
  of_.progress.sleep_until(end_s);
  const double slept_s = pass();
  late_s_ = booked_s_ - end_s;
  const double straggle_s = added(slept_s, straggle);
  of_.observers.tell(Topic::time, &Observer::booked, of_.rank, Activity::compute, slept_s - straggle_s);
  of_.observers.tell(Topic::time, &Observer::booked, of_.rank, Activity::straggle, straggle_s);
}

// Called at the end of every gradient; with no overlap there is nothing beside it.
void MpiClock::compute_beside(double, double) { late_s_ = 0; }

void MpiClock::spend(Activity activity, double seconds, const char*) {
  book(Activity::host);
  of_.progress.sleep_until(booked_s_ + seconds);
  book(activity);
}

void MpiClock::evaluate(const Tensor& value, Activity activity, double straggle) {
  book(Activity::host);
  const double from_s = booked_s_;
  of_.executor.get(value);
  book(activity);
  if (straggle > 1) spend(Activity::straggle, (booked_s_ - from_s) * (straggle - 1), nullptr);
}

void MpiClock::outage(double until_s, const std::function<void()>& restart) {
  book(Activity::host);
  of_.progress.sleep_until(until_s);
  book(Activity::straggle);
  restart();
}

}  // namespace simsgd
