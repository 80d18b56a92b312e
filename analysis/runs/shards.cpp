// Parts of a study that are lists of points.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "analysis/runs/run_key.hpp"
#include "analysis/runs/sweep_points.hpp"
#include "sim/base/errors.hpp"

namespace simsgd {

namespace {

constexpr std::size_t kMostListed = 1'000'000;  // ten times what a study may have

[[noreturn]] void refuse_points(const std::string& text) {
  throw ConfigError({"--points", "", "is no list of points", text.substr(0, 60),
                     "Write numbers of `simsgd sweep plan` and ranges of them, such as 1-4,9"});
}

/// The number at the front of `text`, which is removed.
std::size_t take_number(std::string_view& text, const std::string& whole) {
  std::size_t number = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || number < 1 || number > kMostListed) refuse_points(whole);
  text.remove_prefix(static_cast<std::size_t>(rest - text.data()));
  return number;
}

}  // namespace

Shard parse_points(const std::string& text) {
  Shard shard;
  std::string_view rest = text;
  const auto skip = [&rest] { rest.remove_prefix(std::min(rest.find_first_not_of(", \n\t"), rest.size())); };
  for (skip(); !rest.empty(); skip()) {
    const std::size_t first = take_number(rest, text);
    std::size_t last = first;
    if (rest.starts_with('-')) {
      rest.remove_prefix(1);
      last = take_number(rest, text);
    }
    if (last < first ||
        (!rest.empty() && std::string_view(", \n\t").find(rest[0]) == std::string_view::npos) ||
        shard.positions.size() + (last - first) > kMostListed)
      refuse_points(text);
    for (std::size_t number = first; number <= last; ++number) shard.positions.push_back(number - 1);
  }
  if (shard.positions.empty()) refuse_points(text);
  std::sort(shard.positions.begin(), shard.positions.end());
  shard.positions.erase(std::unique(shard.positions.begin(), shard.positions.end()), shard.positions.end());
  return shard;
}

std::string points_text(const std::vector<std::size_t>& positions) {
  std::string text;
  for (std::size_t i = 0; i < positions.size();) {
    std::size_t end = i + 1;
    while (end < positions.size() && positions[end] == positions[end - 1] + 1) ++end;
    text += fmt::format("{}{}", text.empty() ? "" : ",", positions[i] + 1);
    if (end - i > 1) text += fmt::format("-{}", positions[end - 1] + 1);
    i = end;
  }
  return text;
}

std::string shard_name(const Shard& shard) {
  if (shard.positions.empty()) return fmt::format("shard-{}-of-{}", shard.index, shard.count);
  return "points-" + name_key("points", points_text(shard.positions)).substr(0, 8);
}

}  // namespace simsgd
