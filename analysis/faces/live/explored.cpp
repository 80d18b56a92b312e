#include "analysis/faces/live/explored.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "analysis/runs/run_key.hpp"
#include "scenarios/language/axis_values.hpp"

namespace simsgd::live {

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
  std::sort(study_keys_.begin(), study_keys_.end());
  for (ResultStudy& each : store.studies()) {
    if (each.name != sweep_.name || each.file != sweep_.file) continue;
    ids_.push_back(each.id);
    for (ResultPoint& point : each.points)
      if (!has(point.key)) sweep_.points.push_back(std::move(point));
  }
}

bool ExploredPoints::has(const std::string& key) const {
  return std::binary_search(study_keys_.begin(), study_keys_.end(), key) ||
         std::any_of(sweep_.points.begin(), sweep_.points.end(),
                     [&](const ResultPoint& each) { return each.key == key; });
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
  const auto own = std::find_if(studies.begin(), studies.end(),
                                [this](const ResultStudy& each) { return each.id == study_id_; });
  if (own == studies.end()) return;
  std::set<std::string> seen;
  for (const ResultPoint& point : own->points) seen.insert(point.key);
  bool added = false;
  for (ResultStudy& each : studies) {
    if (std::find(ids_.begin(), ids_.end(), each.id) == ids_.end()) continue;
    for (ResultPoint& point : each.points) {
      if (!seen.insert(point.key).second) continue;
      own->points.push_back(std::move(point));
      added = true;
    }
  }
  if (added) order_by_values(own->points);
  std::erase_if(studies, [this](const ResultStudy& each) {
    return std::find(ids_.begin(), ids_.end(), each.id) != ids_.end();
  });
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
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return ranks[a] < ranks[b]; });
  std::vector<ResultPoint> sorted;
  for (const std::size_t i : order) sorted.push_back(std::move(points[i]));
  points = std::move(sorted);
}

}  // namespace simsgd::live
