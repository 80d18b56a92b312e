#include "analysis/faces/live/source.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "analysis/runs/sweep_points.hpp"
#include "scenarios/language/axis_values.hpp"
#include "scenarios/language/scenario_loader.hpp"

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
  const bool varies =
      std::ranges::any_of(study.axes, [](const std::string& axis) { return axis != "/seed"; });
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
        "{} now gives other points: the file was changed, or it was run with --set or by another version of SimSGD",
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
    throw ConfigError({"--output", "",
                       "applies to a study, and this is a file of results, which keeps new points itself",
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
          "{} is read-only, because the file of results does not contain the study and {}{} To add points: simsgd explore STUDY -o {}",
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

namespace {

void forget_sweep(const Database& database, const std::string& id) {
  Transaction transaction(database);
  Statement(database, "DELETE FROM points WHERE sweep = ?").bind(id).run();
  Statement(database, "DELETE FROM sweeps WHERE id = ?").bind(id).run();
  transaction.commit();
}

/// The place of each label of one axis.
class Places {
 public:
  void add(const ResultCoordinate& at) {
    if (!labels_.emplace(at.label, labels_.size()).second) return;
    const std::optional<Bound> bound = read_bound(Json::parse(at.value.dump()));
    if (!bound || (!numbers_.empty() && bound->unit != unit_)) are_numbers_ = false;
    if (!are_numbers_) return;
    unit_ = bound->unit;
    numbers_[at.label] = bound->number;
  }
  double of(const std::string& label) const {
    return are_numbers_ ? numbers_.at(label) : static_cast<double>(labels_.at(label));
  }

 private:
  std::map<std::string, std::size_t> labels_;  // by when they came
  std::map<std::string, double> numbers_;
  std::string unit_;
  bool are_numbers_ = true;
};

}  // namespace

ExploredPoints::ExploredPoints(const ResultStore& store, const ResultStudy& study)
    : study_id_(study.id), sweep_{"", study.name + ": explored", study.file, study.axes, {}} {
  for (const ResultPoint& each : study.points) study_keys_.push_back(each.key);
  std::ranges::sort(study_keys_);
  for (ResultStudy& each : store.studies()) {
    if (each.name != sweep_.name || each.file != sweep_.file) continue;
    ids_.push_back(each.id);
    for (ResultPoint& point : each.points)
      if (!has(point.key)) sweep_.points.push_back(std::move(point));
  }
}

bool ExploredPoints::has(const std::string& key) const {
  return std::ranges::binary_search(study_keys_, key) ||
         std::ranges::any_of(sweep_.points, [&](const ResultPoint& each) { return each.key == key; });
}

void ExploredPoints::add(ResultStore& store, ResultPoint point) {
  sweep_.points.push_back(std::move(point));
  std::string identity = sweep_.name;
  for (const ResultPoint& each : sweep_.points) identity += "\n" + each.key;
  sweep_.id = name_key("sweep", identity);
  // The new one first: whoever is killed between the two leaves one too many, and the next one joins them.
  store.put(sweep_);
  for (const std::string& id : ids_)
    if (id != sweep_.id) forget_sweep(store.database(), id);
  ids_ = {sweep_.id};
}

void ExploredPoints::join(std::vector<ResultStudy>& studies) const {
  const auto own =
      std::ranges::find_if(studies, [this](const ResultStudy& each) { return each.id == study_id_; });
  if (own == studies.end()) return;
  std::set<std::string> seen;
  for (const ResultPoint& point : own->points) seen.insert(point.key);
  bool added = false;
  for (ResultStudy& each : studies) {
    if (std::ranges::find(ids_, each.id) == ids_.end()) continue;
    for (ResultPoint& point : each.points) {
      if (!seen.insert(point.key).second) continue;
      own->points.push_back(std::move(point));
      added = true;
    }
  }
  if (added) order_by_values(own->points);
  std::erase_if(studies,
                [this](const ResultStudy& each) { return std::ranges::find(ids_, each.id) != ids_.end(); });
}

void order_by_values(std::vector<ResultPoint>& points) {
  std::vector<Places> places;
  for (const ResultPoint& point : points) {
    places.resize(std::max(places.size(), point.coordinates.size()));
    for (std::size_t i = 0; i < point.coordinates.size(); ++i) places[i].add(point.coordinates[i]);
  }
  std::vector<std::vector<double>> ranks;
  for (const ResultPoint& point : points) {
    std::vector<double>& rank = ranks.emplace_back();
    for (std::size_t i = 0; i < point.coordinates.size(); ++i)
      rank.push_back(places[i].of(point.coordinates[i].label));
    rank.push_back(static_cast<double>(point.seed.value_or(0)));
  }
  std::vector<std::size_t> order(points.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) { return ranks[a] < ranks[b]; });
  std::vector<ResultPoint> sorted;
  for (const std::size_t i : order) sorted.push_back(std::move(points[i]));
  points = std::move(sorted);
}

}  // namespace simsgd::live
