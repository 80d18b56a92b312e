// A scenario: one file, with everything it uses and with every default, checked against the schema; and the
// job that is made of it. Loading and making together report every error at once.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "scenarios/language/errors.hpp"
#include "scenarios/language/json_source.hpp"
#include "scenarios/language/use.hpp"
#include "sim/base/field.hpp"
#include "sim/base/fields.hpp"
#include "sim/job.hpp"
#include "sim/learn/dataset.hpp"

namespace simsgd {

struct Scenario {
  std::string file;    ///< as errors show it
  Json resolved;       ///< complete: no `use`, no default left out; loading it gives itself
  Provenance origins;  ///< of the values of `resolved`
};

/// Reads a scenario; "-" is standard input. Throws ConfigError with everything that is wrong with it: what
/// the schema finds and, in the sections that the schema accepts, what make_job finds.
Scenario load_scenario(const std::string& path, const Overrides& overrides = {});

/// Throws ConfigError with everything that makes the scenario impossible, also what lies in data files.
Job make_job(const Scenario& scenario);

/// The scenario as a document shows it: also with the defaults that plug-ins give by rule, which are known
/// once the job is. Loading it gives the same job.
Json completed(const Scenario& scenario, const Job& job);

/// Workers of a cluster file for which nobody says how many.
inline constexpr int kBenchWorkers = 8;

/// A cluster, and what its communication library does.
struct ClusterFile {
  Cluster cluster;
  CollectivePolicies collectives;
};

/// The cluster of a file such as clusters/infiniband-100g.json, or of a scenario or study, for so many
/// workers (else for the scenario's), for schedules without a run (there is no limit on workers). The
/// pointers of `overrides` begin with /cluster. Throws ConfigError.
ClusterFile load_cluster(const std::string& path, std::optional<int> workers,
                         const Overrides& overrides = {});

/// The cluster of a scenario that was loaded. Throws ConfigError.
ClusterFile make_cluster(const Scenario& scenario);

/// The path of a scenario file on the command line, looked for like a `use` in the current directory ("-"
/// stays). Throws ConfigError.
std::string scenario_path(const std::string& path);

/// Those read last, of any seed: what is wrong with data does not depend on it.
struct KnownData {
  Json section;      ///< that names them
  std::string file;  ///< in which the section is written: paths are looked for from there
  std::optional<DataSets> data;
};

}  // namespace simsgd
