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
        {"--shard", "", "is no part of a whole", text, "Write 1/4 for the first of four parts"});
  return shard;
}

std::vector<SweepPoint> points_to_examine(const Study& study) {
  std::vector<SweepPoint> points;
  for (const StudyPoint& point : study.points)
    points.push_back({points.size(), point, "", "", learner_of(point), unit_of(study, point, points.size())});
  name_points(study, points);
  return points;
}

SweepRow sweep_row(const Study& study, const std::vector<SweepPoint>& points) {
  SweepRow sweep{"", study.name, study.file, study.axes, {}};
  std::string identity = study.name;
  for (const SweepPoint& each : points) {
    OrderedJson coordinates = OrderedJson::array();
    for (std::size_t i = 0; i < each.point.coordinates.size(); ++i) {
      const Assignment& set = each.point.coordinates[i];
      const auto& [axis, label] = each.point.shown.at(i);
      coordinates.push_back({{"pointer", set.pointer},
                             {"axis", axis},
                             {"label", label},
                             {"value", OrderedJson::parse(set.value.dump())}});
      if (study.circumstances && set.pointer != "/seed")
        coordinates.back()["circumstance"] =
            std::find(study.circumstances->begin(), study.circumstances->end(), axis) !=
            study.circumstances->end();
    }
    // Readers leave out such a point where it did not run.
    if (each.point.optional) coordinates.back()["optional"] = true;
    identity += "\n" + each.key;
    sweep.points.push_back({each.point.label, std::move(coordinates), each.key});
  }
  sweep.id = name_key("sweep", identity);
  return sweep;
}

}  // namespace simsgd
