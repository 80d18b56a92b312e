#include "results/chakra_files.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "results/atomic_file.hpp"
#include "sim/base/errors.hpp"

namespace simsgd {

namespace fs = std::filesystem;

void write_chakra(const ChakraRecorder& recorder, const std::string& name, const fs::path& directory) {
  if (const std::string problem = recorder.problem(); !problem.empty())
    throw RunError("This job cannot be written as Chakra traces: " + problem + ".");
  std::error_code failure;
  fs::create_directories(directory, failure);
  if (failure) throw RunError(fmt::format("Cannot make {}: {}", directory.string(), failure.message()));
  for (int rank = 0; rank < recorder.workers(); ++rank) {
    AtomicFile file(directory / fmt::format("{}.{}.et", name, rank));
    file.write(chakra_message(recorder.metadata(rank)));
    for (const ChakraNode& node : recorder.nodes(rank)) file.write(chakra_message(node));
    file.finish();
  }
  if (recorder.groups().empty()) return;
  AtomicFile file(directory / (name + ".groups.json"));
  file.write(nlohmann::json(recorder.groups()).dump() + "\n");
  file.finish();
}

}  // namespace simsgd
