#include "scenarios/language/axes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "scenarios/language/axis_labels.hpp"

namespace simsgd {

namespace {

/// A bound: "10 Gbps" is 10 and "Gbps", 8 is 8 and "".
struct Bound {
  double number = 0;
  std::string unit;
  bool whole = false;
};

std::optional<Bound> read_bound(const Json& value) {
  if (value.is_number()) return Bound{value.get<double>(), "", value.is_number_integer()};
  const auto text = value.get<std::string>();
  Bound bound;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), bound.number);
  if (error != std::errc()) return std::nullopt;
  bound.unit = std::string(rest, text.data() + text.size());
  bound.unit.erase(0, bound.unit.find_first_not_of(' '));
  return bound;
}

Json written(double number, const Bound& like, bool whole) {
  if (!like.unit.empty()) return fmt::format("{} {}", number, like.unit);
  if (whole) return static_cast<std::int64_t>(std::llround(number));
  return number;
}

/// One way in which a study's pointers vary together.
struct Axis {
  std::vector<std::string> pointers;
  std::vector<std::vector<Assignment>> values;  ///< of each pointer in turn
};

class Expansion {
 public:
  Expansion(const Json& scenario, const Provenance& origins, ErrorList& errors)
      : scenario_(scenario), origins_(origins), errors_(errors) {}

  std::vector<StudyPoint> run() {
    std::vector<Axis> axes;
    const Json list = scenario_.value("axes", Json::array());
    for (std::size_t i = 0; i < list.size(); ++i) axes.push_back(read(list[i], child("/axes", i)));
    if (scenario_.contains("seeds")) axes.push_back(seeds(scenario_["seeds"]));
    check_pointers(axes);
    if (!errors_.empty()) return {};
    return label(grid(axes));
  }

 private:
  void error(const std::string& pointer, const std::string& problem, const std::string& remedy) {
    errors_.add(scenario_, origins_, pointer, problem, remedy);
  }

  Axis read(const Json& axis, const std::string& pointer) {
    if (axis.contains("zip")) return zip(axis["zip"], child(pointer, "zip"));
    const auto target = axis["pointer"].get<std::string>();
    if (target.empty() || target[0] != '/')
      error(child(pointer, "pointer"), "is no JSON pointer", "Write one such as \"/cluster/workers\"");
    Axis read;
    read.pointers.push_back(target);
    const std::string key = axis.contains("values")  ? "values"
                            : axis.contains("range") ? "range"
                                                     : "log_range";
    const bool listed = key == "values";
    const std::vector<Json> values = listed           ? axis["values"].get<std::vector<Json>>()
                                     : key == "range" ? linear_range(axis["range"])
                                                      : log_range(axis["log_range"]);
    if (values.empty())
      error(child(pointer, key), "has bounds between which there is nothing",
            key == "range" ? "Give a step that leads from the first bound to the second, all in one unit"
                           : "Give two bounds above 0, in one unit");
    for (std::size_t i = 0; i < values.size(); ++i) {
      const std::string at = listed ? child(child(pointer, key), i) : child(pointer, key);
      read.values.push_back({{target, values[i], origins_.at(at)}});
    }
    return read;
  }

  Axis zip(const Json& axes, const std::string& pointer) {
    Axis zipped;
    for (std::size_t i = 0; i < axes.size(); ++i) {
      const Axis each = read(axes[i], child(pointer, i));
      if (i == 0) zipped.values.resize(each.values.size());
      if (each.values.size() != zipped.values.size()) {
        error(
            child(pointer, i),
            fmt::format("has {} values, and the first one has {}", each.values.size(), zipped.values.size()),
            "Give zipped axes the same number of values");
        return zipped;
      }
      zipped.pointers.push_back(each.pointers[0]);
      for (std::size_t v = 0; v < each.values.size(); ++v) zipped.values[v].push_back(each.values[v][0]);
    }
    return zipped;
  }

