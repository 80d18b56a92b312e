#include "analysis/tables/grid.hpp"

#include <algorithm>

#include "sim/base/check.hpp"

namespace simsgd::tables {

namespace {

Place place_of(const ResultPoint& point, const std::vector<std::string>& axes) {
  Place place;
  for (const std::string& axis : axes) place.push_back(value_on(point, axis).label);
  return place;
}

}  // namespace

Grid::Grid(const Selection& selection, std::vector<std::string> axes)
    : selection_(selection), axes_(std::move(axes)) {
  for (const ResultPoint* point : selection.points()) points_[place_of(*point, axes_)].push_back(point);
  std::vector<std::map<std::string, std::size_t>> order;
  for (const std::string& axis : axes_) {
    order.emplace_back();
    for (const AxisValue& value : selection.values(axis))
      order.back().emplace(value.label, order.back().size());
  }
  std::map<std::vector<std::size_t>, Place> sorted;
  for (const auto& each : points_) {
    std::vector<std::size_t> rank;
    for (std::size_t i = 0; i < axes_.size(); ++i) rank.push_back(order[i].at(each.first[i]));
    sorted[rank] = each.first;
  }
  for (auto& each : sorted) places_.push_back(std::move(each.second));
}

const std::vector<const ResultPoint*>& Grid::points(const Place& place) const {
  static const std::vector<const ResultPoint*> kNone;
  const auto found = points_.find(place);
  return found == points_.end() ? kNone : found->second;
}

std::vector<Sample> Grid::samples(const Place& place, const Measure& measure) const {
  std::vector<Sample> samples;
  for (const ResultPoint* point : points(place)) samples.push_back(sample_of(selection_, *point, measure));
  return samples;
}

std::vector<nlohmann::ordered_json> Grid::values(const Place& place) const {
  CHECK(has(place), "A place in a grid has points.");
  std::vector<nlohmann::ordered_json> values;
  for (const std::string& axis : axes_) values.push_back(record_of(value_on(*points(place).front(), axis)));
  return values;
}

std::vector<std::string> Grid::mixed() const {
  std::vector<std::string> mixed;
  for (const std::string& axis : selection_.varying())
    if (std::any_of(points_.begin(), points_.end(), [&](const auto& each) {
          const auto label_of = [&](const ResultPoint* point) { return value_on(*point, axis).label; };
          return std::any_of(each.second.begin(), each.second.end(), [&](const ResultPoint* point) {
            return label_of(point) != label_of(each.second.front());
          });
        }))
      mixed.push_back(axis);
  return mixed;
}

}  // namespace simsgd::tables
