// Limits of what can be simulated, stated once: for the schema, and for what a run meets on its way.
#pragma once

namespace simsgd {

/// No time in a file is longer (32,000 years), and no time of a step or a message.
inline constexpr double kLongestTime_s = 1e12;

/// No other plain number in a file (a cost per byte, a price, a factor) is larger.
inline constexpr double kLargestNumber = 1e12;

/// A run that gets here fails: doubles tell only a tenth of a second apart.
inline constexpr double kLastInstant_s = 1e15;

/// A flow of more bytes does not fit SimGrid's counter (2^63 units of 2^-20 bytes).
inline constexpr double kLargestFlow_bytes = 8e12;

}  // namespace simsgd
