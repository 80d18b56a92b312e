// What a run may cost: bounds that are far beyond what anybody simulates, and inside of what ends.
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "scenarios/language/scenario_loader.hpp"
#include "scenarios/language/sections.hpp"
#include "sim/base/units.hpp"
#include "sim/learn/model.hpp"

namespace simsgd {

namespace {

/// Whether so much address space is left: asked for, and given back. `ulimit -v` limits it.
bool address_space_left(std::size_t bytes) {
  void* const space = mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (space == MAP_FAILED) return false;
  munmap(space, bytes);
  return true;
}

double memory_here_bytes() {
  return static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGESIZE));
}

/// Numbers of the data that a source makes; 0 where it does not say.
double numbers_of(const Json& source) {
  const auto count = [&source](const char* key) { return source.value(key, 0.0); };
  return (source.contains("features") ? count("features") : count("dimension")) *
         (count("samples") + count("test_samples"));
}

bool fits(double seconds) { return seconds <= kLongestTime_s; }

std::string longest() { return fmt::format("Times of up to {:g} s can be simulated", kLongestTime_s); }

/// What a section of a step costs at most: the slowest node, the mean factor.
void check_step(const Reader& reader, const Job& job) {
  double slowest = 1;
  for (const double speed : job.cluster.node_speed) slowest = std::min(slowest, speed);
  const double mean = job.workload.compute_factor.mean();
  const double step_s = job.workload.step_compute_s();
  if (fits(step_s) && fits(job.workload.one_device_step_s) && fits(step_s / slowest) &&
      fits(step_s / slowest * mean))
    return;
  reader.error(fits(step_s) && !fits(step_s / slowest) ? "/cluster/node_speed" : "/workload",
               fmt::format("makes a step of {:g} s", std::max(step_s, step_s / slowest * mean)), longest());
}

void check_links(const Reader& reader, const Job& job) {
  const double model_bytes = job.workload.model_bytes();
  for (const Link& link : job.cluster.network.links) {
    const double seconds = link.latency_s + model_bytes / link.bandwidth_Bps;
    if (fits(seconds)) continue;
    const bool slowed = reader.usable("/network") && !reader.value("/network/slow_links").empty();
    reader.error(
        slowed ? "/network/slow_links" : "/cluster",
        fmt::format("has a link ({}) that takes {:g} s for the {:g} bytes of the workload's parameters",
                    link.name, seconds, model_bytes),
        longest());
    return;
  }
}

}  // namespace

void check_workers(const Reader& reader) {
  if (!reader.usable("/cluster/workers")) return;
  const std::int64_t workers = reader.value("/cluster/workers").get<std::int64_t>();
  if (workers > kMostWorkers)
    reader.error(
        "/cluster/workers", fmt::format("is more than the {} workers that a run can have", kMostWorkers),
        "Use fewer workers; simsgd bench costs the schedules of larger clusters without simulating workers");
  else if (!address_space_left(static_cast<std::size_t>(workers) * kStackBytesOfWorker))
    reader.error("/cluster/workers",
                 fmt::format("need {} of address space for their stacks, more than this process may use",
                             human_bytes(static_cast<double>(workers) * kStackBytesOfWorker)),
                 "Raise the limit (ulimit -v), or use fewer workers");
}

bool check_data_size(const Reader& reader) {
  const double numbers = numbers_of(reader.value("/learner/data"));
  const std::string remedy = fmt::format("Use at most {:g} in all", kMostNumbers);
  if (numbers > kMostNumbers)
    reader.error("/learner/data", fmt::format("has {:g} numbers, samples times features", numbers), remedy);
  return numbers <= kMostNumbers;
}

void check_learner_size(const Reader& reader, const Learner& learner, int workers) {
  const double batch = static_cast<double>(learner.batch()) * static_cast<double>(learner.model().inputs());
  if (batch > kMostNumbers)
    reader.error("/learner/batch", fmt::format("reads {:g} numbers, samples times features", batch),
                 fmt::format("Use at most {:g}", kMostNumbers));
  // Less than any algorithm needs: a model and its gradient.
  const double bytes = 2.0 * sizeof(float) * static_cast<double>(learner.parameters()) * workers;
  if (bytes > memory_here_bytes())
    reader.error(
        "/learner/model",
        fmt::format("has {} parameters: {} workers need more than {} of memory, and this machine has {}",
                    learner.parameters(), workers, human_bytes(bytes), human_bytes(memory_here_bytes())),
        "Use a smaller model or fewer workers");
}

void check_durations(const Reader& reader, const Job& job) {
  if (job.workers() == 0 || job.workload.layers.empty()) return;
  if (job.cluster.network.links.size() > kMostLinks)
    reader.error("/cluster/topology", fmt::format("makes {} links", job.cluster.network.links.size()),
                 fmt::format("A run can have {}; simsgd bench costs schedules on more", kMostLinks));
  if (job.workload.model_bytes() > kLargestFlow_bytes)
    reader.error("/workload", fmt::format("has parameters of {:g} bytes", job.workload.model_bytes()),
                 fmt::format("At most {:g} bytes can be sent", kLargestFlow_bytes));
  check_step(reader, job);
  check_links(reader, job);
}

void check_length(const Reader& reader, const Job& job) {
  if (job.workers() == 0 || job.workload.layers.empty() || !reader.usable("/stop")) return;
  const bool counted = job.stop.steps != std::numeric_limits<std::uint64_t>::max();
  const std::string remedy = fmt::format("Steps times workers can be at most {:g}", kMostWorkerSteps);
  if (counted && static_cast<double>(job.stop.steps) * job.workers() > kMostWorkerSteps)
    reader.error(
        "/stop/steps",
        fmt::format("asks for {:g} steps of {} workers", static_cast<double>(job.stop.steps), job.workers()),
        remedy);
  const double by_samples = job.stop.samples / job.workload.batch;  // steps of all workers together
  if (!counted && std::isfinite(by_samples) && by_samples > kMostWorkerSteps)
    reader.error(reader.value("/stop").contains("samples") ? "/stop/samples" : "/stop/epochs",
                 fmt::format("amounts to {:g} steps of all workers together", by_samples), remedy);
  if (counted || std::isfinite(by_samples) || !std::isfinite(job.stop.time_s)) return;
  const double step_s = job.workload.step_compute_s();
  if (!(step_s > 0))
    reader.error("/stop/time", "may never come: a step computes for no time", "Add \"steps\"");
  else if (job.stop.time_s / step_s * job.workers() > kMostWorkerSteps)
    reader.error("/stop/time",
                 fmt::format("amounts to {:g} steps of {} workers, of {:g} s each", job.stop.time_s / step_s,
                             job.workers(), step_s),
                 remedy);
}

}  // namespace simsgd
