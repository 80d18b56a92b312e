// How far apart two lists of numbers are.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <limits>
#include <type_traits>

namespace simsgd::test {

/// The largest difference of two entries, of lists in lists likewise; infinite where lengths differ.
template <class A, class B>
double worst_difference(const A& a, const B& b) {
  if constexpr (std::is_arithmetic_v<A>) {
    return std::fabs(static_cast<double>(a) - static_cast<double>(b));
  } else {
    if (static_cast<std::size_t>(std::size(a)) != static_cast<std::size_t>(std::size(b)))
      return std::numeric_limits<double>::infinity();
    double worst = 0;
    auto other = std::begin(b);
    for (const auto& each : a) worst = std::max(worst, worst_difference(each, *other++));
    return worst;
  }
}

}  // namespace simsgd::test
