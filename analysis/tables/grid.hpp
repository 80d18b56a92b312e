// Points of a selection by where they stand on some axes.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "analysis/tables/measure.hpp"

namespace simsgd::tables {

/// Labels on some axes, in the order of these.
using Place = std::vector<std::string>;

class Grid {
 public:
  Grid(const Selection& selection, std::vector<std::string> axes);

  const Selection& selection() const { return selection_; }
  const std::vector<std::string>& axes() const { return axes_; }
  /// Those that have points; an axis' values in the study's order, the last axis varying fastest.
  const std::vector<Place>& places() const { return places_; }
  const std::vector<const ResultPoint*>& points(const Place& place) const;
  bool has(const Place& place) const { return points_.contains(place); }
  std::vector<Sample> samples(const Place& place, const Measure& measure) const;

  /// For records: numbers where the axis has them, else labels.
  std::vector<nlohmann::ordered_json> values(const Place& place) const;

  /// Axes that differ inside a place, so that its points are not seeds of one setting.
  std::vector<std::string> mixed() const;

 private:
  const Selection& selection_;
  std::vector<std::string> axes_;
  std::vector<Place> places_;
  std::map<Place, std::vector<const ResultPoint*>> points_;
};

}  // namespace simsgd::tables
