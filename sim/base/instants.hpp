// When two instants of simulated time are the same one. Sums of the same durations in another order differ by
// rounding: eight mini-batches of 0.1 s and four of 0.2 s end at 0.7999999999999999 and 0.8 s. Who is first
// must not hang on that, nor on the unit of time, so nobody compares instants with <, but with these.
// The margin is a share of the clock: rounding is at most 1.1e-16 of it for each addition, so 1e-12 is that
// of 9,000 additions that all err the same way; and after 1,000 s of simulated time it is 1 ns. A worker that
// waits for nobody adds up more than that: its clock keeps what rounding took.
#pragma once

#include <cmath>

namespace simsgd {

/// Instants that differ by less than this share of themselves are equal.
inline constexpr double kSameInstant = 1e-12;

/// `a` is earlier than `b`, and not by rounding alone. Both are at least 0; +infinity is never.
inline bool before(double a, double b) { return a < b * (1 - kSameInstant); }
/// `a` is earlier than `b` or the same instant.
inline bool not_after(double a, double b) { return !before(b, a); }

/// An instant that moves on by many durations: off by the rounding of one addition, however many there were
/// (Neumaier, ZAMM 54, 1974: what each addition loses is carried to the next).
class Clock {
 public:
  operator double() const { return time_s_; }  // NOLINT(google-explicit-constructor): it is an instant
  Clock& operator=(double time_s) {
    if (time_s != time_s_) lost_s_ = 0;
    time_s_ = time_s;
    return *this;
  }
  Clock& operator+=(double seconds) {
    const double more_s = seconds + lost_s_, sum_s = time_s_ + more_s;
    lost_s_ =
        std::fabs(time_s_) >= std::fabs(more_s) ? more_s - (sum_s - time_s_) : time_s_ - (sum_s - more_s);
    time_s_ = sum_s;
    return *this;
  }

 private:
  double time_s_ = 0, lost_s_ = 0;
};

}  // namespace simsgd
