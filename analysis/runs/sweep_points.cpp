#include "analysis/runs/sweep_points.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "analysis/runs/run_key.hpp"
#include "sim/base/errors.hpp"

namespace simsgd {

using OrderedJson = nlohmann::ordered_json;

namespace {

constexpr std::size_t kLongestSlug = 100;

std::string slug_of(const std::string& label) {
  std::string slug;
  for (const char letter : label) {
    const bool plain =
        std::isalnum(static_cast<unsigned char>(letter)) != 0 || letter == '.' || letter == '_';
    if (plain)
      slug += letter;
    else if (!slug.empty() && slug.back() != '-')
      slug += '-';
  }
  slug.resize(std::min(slug.size(), kLongestSlug));
  while (!slug.empty() && (slug.back() == '-' || slug.back() == '.')) slug.pop_back();
  return slug.empty() || slug[0] == '.' ? "point" + slug : slug;
}

std::string learner_of(const StudyPoint& point) {
  std::string varies;
  for (const Assignment& each : point.coordinates)
    if (within(each.pointer, "/learner")) varies += each.pointer + each.value.dump();
  return varies;
}

std::size_t unit_of(const Study& study, const StudyPoint& point, std::size_t position) {
  return study.seed_rule ? point.cell : position;
}

// Gives each point its slug.
void name_points(const Study& study, std::vector<SweepPoint>& points) {
  std::set<std::string> taken;
  std::map<std::string, int> used;  // of a name, the last number
  for (SweepPoint& point : points) {
    const std::string plain = slug_of(point.point.label.empty() ? study.name : point.point.label);
    point.slug = plain;
    while (!taken.insert(point.slug).second)
      point.slug = fmt::format("{}-{}", plain, used[plain] = std::max(2, used[plain] + 1));
  }
}

constexpr std::size_t kMostListed = 1'000'000;  // ten times what a study may have

[[noreturn]] void refuse_points(const std::string& text) {
  throw ConfigError({"--points", "", "is not a list of points", text.substr(0, 60),
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

Shard parse_shard(const std::string& text) {
  Shard shard{0, 0};
  const char* end = text.data() + text.size();
  const auto [slash, bad_index] = std::from_chars(text.data(), end, shard.index);
  const bool cut = bad_index == std::errc() && slash != end && *slash == '/';
  const auto [rest, bad_count] = cut ? std::from_chars(slash + 1, end, shard.count)
                                     : std::from_chars_result{slash, std::errc::invalid_argument};
  if (bad_count != std::errc() || rest != end || shard.index < 1 || shard.index > shard.count)
    throw ConfigError(
        {"--shard", "", "is not a part of a whole", text, "Write 1/4 for the first of four parts"});
  return shard;
}

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

std::vector<SweepPoint> points_to_examine(const Study& study) {
  std::vector<SweepPoint> points;
  for (const StudyPoint& point : study.points)
    points.push_back({points.size(), point, "", "", learner_of(point), unit_of(study, point, points.size())});
  name_points(study, points);
  return points;
}

ResultCoordinate coordinate_of(const Study& study, const StudyPoint& point, std::size_t place) {
  const Assignment& set = point.coordinates.at(place);
  const auto& [axis, label] = point.shown.at(place);
  ResultCoordinate made{axis, set.pointer, label, OrderedJson::parse(set.value.dump()), {}};
  if (const auto& said = study.circumstances)
    made.circumstance = std::find(said->begin(), said->end(), axis) != said->end();
  return made;
}

ResultPoint result_point(const Study& study, const SweepPoint& point) {
  ResultPoint made;
  made.position = point.position;
  made.label = point.point.label;
  made.key = point.key;
  made.optional = point.point.optional;
  for (std::size_t i = 0; i < point.point.coordinates.size(); ++i) {
    const Assignment& set = point.point.coordinates[i];
    if (set.pointer == "/seed" && set.value.is_number_integer())
      made.seed = set.value.get<std::int64_t>();
    else
      made.coordinates.push_back(coordinate_of(study, point.point, i));
  }
  return made;
}

ResultStudy result_study(const Study& study, const std::vector<SweepPoint>& points) {
  ResultStudy made{"", study.name, study.file, study.axes, {}};
  std::string identity = study.name;
  for (const SweepPoint& each : points) {
    identity += "\n" + each.key;
    made.points.push_back(result_point(study, each));
  }
  made.id = name_key("sweep", identity);
  return made;
}

}  // namespace simsgd
