// The steps behind load_scenario, load_study and make_job, for files that share what they have read.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "scenarios/language/errors.hpp"
#include "scenarios/language/scenario.hpp"

namespace simsgd {

struct Sourced;

struct Loading {
  Scenario scenario;
  ErrorList errors;
};

/// Reads, resolves, completes and validates. `as_point`: drops the axes and seeds of a study, which else are
/// errors.
Loading load(JsonFiles& files, const std::string& path, const std::vector<Assignment>& assignments,
             bool as_point);

/// What can be built of the scenario; `errors` receives what cannot. With `known` a job that
/// learns is one to look at and not to run: its data may be those of another seed.
Job build_job(const Scenario& scenario, ErrorList& errors, KnownData* known = nullptr);
/// The same, and throws what cannot be built.
Job make_job(const Scenario& scenario, KnownData* known);

/// A cluster file, as a scenario of nothing else; a scenario or study as it is (load_cluster).
Loading load_around_cluster(const std::string& path, std::optional<int> workers, const Overrides& overrides);

/// What a scenario without a name is called: as its file.
std::string name_of_file(const std::string& file);

/// Whether "exclude" or "circumstances" stands without axes that it could be about, which is an error.
bool refuse_keys_of_studies(const Sourced& sourced, ErrorList& errors);
/// What is wrong with a claim, in a file of one run too.
void check_claim(const Sourced& sourced, ErrorList& errors);

/// Throws everything that is wrong, after having looked also at the sections that the schema accepts.
Scenario finished(Loading loading);

/// The most workers of a run: each has a stack of its own, of which Linux gives a process 2^47 bytes of
/// address space.
inline constexpr int kMostWorkers = 1 << 20;
/// Address space of a worker's stack (sim/engine/fibers.hpp).
inline constexpr std::size_t kStackBytesOfWorker = std::size_t{512} * 1024;
/// Links of a network that is simulated: those of as many workers on a star, in nodes of any number of GPUs.
inline constexpr std::size_t kMostLinks = std::size_t{4} * kMostWorkers;
/// Steps times workers: days of computing, so that what ends is told from what does not.
inline constexpr double kMostWorkerSteps = 1e10;
/// Numbers of a data set or a mini-batch: 8 GB.
inline constexpr double kMostNumbers = 2147483648.0;

}  // namespace simsgd
