// The axes as a study's file has them: lists, ranges, zips, named values, draws, seeds.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "scenarios/language/axes.hpp"
#include "scenarios/language/axis_labels.hpp"
#include "scenarios/language/axis_ranges.hpp"
#include "sim/base/units.hpp"

namespace simsgd {

namespace {

constexpr const char* kAbsent = "-";

class AxesReading {
 public:
  AxesReading(const Json& scenario, const Provenance& origins, ErrorList& errors)
      : scenario_(scenario), origins_(origins), errors_(errors) {}

  StudyAxis axis(const Json& json, const std::string& at) {
    StudyAxis made = json.contains("zip")       ? zip(json["zip"], child(at, "zip"))
                     : json.contains("random")  ? draws(json, "random", at)
                     : json.contains("sobol")   ? draws(json, "sobol", at)
                     : json.contains("pointer") ? simple(json, at)
                                                : named(json, at);
    made.at = at;
    made.when = json.value("when", Json());
    for (std::size_t i = 0; i < made.columns.size(); ++i) {
      made.absent.coordinates.push_back({"", Json::object(), origins_.at(at)});
      made.absent.labels.emplace_back(kAbsent);
    }
    return made;
  }

  StudyAxis seeds(const Json& seeds, std::optional<SeedRule>& rule) {
    StudyAxis made;
    made.at = "/seeds";
    made.columns.emplace_back("seed");
    made.pointers.emplace_back("/seed");
    if (seeds.is_array()) {
      for (std::size_t i = 0; i < seeds.size(); ++i)
        add(made, {"/seed", seeds[i], origins_.at(child("/seeds", i))});
    } else {
      if (seeds.is_object()) rule = seed_rule(seeds);
      const std::int64_t count = rule ? rule->at_most : seeds.get<std::int64_t>();
      for (std::int64_t seed = 1; seed <= count; ++seed) add(made, {"/seed", seed, origins_.at("/seeds")});
    }
    name_values(made);
    return made;
  }

 private:
  void error(const std::string& pointer, const std::string& problem, const std::string& remedy) {
    errors_.add(scenario_, origins_, pointer, problem, remedy);
  }

  std::string pointer_of(const Json& axis, const std::string& at) {
    const auto pointer = axis["pointer"].get<std::string>();
    if (!is_setting(pointer))
      error(child(at, "pointer"), "is no JSON pointer", "Write one such as \"/cluster/workers\"");
    return pointer;
  }

  static bool is_setting(const std::string& pointer) { return pointer.size() > 1 && pointer[0] == '/'; }

  static std::string column_of(const Json& axis, const std::string& pointer) {
    if (axis.contains("name")) return axis["name"].get<std::string>();
    return pointer.empty() ? "" : axis_label(pointer);
  }

  static void add(StudyAxis& axis, const Assignment& value) { axis.values.push_back({{value}, {}, {value}}); }

  /// Values are called by their names, and by what else tells them from others of that name.
  static void name_values(StudyAxis& axis) {
    for (std::size_t c = 0; c < axis.columns.size(); ++c) {
      std::map<std::string, const Json*> distinct;
      for (const AxisValue& each : axis.values)
        distinct.emplace(each.coordinates[c].value.dump(), &each.coordinates[c].value);
      const std::map<std::string, std::string> texts = value_labels(distinct);
      for (AxisValue& each : axis.values) each.labels.push_back(texts.at(each.coordinates[c].value.dump()));
    }
  }

  StudyAxis simple(const Json& axis, const std::string& at) {
    StudyAxis made;
    made.pointers.push_back(pointer_of(axis, at));
    made.columns.push_back(column_of(axis, made.pointers[0]));
    const std::string key = axis.contains("values")  ? "values"
                            : axis.contains("range") ? "range"
                                                     : "log_range";
    const bool listed = key == "values";
    const std::vector<Json> values = listed           ? axis["values"].get<std::vector<Json>>()
                                     : key == "range" ? linear_range(axis["range"])
                                                      : log_range(axis["log_range"]);
    if (values.empty())
      error(child(at, key), "has bounds between which there is nothing",
            key == "range" ? "Give a step that leads from the first bound to the second, all in one unit"
                           : "Give two bounds above 0, in one unit");
    for (std::size_t i = 0; i < values.size(); ++i) {
      const std::string place = listed ? child(child(at, key), i) : child(at, key);
      add(made, {made.pointers[0], values[i], origins_.at(place)});
    }
    name_values(made);
    return made;
  }

