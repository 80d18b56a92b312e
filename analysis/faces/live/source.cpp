#include "analysis/faces/live/source.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "analysis/runs/results.hpp"
#include "analysis/runs/store.hpp"
#include "analysis/runs/sweep_points.hpp"
#include "scenarios/language/loading.hpp"

namespace simsgd::live {

namespace fs = std::filesystem;

namespace {

constexpr std::int64_t kLeastWorkers = 2, kUsualWorkers = 64, kTimesMore = 4;
constexpr const char* kWorkers = "/cluster/workers";

bool is_store(const std::string& path) {
  std::string begin(15, '\0');
  std::ifstream(path, std::ios::binary).read(begin.data(), static_cast<std::streamsize>(begin.size()));
  return begin == "SQLite format 3" || fs::path(path).extension() == ".db";
}

bool loads(const Study& study, std::int64_t workers) {
  try {
    (void)load_point(study, {"", {{kWorkers, workers, {"explore", kWorkers}}}});
    return true;
  } catch (const ConfigError&) {
    return false;
  }
}

/// Of a scenario that varies nothing: powers of two that it accepts, and its own number.
std::string workers_axis(const Study& study) {
  const auto own =
      load_point(study, study.points.front()).resolved.at("cluster").at("workers").get<std::int64_t>();
  std::set<std::int64_t> values = {own};
  const std::int64_t most = std::min<std::int64_t>(kMostWorkers, std::max(kUsualWorkers, kTimesMore * own));
  for (std::int64_t workers = kLeastWorkers; workers <= most; workers *= 2)
    if (loads(study, workers)) values.insert(workers);
  return Json::array({{{"pointer", kWorkers}, {"values", values}}}).dump();
}

Study study_of(const std::string& path, Overrides overrides) {
  Study study = expand_study(path, overrides);
  const bool varies = std::any_of(study.axes.begin(), study.axes.end(),
                                  [](const std::string& axis) { return axis != "/seed"; });
  if (varies) return study;
  if (path == "-")
    throw ConfigError({study.file, "/axes", "is missing, and standard input cannot be read twice", "",
                       "Give it axes, or name a file"});
  overrides.set.emplace_back("/axes", workers_axis(study));
  return expand_study(path, overrides);
}

OpenStudy opened(Study study, const SourceSettings& settings) {
  auto kept = std::make_unique<const Study>(std::move(study));
  ResultStudy row = result_study(*kept, sweep_points(*kept, settings.jobs, settings.interrupted));
  return {std::move(kept), std::move(row)};
}

Source of_study(const SourceSettings& settings) {
  Source source;
  source.studies.push_back(opened(study_of(settings.path, settings.overrides), settings));
  source.is_kept = !settings.output.empty();
  if (source.is_kept) {
    source.store = settings.output;
    (void)ResultStore::read_only(settings.output);  // says what is wrong with it
    return source;
  }
  source.folder = std::make_unique<TemporaryFolder>();
  source.store = source.folder->path() / "explored.db";
  return source;
}

/// A file is read once for all studies that came from it.
class StudyFiles {
 public:
  explicit StudyFiles(const SourceSettings& settings) : settings_(settings) {}

  /// Opens the study of a row, or says why it cannot be.
  std::optional<OpenStudy> open(const ResultStudy& row, std::string& why) {
    const auto [found, fresh] = read_.try_emplace(row.file);
    File& file = found->second;
    if (fresh) read(row.file, file);
    why = file.why;
    if (!file.open.study) return std::nullopt;
    if (file.open.row.id == row.id) return std::move(file.open);
    why = fmt::format(
        "{} has other points now: it was changed, or run with --set or by another version of SimSGD",
        row.file);
    return std::nullopt;
  }

 private:
  struct File {
    OpenStudy open;
    std::string why;
  };

  void read(const std::string& name, File& file) const {
    if (name == shown_name("-")) {
      file.why = "it came from standard input";
      return;
    }
    try {
      file.open = opened(study_of(name, settings_.overrides), settings_);
    } catch (const ConfigError& error) {
      file.why = error.errors().front().text();
    }
  }

  const SourceSettings& settings_;
  std::map<std::string, File> read_;
};

Source of_store(const SourceSettings& settings) {
  if (!settings.output.empty())
    throw ConfigError({"--output", "", "is for a study, and this is a store, which keeps what is added",
                       settings.path, "Leave it out"});
  Source source;
  source.store = settings.path;
  (void)StoredResults(source.store);  // says what is wrong with it
  StudyFiles files(settings);
  for (const ResultStudy& row : ResultStore::read_only(source.store)->studies()) {
    if (row.name.ends_with(": explored")) continue;
    std::string why;
    if (std::optional<OpenStudy> open = files.open(row, why))
      source.studies.push_back(std::move(*open));
    else
      source.reasons.push_back(fmt::format(
          "{} can only be looked at, since the store has no text of studies and {}{} To add points: simsgd explore STUDY -o {}",
          row.name, why, why.ends_with('.') ? "" : ".", settings.path));
  }
  return source;
}

}  // namespace

TemporaryFolder::TemporaryFolder() {
  std::error_code none;
  std::string pattern = (fs::temp_directory_path(none) / "simsgd-explore-XXXXXX").string();
  if (mkdtemp(pattern.data()) == nullptr)
    throw RunError(
        "Cannot make a temporary directory. Set TMPDIR to one that you may write to, or keep the runs with -o F.db.");
  path_ = pattern;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code none;
  fs::remove_all(path_, none);
}

Source open_source(const SourceSettings& settings) {
  return is_store(settings.path) ? of_store(settings) : of_study(settings);
}

}  // namespace simsgd::live