  Axis seeds(const Json& seeds) {
    Axis axis;
    axis.pointers.emplace_back("/seed");
    if (seeds.is_array()) {
      for (std::size_t i = 0; i < seeds.size(); ++i)
        axis.values.push_back({{"/seed", seeds[i], origins_.at(child("/seeds", i))}});
    } else {
      for (std::int64_t seed = 1; seed <= seeds.get<std::int64_t>(); ++seed)
        axis.values.push_back({{"/seed", seed, origins_.at("/seeds")}});
    }
    return axis;
  }

  void check_pointers(const std::vector<Axis>& axes) {
    std::vector<std::string> seen;
    for (const Axis& axis : axes) {
      for (const std::string& pointer : axis.pointers) {
        if (std::find(seen.begin(), seen.end(), pointer) != seen.end())
          error(pointer == "/seed" && scenario_.contains("seeds") ? "/seeds" : "/axes",
                fmt::format("varies {} twice", pointer), "Give each pointer one axis");
        seen.push_back(pointer);
      }
    }
  }

  std::vector<StudyPoint> grid(const std::vector<Axis>& axes) {
    std::vector<StudyPoint> points(1);
    for (const Axis& axis : axes) {
      if (points.size() * axis.values.size() > kMostPoints) {
        error("/axes", fmt::format("make more than {} points", kMostPoints), "Give fewer values");
        return {};
      }
      std::vector<StudyPoint> next;
      for (const StudyPoint& point : points) {
        for (const std::vector<Assignment>& values : axis.values) {
          next.push_back(point);
          next.back().coordinates.insert(next.back().coordinates.end(), values.begin(), values.end());
        }
      }
      points = std::move(next);
    }
    return points;
  }

  /// Values are called by their names, and by what else tells them from others of that name.
  static std::vector<StudyPoint> label(std::vector<StudyPoint> points) {
    for (std::size_t c = 0; !points.empty() && c < points.front().coordinates.size(); ++c) {
      std::map<std::string, const Json*> distinct;
      for (const StudyPoint& point : points)
        distinct.emplace(point.coordinates[c].value.dump(), &point.coordinates[c].value);
      const std::map<std::string, std::string> texts = value_labels(distinct);
      for (StudyPoint& point : points) {
        const Assignment& each = point.coordinates[c];
        point.shown.emplace_back(axis_label(each.pointer), texts.at(each.value.dump()));
        point.label += (c == 0 ? "" : ", ") + point.shown.back().first + "=" + point.shown.back().second;
      }
    }
    return points;
  }

  const Json& scenario_;
  const Provenance& origins_;
  ErrorList& errors_;
};

}  // namespace

std::vector<StudyPoint> expand_axes(const Json& scenario, const Provenance& origins, ErrorList& errors) {
  return Expansion(scenario, origins, errors).run();
}

std::vector<Json> log_range(const Json& range) {
  const auto from = read_bound(range["from"]), to = read_bound(range["to"]);
  if (!from || !to || from->unit != to->unit || !(from->number > 0) || !(to->number > 0)) return {};
  const auto points = range["points"].get<int>();
  std::vector<Json> values;
  for (int i = 0; i < points; ++i) {
    const double exact = i == 0 ? from->number
                         : i + 1 == points
                             ? to->number
                             : from->number * std::pow(to->number / from->number, i / (points - 1.0));
    // 12 digits: 10 and not 9.999999999999998
    const double number = std::stod(fmt::format("{:.12g}", exact));
    const Json value = written(number, *from, from->whole && to->whole);
    if (values.empty() || values.back() != value) values.push_back(value);
  }
  return values;
}

std::vector<Json> linear_range(const Json& range) {
  const auto from = read_bound(range["from"]), to = read_bound(range["to"]), step = read_bound(range["step"]);
  if (!from || !to || !step || from->unit != to->unit || from->unit != step->unit) return {};
  const double steps = (to->number - from->number) / step->number;
  if (!(steps >= 0) || !(steps < static_cast<double>(kMostPoints))) return {};
  std::vector<Json> values;
  for (std::int64_t i = 0; static_cast<double>(i) <= steps + 1e-9; ++i) {
    const double number =
        std::stod(fmt::format("{:.12g}", from->number + static_cast<double>(i) * step->number));
    values.push_back(written(number, *from, from->whole && to->whole && step->whole));
  }
  return values;
}

}  // namespace simsgd
