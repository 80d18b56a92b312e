// Quantities: SI doubles inside the program; text with a unit ("25 Gbps", "5 us") only in files, parsed here
// alone.
#pragma once

#include <charconv>
#include <optional>
#include <string>
#include <string_view>

namespace simsgd {

/// Of fp32, in which replicas are kept and everything is computed.
inline constexpr double kBytesPerNumber = 4;

/// What a number measures. Each has one SI unit in which the program keeps it.
enum class Dimension { time_s, bytes, rate_Bps, flop, rate_flops, power_W, number };

struct ParsedQuantity {
  bool ok = false;
  double value = 0;     ///< in the SI unit of the dimension
  std::string problem;  ///< why not, where !ok; names the unit found
};

/// Parses "5 us", "1 Gbps", "25 GB/s", "256 MiB", "15 TFLOPS", "300 W". One space or none between number and
/// unit. Bits ("b", "bit", "bps") are eighths of bytes; K, M, G, T are powers of 1000, Ki, Mi, Gi of 1024.
ParsedQuantity parse_quantity(std::string_view text, Dimension dimension);

/// The number that is all of `text`: without a unit, and with nothing beside it.
template <class Number>
std::optional<Number> number_of_text(std::string_view text) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

/// The name under which a schema speaks of a dimension: "time", "bytes", "bandwidth", ...
std::string_view dimension_name(Dimension dimension);
/// The reverse; false if there is no such dimension.
bool dimension_from_name(std::string_view name, Dimension& dimension);
/// An example of the dimension for error messages, such as `"5 us" or 5e-06 (seconds)`.
std::string_view dimension_example(Dimension dimension);

/// A duration for people: "12.3 ms".
std::string human_time(double seconds);
/// A size for people: "102 MB".
std::string human_bytes(double bytes);
/// Three or four significant digits with thousands separated by commas: "12,345".
std::string human_number(double value);

// Limits of what can be simulated, stated once: for the schema, and for what a run meets on its way.

/// No time in a file is longer (32,000 years), and no time of a step or a message.
inline constexpr double kLongestTime_s = 1e12;

/// No other plain number in a file (a cost per byte, a price, a factor) is larger.
inline constexpr double kLargestNumber = 1e12;

/// A run that gets here fails: doubles tell only a tenth of a second apart.
inline constexpr double kLastInstant_s = 1e15;

/// A flow of more bytes does not fit SimGrid's counter (2^63 units of 2^-20 bytes).
inline constexpr double kLargestFlow_bytes = 8e12;

}  // namespace simsgd
