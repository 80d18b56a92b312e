// Making the jobs of a sweep's points without running them: what is wrong, and what they will need.
#include <sys/resource.h>

#include <algorithm>
#include <map>

#include "analysis/child_pool.hpp"
#include "analysis/sweep_points.hpp"
#include "sim/base/errors.hpp"

namespace simsgd {

namespace {

// Measured with 64 to 1,024 workers, ResNet-50's timing and a model of 50,890 parameters: 20 kB of a worker,
// and 2.1 (allreduce_sgd) to 3.6 (local_sgd) vectors as long as the model; 4 to 20 MB of curves and timeline.
constexpr double kWorkerBytes = 20e3, kVectorsPerWorker = 4, kRecordBytes = 20e6;

constexpr std::size_t kLeastPart = 64;

using Points = std::vector<const SweepPoint*>;

// Points with the same learner, cut into parts where there are many: each part reads the data once.
std::vector<Points> by_learner(const std::vector<SweepPoint>& points, int jobs) {
  std::map<std::string, Points> groups;
  for (const SweepPoint& point : points) groups[point.learner].push_back(&point);
  std::vector<Points> parts;
  for (const auto& [learner, group] : groups) {
    const std::size_t size =
        std::max(kLeastPart, group.size() / static_cast<std::size_t>(std::max(1, jobs)) + 1);
    for (std::size_t i = 0; i < group.size(); i += size)
      parts.emplace_back(group.begin() + static_cast<std::ptrdiff_t>(i),
                         group.begin() + static_cast<std::ptrdiff_t>(std::min(group.size(), i + size)));
  }
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

// The first point of a group is made whole; the others without the learner, whose data would be read again,
// unless the workload is the learner's own.
Json examine_group(const Study& study, const Points& group) {
  Json estimates = Json::array(), errors = Json::array();
  double parameters = 0;
  for (const SweepPoint* point : group) {
    Scenario scenario = load_point(study, point->point);
    if (point != group.front() && scenario.resolved["workload"] != "self")
      scenario.resolved["learner"] = scenario.resolved["target"] = nullptr;
    try {
      const Job job = make_job(scenario);
      if (job.learner) parameters = static_cast<double>(job.learner->parameters());
      const double bytes_per_worker = kWorkerBytes + kVectorsPerWorker * sizeof(float) * parameters;
      estimates.push_back(
          {point->position, peak_memory_bytes() + kRecordBytes + job.workers() * bytes_per_worker});
    } catch (const ConfigError& error) {
      for (const InputError& each : error.errors()) errors.push_back(to_json(each));
    }
  }
  return {{"estimates", std::move(estimates)}, {"errors", std::move(errors)}};
}

void add_new(const Json& found, std::vector<InputError>& errors) {
  for (const Json& json : found) {
    const InputError error = error_from_json(json);
    const bool known = std::any_of(errors.begin(), errors.end(), [&error](const InputError& other) {
      return other.text() == error.text();
    });
    if (!known) errors.push_back(error);
  }
}

}  // namespace

std::vector<PointEstimate> examine(const Study& study, const std::vector<SweepPoint>& points, int jobs,
                                   const std::function<bool()>& interrupted) {
  const std::vector<Points> groups = by_learner(points, jobs);
  std::vector<Json> found(groups.size());
  run_in_children(
      groups.size(), {.jobs = jobs, .timeout_s = {}, .interrupted = interrupted, .tick = {}},
      [&](std::size_t i) { return examine_group(study, groups[i]).dump(); },
      [&](std::size_t i, const ChildEnd& end) {
        // What kills this child will fail the runs, each by itself.
        if (end.kind == ChildEnd::Kind::answered) found[i] = Json::parse(end.text);
      });
  std::vector<InputError> errors;
  std::vector<PointEstimate> estimates;
  for (const Json& each : found) {
    if (each.is_null()) continue;
    add_new(each["errors"], errors);
    for (const Json& estimate : each["estimates"]) estimates.push_back({estimate[0], estimate[1]});
  }
  if (!errors.empty()) throw ConfigError(errors);
  std::sort(estimates.begin(), estimates.end(),
            [](const PointEstimate& a, const PointEstimate& b) { return a.position < b.position; });
  return estimates;
}

}  // namespace simsgd
