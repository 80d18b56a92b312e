#include "results/run_files.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>
#include <set>

#include "results/atomic_file.hpp"
#include "results/curves.hpp"
#include "sim/base/errors.hpp"
#include "traces/chrome_trace.hpp"

namespace simsgd {

namespace fs = std::filesystem;

namespace {

void write_trace(const Timeline& timeline, int rank, const fs::path& path) {
  AtomicFile file(path);
  write_chrome_trace(timeline, rank, [&file](const std::string& text) { file.write(text); });
  file.finish();
}

}  // namespace

void write_timeline(const Timeline& timeline, const fs::path& directory) {
  make_folder(directory / "kineto");
  write_trace(timeline, kAllRanks, directory / "timeline.json");
  for (int rank = 0; rank < timeline.ranks(); ++rank)
    write_trace(timeline, rank, directory / "kineto" / fmt::format("rank{}.json", rank));
}

RunFiles write_run(const RunOutcome& outcome, const fs::path& directory) {
  make_folder(directory);
  RunFiles files;
  for (const Curve& curve : curves()) {
    const nlohmann::ordered_json& points = outcome.document.at("series").at(curve.series);
    if (points.empty()) continue;
    fs::path& file = curve.series == "train" ? files.training_curve : files.test_curve;
    file = directory / curve.file;
    write_file_atomically(file, curve_csv(curve, points));
  }
  if (!outcome.timeline.empty()) {
    write_timeline(outcome.timeline, directory);
    files.timeline = directory / "timeline.json";
  }
  if (!outcome.steps.empty()) {
    files.steps = directory / kStepsFile;
    write_file_atomically(files.steps, steps_csv(outcome.steps));
  }
  files.document = directory / "result.json";
  write_file_atomically(files.document, outcome.document.dump(2) + "\n");
  return files;
}

std::string files_text(const RunFiles& files) {
  std::string text = fmt::format("\nresult    {}\n", files.document.string());
  if (!files.training_curve.empty()) text += fmt::format("loss      {}\n", files.training_curve.string());
  if (!files.steps.empty()) text += fmt::format("steps     {}\n", files.steps.string());
  if (!files.timeline.empty())
    text += fmt::format("timeline  {}  (open in https://ui.perfetto.dev)\n", files.timeline.string());
  return text;
}

OutputDirectory::OutputDirectory(const fs::path& path) : path_(path) {
  if (path.empty()) return;
  std::error_code failure;
  made_ = fs::create_directories(path, failure);
  std::string why = failure.message();
  if (!failure) {
    if (access(path.c_str(), W_OK | X_OK) == 0) return;
    why = std::strerror(errno);
  }
  throw ConfigError(InputError{"-o", "", "cannot be written to: " + why, path.string(),
                               "Name a directory that you may write to"});
}

OutputDirectory::~OutputDirectory() {
  std::error_code ignored;
  if (made_) fs::remove(path_, ignored);  // if it is empty
}

void write_chakra(const ChakraRecorder& recorder, const std::string& name, const fs::path& directory) {
  if (const std::string problem = recorder.problem(); !problem.empty())
    throw RunError("This job cannot be written as Chakra traces: " + problem + ".");
  make_folder(directory);
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
  std::ranges::sort(errors, [](const InputError& a, const InputError& b) { return a.found < b.found; });
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
