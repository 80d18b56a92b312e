// A cost that a file may leave out. What is unknown counts as 0, but is not the same as what is said to be 0:
// whoever uses an unknown cost says so in a note (sim/base/notes.hpp).
#pragma once

namespace simsgd {

class Cost {
 public:
  Cost() = default;                                    ///< unknown
  Cost(double value) : value_(value), known_(true) {}  // NOLINT(google-explicit-constructor): it is a number

  bool known() const { return known_; }
  double value_or(double otherwise) const { return known_ ? value_ : otherwise; }
  operator double() const { return value_; }  // NOLINT(google-explicit-constructor): 0 where unknown

 private:
  double value_ = 0;
  bool known_ = false;
};

}  // namespace simsgd
