#include "results/run_context.hpp"

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <ctime>
#include <nlohmann/json.hpp>

#include "results/version.hpp"

namespace simsgd {

RunContext context_of(const std::string& program) {
  RunContext context;
  context.program = program;
  context.version = version::kNumber;
  context.git_commit = version::kGitCommit;
  context.build_type = version::kBuildType;
  return context;
}

RunContext with_machine(RunContext context) {
  std::array<char, 256> host{};
  if (gethostname(host.data(), host.size() - 1) == 0) context.host = host.data();
  const std::time_t now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  std::tm utc{};
  gmtime_r(&now, &utc);
  std::array<char, 32> date{};
  std::strftime(date.data(), date.size(), "%Y-%m-%dT%H:%M:%SZ", &utc);
  context.date = date.data();
  rusage usage{};
  if (getrusage(RUSAGE_SELF, &usage) == 0)
    context.peak_memory_bytes = static_cast<double>(usage.ru_maxrss) * 1024;
  return context;
}

std::string version_text(const RunContext& context) {
  return fmt::format("{} {} ({}, {}{})", context.program, context.version,
                     context.git_commit.empty() ? "no commit" : context.git_commit, context.build_type,
                     context.simgrid_version.empty() ? "" : ", SimGrid " + context.simgrid_version);
}

nlohmann::ordered_json to_json(const RunContext& context) {
  return {{"program", context.program},
          {"version", context.version},
          {"git_commit", context.git_commit},
          {"simgrid_version", context.simgrid_version},
          {"build_type", context.build_type},
          {"host", context.host},
          {"date", context.date},
          {"wall_time_s", context.wall_time_s},
          {"peak_memory_bytes", context.peak_memory_bytes}};
}

}  // namespace simsgd
