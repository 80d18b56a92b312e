#include "results/chakra_files.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

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

namespace {

// Files that are in the way.
std::vector<InputError> in_the_way(const fs::path& directory, const std::string& name, int workers,
                                   const std::string& option) {
  std::set<std::string> own;
  for (int rank = 0; rank < workers; ++rank) own.insert(fmt::format("{}.{}.et", name, rank));
  std::vector<InputError> errors;
  std::error_code failure;
  for (const fs::directory_entry& each : fs::directory_iterator(directory, failure)) {
    const std::string file = each.path().filename().string();
    const char* problem = nullptr;
    if (each.path().extension() == ".et" && !own.contains(file)) problem = "holds a trace of another job";
    if (own.contains(file) && each.is_directory(failure)) problem = "holds a directory where a trace goes";
    if (problem != nullptr)
      errors.push_back(
          {option, "", problem, (directory / file).string(), "Name a new directory, or remove it"});
  }
  std::sort(errors.begin(), errors.end(),
            [](const InputError& a, const InputError& b) { return a.found < b.found; });
  constexpr std::size_t kMostShown = 10;
  if (errors.size() > kMostShown) errors.resize(kMostShown);
  return errors;
}

}  // namespace

ChakraDirectory::ChakraDirectory(const fs::path& directory, const std::string& name, int workers,
                                 const std::string& option) {
  try {
    directory_.emplace(directory);
  } catch (const ConfigError& error) {
    std::vector<InputError> errors = error.errors();
    for (InputError& each : errors) each.file = option;
    throw ConfigError(std::move(errors));
  }
  std::vector<InputError> errors = in_the_way(directory, name, workers, option);
  if (!errors.empty()) throw ConfigError(std::move(errors));
}

}  // namespace simsgd