  StudyAxis zip(const Json& axes, const std::string& at) {
    StudyAxis zipped;
    for (std::size_t i = 0; i < axes.size(); ++i) {
      const StudyAxis each = simple(axes[i], child(at, i));
      if (i == 0) zipped.values.resize(each.values.size());
      if (each.values.size() != zipped.values.size()) {
        error(
            child(at, i),
            fmt::format("has {} values, and the first one has {}", each.values.size(), zipped.values.size()),
            "Give zipped axes the same number of values");
        return zipped;
      }
      zipped.pointers.push_back(each.pointers[0]);
      zipped.columns.push_back(each.columns[0]);
      for (std::size_t v = 0; v < each.values.size(); ++v) {
        AxisValue& value = zipped.values[v];
        value.coordinates.push_back(each.values[v].coordinates[0]);
        value.labels.push_back(each.values[v].labels[0]);
        value.sets.push_back(each.values[v].sets[0]);
      }
    }
    return zipped;
  }

  /// One column, whatever each value sets; its coordinate has the empty pointer and all that is set.
  StudyAxis named(const Json& axis, const std::string& at) {
    StudyAxis made;
    made.columns.push_back(column_of(axis, ""));
    std::set<std::string> labels;
    for (std::size_t i = 0; i < axis["values"].size(); ++i) {
      const Json& value = axis["values"][i];
      const std::string place = child(child(at, "values"), i);
      const auto label = value["label"].get<std::string>();
      if (!labels.insert(label).second)
        error(child(place, "label"), "is the label of two values", "Give each value its own");
      Assignment coordinate{"", value["set"], origins_.at(place)};
      AxisValue& each = made.values.emplace_back();
      for (const auto& [pointer, set] : value["set"].items()) {
        const std::string where = child(child(place, "set"), pointer);
        if (!is_setting(pointer))
          error(where, "is no JSON pointer", "Write keys such as \"/cluster/workers\"");
        each.sets.push_back({pointer, set, origins_.at(where)});
        if (std::find(made.pointers.begin(), made.pointers.end(), pointer) == made.pointers.end())
          made.pointers.push_back(pointer);
      }
      each.coordinates.push_back(std::move(coordinate));
      each.labels.push_back(label);
    }
    return made;
  }

  StudyAxis draws(const Json& axis, const std::string& method, const std::string& at) {
    StudyAxis made;
    const Json& dimensions = axis[method];
    std::vector<DrawnRange> ranges;
    for (std::size_t d = 0; d < dimensions.size(); ++d) {
      const std::string place = child(child(at, method), d);
      made.pointers.push_back(pointer_of(dimensions[d], place));
      made.columns.push_back(column_of(dimensions[d], made.pointers.back()));
      const std::optional<DrawnRange> range = DrawnRange::read(dimensions[d]);
      if (range) {
        ranges.push_back(*range);
      } else {
        error(place, "has bounds between which nothing can be drawn",
              "Give \"from\" below \"to\", in one unit, and above 0 where the scale is log");
      }
    }
    if (ranges.size() < dimensions.size()) return made;
    const auto count = axis["draws"].get<std::size_t>();
    for (const std::vector<double>& shares :
         drawn_shares(method, count, ranges.size(), axis["seed"].get<std::uint64_t>())) {
      AxisValue& value = made.values.emplace_back();
      for (std::size_t d = 0; d < ranges.size(); ++d)
        value.coordinates.push_back(
            {made.pointers[d], ranges[d].at(shares[d]), origins_.at(child(child(at, method), d))});
      value.sets = value.coordinates;
    }
    name_values(made);
    return made;
  }

  SeedRule seed_rule(const Json& json) {
    SeedRule rule{json["at_least"], json["at_most"], json["until"]["metric"], 0};
    const Json& width = json["until"]["half_width"];
    const auto bound = read_bound(width);
    if (bound && bound->number > 0 && (bound->unit == "%" || width.is_number()))
      rule.half_width = bound->unit == "%" ? bound->number / 100 : bound->number;
    else
      error("/seeds/until/half_width", "is no share of the mean", "Write one such as \"5 %\" or 0.05");
    if (rule.at_least > rule.at_most)
      error("/seeds/at_least", "is more than \"at_most\"", "Write at most as many");
    return rule;
  }

  const Json& scenario_;
  const Provenance& origins_;
  ErrorList& errors_;
};

}  // namespace

std::vector<StudyAxis> read_axes(const Json& scenario, const Provenance& origins, ErrorList& errors,
                                 std::optional<SeedRule>& rule) {
  AxesReading reading(scenario, origins, errors);
  std::vector<StudyAxis> axes;
  const Json list = scenario.value("axes", Json::array());
  for (std::size_t i = 0; i < list.size(); ++i) axes.push_back(reading.axis(list[i], child("/axes", i)));
  if (scenario.contains("seeds")) axes.push_back(reading.seeds(scenario["seeds"], rule));
  return axes;
}

}  // namespace simsgd
