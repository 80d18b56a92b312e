#include "analysis/runs/sweep_points.hpp"

#include <fmt/format.h>
#include <sys/resource.h>

#include <cctype>
#include <charconv>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "analysis/runner.hpp"
#include "analysis/runs/child_pool.hpp"
#include "scenarios/language/point_loader.hpp"
#include "scenarios/language/scenario_loader.hpp"
#include "sim/base/errors.hpp"
#include "sim/base/printable.hpp"

namespace simsgd {

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
        {"--shard", "", "is not a shard", text, "Write I/N, such as 1/4 for the first of four parts"});
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

// Making the jobs of a sweep's points without running them: what is wrong, and what they will need.

namespace {

// Measured with 64 to 1,024 workers, ResNet-50's timing and a model of 50,890 parameters: 20 kB of a worker,
// and 2.1 (allreduce_sgd) to 3.6 (local_sgd) vectors as long as the model; 4 to 20 MB of curves and timeline.
constexpr double kWorkerBytes = 20e3, kVectorsPerWorker = 4, kRecordBytes = 20e6;

// The largest takes a second: progress is told after each.
constexpr std::size_t kLeastPart = 64, kLargestPart = 4096;

using Points = std::vector<const SweepPoint*>;
using Wanted = std::function<bool(const SweepPoint&)>;

// Data are read once for each part, so points that learn from the same are side by side; many are cut into
// parts that children examine at the same time.
std::vector<Points> in_parts(const std::vector<SweepPoint>& points, int jobs) {
  std::map<std::string, Points> groups;
  for (const SweepPoint& point : points) groups[point.learner].push_back(&point);
  Points all;
  for (const auto& [learner, group] : groups) all.insert(all.end(), group.begin(), group.end());
  const auto each = static_cast<std::size_t>(std::max(1, jobs));
  const std::size_t rounds = all.size() / (each * kLargestPart) + 1;  // in which each has a part
  const std::size_t size = std::max(all.size() / (each * rounds) + 1, kLeastPart);
  std::vector<Points> parts;
  for (std::size_t i = 0; i < all.size(); i += size)
    parts.emplace_back(all.begin() + static_cast<std::ptrdiff_t>(i),
                       all.begin() + static_cast<std::ptrdiff_t>(std::min(all.size(), i + size)));
  return parts;
}

double peak_memory_bytes() {
  rusage usage{};
  return getrusage(RUSAGE_SELF, &usage) == 0 ? static_cast<double>(usage.ru_maxrss) * 1024 : 0;
}

Json to_json(const InputError& error) {
  return {error.file, error.pointer, error.problem, error.found, error.remedy};
}

InputError error_from_json(const Json& json) { return {json[0], json[1], json[2], json[3], json[4]}; }

// `look` at each point, which may throw what is wrong with it.
Json errors_in(const Points& part, const std::function<void(const SweepPoint&)>& look) {
  Json errors = Json::array();
  for (const SweepPoint* point : part) {
    try {
      look(*point);
    } catch (const ConfigError& error) {
      for (const InputError& each : error.errors()) errors.push_back({point->position, to_json(each)});
    }
  }
  return errors;
}

// Each point is loaded once, for its key and its job, where these are asked for. Making the key takes longer
// than all the rest.
Json look_at_part(const Study& study, const Points& part, bool with_keys, const Wanted& runs) {
  PointLoader loader(study, study.known.get());
  Json keys = Json::array(), estimates = Json::array();
  Json errors = errors_in(part, [&](const SweepPoint& point) {
    const Scenario& scenario = loader.load(point.point);
    SweepPoint keyed = point;
    if (with_keys) {
      keyed.key = run_key_of_text(loader.text());
      keys.push_back({point.position, keyed.key});
    }
    if (!runs || !runs(keyed)) return;
    const Job& job = loader.job();
    const Examined seen = examined(job);
    const double bytes_per_worker =
        kWorkerBytes + kVectorsPerWorker * sizeof(float) * static_cast<double>(seen.parameters);
    estimates.push_back({point.position, kRecordBytes + seen.workers * bytes_per_worker, seen.workers,
                         seen.steps, runs_per_draw(scenario, job)});
  });
  const double peak_bytes = peak_memory_bytes();
  for (Json& each : estimates) each[1] = each[1].get<double>() + peak_bytes;
  return {{"keys", std::move(keys)}, {"estimates", std::move(estimates)}, {"errors", std::move(errors)}};
}

// Text that is not UTF-8 is what a file name may be.
std::string text_of(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

// In the order of the points, each once.
std::vector<InputError> errors_of(std::vector<Json> found) {
  std::stable_sort(found.begin(), found.end(), [](const Json& a, const Json& b) { return a[0] < b[0]; });
  std::vector<InputError> errors;
  std::set<std::string> told;
  for (const Json& each : found)
    if (told.insert(text_of(each[1])).second) errors.push_back(error_from_json(each[1]));
  return errors;
}

Examination examine(const Study& study, std::vector<SweepPoint>& points, int jobs, bool with_keys,
                    const Wanted& runs, const std::function<bool()>& interrupted, const PointsReady& ready) {
  const std::vector<Points> parts = in_parts(points, jobs);
  std::vector<Json> errors;
  std::size_t done = 0;
  Examination examination;
  std::map<std::size_t, std::string> keys;
  run_in_children(
      parts.size(), {.jobs = jobs, .interrupted = interrupted},
      [&](std::size_t i) { return text_of(look_at_part(study, parts[i], with_keys, runs)); },
      [&](std::size_t i, const ChildEnd& end) {
        if (ready) ready(done += parts[i].size());
        if (end.kind != ChildEnd::Kind::answered) {
          examination.failures.push_back(failure_of(end));
          return;
        }
        Json found = Json::parse(end.text);
        for (Json& error : found["errors"]) errors.push_back(std::move(error));
        for (const Json& each : found["keys"]) keys[each[0]] = each[1];
        for (const Json& each : found["estimates"])
          examination.estimates.push_back({each[0], each[1], each[2], each[3], each[4]});
      });
  if (!errors.empty()) throw ConfigError(errors_of(std::move(errors)));
  // What ends a child that makes jobs need not end one that only loads.
  if (!examination.failures.empty() && runs && with_keys) {
    const std::vector<SweepPoint> keyed = sweep_points(study, jobs, interrupted);
    for (SweepPoint& point : points) point.key = keyed[point.position].key;
  } else {
    for (SweepPoint& point : points) point.key = keys[point.position];
  }
  std::sort(examination.estimates.begin(), examination.estimates.end(),
            [](const PointEstimate& a, const PointEstimate& b) { return a.position < b.position; });
  return examination;
}

}  // namespace

Examination examine(const Study& study, std::vector<SweepPoint>& points, int jobs, const Wanted& runs,
                    const std::function<bool()>& interrupted, const PointsReady& ready) {
  return examine(study, points, jobs, true, runs, interrupted, ready);
}

Examination examine(const Study& study, std::vector<SweepPoint> points, int jobs,
                    const std::function<bool()>& interrupted) {
  return examine(study, points, jobs, false, [](const SweepPoint&) { return true; }, interrupted, {});
}

std::vector<SweepPoint> sweep_points(const Study& study, int jobs, const std::function<bool()>& interrupted) {
  std::vector<SweepPoint> points = points_to_examine(study);
  const Examination found = examine(study, points, jobs, {}, interrupted);
  if (!found.failures.empty())
    throw RunError(fmt::format("{} cannot be loaded: {}", study.file, found.failures.front()));
  return points;
}

std::string check_file(const std::string& path, const Overrides& overrides, const CheckSettings& settings) {
  if (const std::string part = check_part(path, overrides); !part.empty()) return part;
  const Study study = expand_study(path, overrides);
  const Examination found = examine(study, points_to_examine(study), settings.jobs, settings.interrupted);
  if (!found.failures.empty())
    throw RunError(fmt::format("{} cannot be examined: {}", study.file, found.failures.front()));
  return study.axes.empty() ? "a scenario" : "a study of " + counted(study.points.size(), "point");
}

}  // namespace simsgd
