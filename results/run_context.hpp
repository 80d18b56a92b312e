// Who made a result, where, when, and at what expense: all of it that is not reproducible.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace simsgd {

struct RunContext {
  std::string program = "simsgd";
  std::string version;
  std::string git_commit;       ///< empty where unknown
  std::string simgrid_version;  ///< empty where none was used
  std::string build_type;       ///< empty where unknown
  std::string host;
  std::string date;  ///< UTC, ISO 8601
  double wall_time_s = 0;
  double peak_memory_bytes = 0;
};

/// Version, commit and build of this source, whatever the program is called.
RunContext context_of(const std::string& program);

/// `context` with host, date and peak memory of this process filled in.
RunContext with_machine(RunContext context);

/// "simsgd 0.1.0 (commit, Release, SimGrid 3.32)", as --version prints it.
std::string version_text(const RunContext& context);

/// A context as documents have it.
nlohmann::ordered_json to_json(const RunContext& context);

}  // namespace simsgd
