// Crashes of workers: the section "failures".
#include <fmt/format.h>

#include "scenarios/language/build.hpp"

namespace simsgd {

std::optional<FailureModel> build_failures(const Reader& reader, int workers) {
  if (!reader.usable("/failures")) return std::nullopt;
  const Parameters section = reader.parameters("/failures");
  FailureModel failures;
  failures.mean_time_between_s =
      section.quantity("mean_time_between", Dimension::time_s, failures.mean_time_between_s);
  failures.restart_s = section.quantity("restart", Dimension::time_s);
  failures.checkpoint_every = static_cast<std::uint64_t>(section.integer("checkpoint_every"));
  failures.checkpoint_s = section.quantity("checkpoint", Dimension::time_s);
  const Json& crashes = section.json()["crashes"];
  for (std::size_t i = 0; i < crashes.size(); ++i) {
    const Parameters crash(crashes[i]);
    const std::int64_t rank = crash.integer("worker");
    if (rank >= workers)
      reader.error(child("/failures/crashes", i) + "/worker",
                   fmt::format("is no rank of this job, which has {} workers", workers),
                   fmt::format("Write numbers from 0 to {}", workers - 1));
    failures.crashes.push_back({static_cast<int>(rank), crash.quantity("time", Dimension::time_s)});
  }
  return failures;
}

}  // namespace simsgd
