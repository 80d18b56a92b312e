#include "traces/recorders/repetition.hpp"

#include <algorithm>

namespace simsgd {

namespace {

// [p]: for how many places the list, read from its end, equals itself p places on (the Z function).
std::vector<std::size_t> matches_from_end(const std::vector<std::string>& what) {
  const std::size_t count = what.size();
  const auto at = [&](std::size_t i) -> const std::string& { return what[count - 1 - i]; };
  std::vector<std::size_t> matches(count, 0);
  std::size_t left = 0, right = 0;
  for (std::size_t i = 1; i < count; ++i) {
    if (i < right) matches[i] = std::min(right - i, matches[i - left]);
    while (i + matches[i] < count && at(matches[i]) == at(i + matches[i])) ++matches[i];
    if (i + matches[i] > right) left = i, right = i + matches[i];
  }
  return matches;
}

}  // namespace

std::vector<std::size_t> beginnings_of_periods(const std::vector<std::string>& what,
                                               const std::vector<double>& at_s) {
  const std::size_t count = what.size();
  const std::vector<std::size_t> matches = matches_from_end(what);
  std::size_t period = 1;
  while (period < count && (matches[period] < period || 2 * (matches[period] + period) < count)) ++period;
  if (period >= count || period == 1) return {};
  const std::size_t first = count - (matches[period] + period);
  std::vector<double> pause_s(period, 0);
  std::vector<std::size_t> pauses(period, 0);
  for (std::size_t i = std::max<std::size_t>(first, 1); i < count; ++i) {
    pause_s[i % period] += at_s[i] - at_s[i - 1];
    ++pauses[i % period];
  }
  std::size_t longest = 0;
  const auto mean = [&](std::size_t place) {
    return pauses[place] == 0 ? 0 : pause_s[place] / static_cast<double>(pauses[place]);
  };
  for (std::size_t place = 1; place < period; ++place)
    if (mean(place) > mean(longest)) longest = place;
  std::vector<std::size_t> begins;
  for (std::size_t i = first; i < count; ++i)
    if (i % period == longest) begins.push_back(i);
  return begins;
}

}  // namespace simsgd
