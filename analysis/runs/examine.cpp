// Making the jobs of a sweep's points without running them: what is wrong, and what they will need.
#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "analysis/intervals.hpp"
#include "analysis/runs/child_pool.hpp"
#include "analysis/runs/run_key.hpp"
#include "analysis/runs/sweep_points.hpp"
#include "scenarios/language/point_loader.hpp"
#include "sim/base/errors.hpp"

namespace simsgd {

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
  const std::size_t size =
      std::clamp(all.size() / static_cast<std::size_t>(std::max(1, jobs)) + 1, kLeastPart, kLargestPart);
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

// Each point is loaded once, for its key and, where it is asked for, its job.
Json look_at_part(const Study& study, const Points& part, const Wanted& runs) {
  PointLoader loader(study, study.known.get());
  Json keys = Json::array(), estimates = Json::array();
  Json errors = errors_in(part, [&](const SweepPoint& point) {
    const Scenario& scenario = loader.load(point.point);
    SweepPoint keyed = point;
    keyed.key = run_key_of_text(loader.text());
    keys.push_back({point.position, keyed.key});
    if (!runs || !runs(keyed)) return;
    const Job& job = loader.job();
    const Examined seen = examined(job);
    const double bytes_per_worker =
        kWorkerBytes + kVectorsPerWorker * sizeof(float) * static_cast<double>(seen.parameters);
    estimates.push_back({point.position, peak_memory_bytes() + kRecordBytes + seen.workers * bytes_per_worker,
                         seen.workers, seen.steps, runs_per_draw(scenario, job)});
  });
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

}  // namespace

Examination examine(const Study& study, std::vector<SweepPoint>& points, int jobs, const Wanted& runs,
                    const std::function<bool()>& interrupted, const PointsReady& ready) {
  const std::vector<Points> parts = in_parts(points, jobs);
  std::vector<Json> errors;
  std::size_t done = 0;
  Examination examination;
  std::map<std::size_t, std::string> keys;
  run_in_children(
      parts.size(), {.jobs = jobs, .timeout_s = {}, .interrupted = interrupted, .tick = {}},
      [&](std::size_t i) { return text_of(look_at_part(study, parts[i], runs)); },
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
  if (!examination.failures.empty() && runs) {
    const std::vector<SweepPoint> keyed = sweep_points(study, jobs, interrupted);
    for (SweepPoint& point : points) point.key = keyed[point.position].key;
  } else {
    for (SweepPoint& point : points) point.key = keys[point.position];
  }
  std::sort(examination.estimates.begin(), examination.estimates.end(),
            [](const PointEstimate& a, const PointEstimate& b) { return a.position < b.position; });
  return examination;
}

Examination examine(const Study& study, std::vector<SweepPoint> points, int jobs,
                    const std::function<bool()>& interrupted) {
  return examine(
      study, points, jobs, [](const SweepPoint&) { return true; }, interrupted);
}

std::vector<SweepPoint> sweep_points(const Study& study, int jobs, const std::function<bool()>& interrupted) {
  std::vector<SweepPoint> points = points_to_examine(study);
  const Examination found = examine(study, points, jobs, {}, interrupted);
  if (!found.failures.empty())
    throw RunError(fmt::format("{} cannot be loaded: {}", study.file, found.failures.front()));
  return points;
}

}  // namespace simsgd
