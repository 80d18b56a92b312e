// The section "failures": crashes of workers.
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "scenarios/language/schema_parts.hpp"
#include "scenarios/language/sections.hpp"

namespace simsgd {

Json schema::failures() {
  FailureModel section;
  return with_default(
      of(section,
         "Crashes of workers, which restart and go on from their last checkpoint; how is the algorithm's"),
      Json::object());
}

std::optional<FailureModel> build_failures(const Reader& reader, int workers) {
  if (!reader.usable("/failures")) return std::nullopt;
  auto failures = reader.section<FailureModel>("/failures");
  for (std::size_t i = 0; i < failures.crashes.size(); ++i)
    if (failures.crashes[i].rank >= workers)
      reader.error(child("/failures/crashes", i) + "/worker",
                   fmt::format("is no rank of this job, which has {} workers", workers),
                   fmt::format("Write numbers from 0 to {}", workers - 1));
  return failures;
}

}  // namespace simsgd
