#include "scenarios/language/axes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "sim/base/check.hpp"
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
      error(child(at, "pointer"), "is not a JSON pointer", "Write one such as \"/cluster/workers\"");
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
      error(child(at, key), "has no values between its bounds",
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
          error(where, "is not a JSON pointer", "Write keys such as \"/cluster/workers\"");
        each.sets.push_back({pointer, set, origins_.at(where)});
        if (std::ranges::find(made.pointers, pointer) == made.pointers.end())
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
      error("/seeds/until/half_width", "is not a share of the mean", "Write one such as \"5 %\" or 0.05");
    if (rule.at_least > rule.at_most)
      error("/seeds/at_least", "is more than \"at_most\"", "Write at most as many");
    return rule;
  }

  const Json& scenario_;
  const Provenance& origins_;
  ErrorList& errors_;
};

void add_value(StudyPoint& point, const StudyAxis& axis, const AxisValue& value) {
  for (std::size_t c = 0; c < axis.columns.size(); ++c) {
    point.coordinates.push_back(value.coordinates.at(c));
    point.shown.emplace_back(axis.columns[c], value.labels.at(c));
    point.label += (point.label.empty() ? "" : ", ") + axis.columns[c] + "=" + value.labels[c];
  }
}

/// The axes as they are written, and that of the seeds last; `rule` receives how many seeds there may be.
std::vector<StudyAxis> read_axes(const Json& scenario, const Provenance& origins, ErrorList& errors,
                                 std::optional<SeedRule>& rule) {
  AxesReading reading(scenario, origins, errors);
  std::vector<StudyAxis> axes;
  const Json list = scenario.value("axes", Json::array());
  for (std::size_t i = 0; i < list.size(); ++i) axes.push_back(reading.axis(list[i], child("/axes", i)));
  if (scenario.contains("seeds")) axes.push_back(reading.seeds(scenario["seeds"], rule));
  return axes;
}

/// Walks all combinations, the last axis fastest, and keeps those that no condition excludes.
class Expansion {
 public:
  Expansion(const Json& scenario, const Provenance& origins, const SectionReader& read, ErrorList& errors)
      : scenario_(scenario), origins_(origins), errors_(errors), conditions_(read) {}

  ExpandedAxes run() {
    axes_ = read_axes(scenario_, origins_, errors_, made_.seed_rule);
    exclude_ = scenario_.value("exclude", Json::array());
    check_pointers();
    read_circumstances();
    check_size();
    check_conditions();
    if (!errors_.empty()) return {};
    for (const StudyAxis& axis : axes_)
      made_.pointers.insert(made_.pointers.end(), axis.pointers.begin(), axis.pointers.end());
    descend();
    check_what_was_found();
    return std::move(made_);
  }

 private:
  void error(const std::string& pointer, const std::string& problem, const std::string& remedy) {
    errors_.add(scenario_, origins_, pointer, problem, remedy);
  }

  bool has_seeds() const { return scenario_.contains("seeds"); }

  void check_pointers() {
    std::vector<std::string> seen, names;
    for (const StudyAxis& axis : axes_) {
      for (const std::string& pointer : axis.pointers) {
        if (std::ranges::find(seen, pointer) != seen.end())
          error(pointer == "/seed" && has_seeds() ? "/seeds" : "/axes",
                fmt::format("varies {} twice", pointer), "Give each pointer one axis");
        seen.push_back(pointer);
      }
      for (const std::string& name : axis.columns) {
        if (is_named(axis) && std::ranges::find(names, name) != names.end())
          error(axis.at, fmt::format("has the name of another axis, \"{}\"", name),
                "Give it another \"name\"");
        names.push_back(name);
      }
    }
  }

  /// Names of axes, or pointers that they vary.
  void read_circumstances() {
    const auto written = scenario_.find("circumstances");
    if (written == scenario_.end()) return;
    made_.circumstances.emplace();
    std::vector<std::string> names;
    for (const StudyAxis& axis : axes_) names.insert(names.end(), axis.columns.begin(), axis.columns.end());
    for (std::size_t i = 0; i < written->size(); ++i) {
      const auto wanted = (*written)[i].get<std::string>();
      const std::size_t before = made_.circumstances->size();
      for (const StudyAxis& axis : axes_)
        for (std::size_t column = 0; column < axis.columns.size(); ++column)
          if (axis.columns[column] == wanted ||
              (axis.columns.size() == 1 && std::ranges::find(axis.pointers, wanted) != axis.pointers.end()) ||
              (axis.columns.size() == axis.pointers.size() && axis.pointers[column] == wanted))
            made_.circumstances->push_back(axis.columns[column]);
      if (made_.circumstances->size() > before) continue;
      error(child("/circumstances", i), "is not an axis of this study",
            suggestion(wanted, names) + "Name " + one_of(names));
    }
  }

  bool is_named(const StudyAxis& axis) const {
    const Json* written = value_at(scenario_, axis.at);
    return written != nullptr && written->is_object() && written->contains("name");
  }

  void check_size() {
    std::size_t points = 1;
    for (const StudyAxis& axis : axes_) {
      if (axis.values.empty()) continue;  // its own error
      if (points > kMostPoints / axis.values.size())
        return error("/axes", fmt::format("make more than {} points", kMostPoints), "Give fewer values");
      points *= axis.values.size();
    }
  }

  void check_conditions() {
    const auto complain = [this](const std::string& at, const std::string& problem,
                                 const std::string& remedy) { error(at, problem, remedy); };
    for (std::size_t i = 0; i < axes_.size(); ++i)
      if (!axes_[i].when.is_null())
        conditions_.check(axes_[i].when, child(axes_[i].at, "when"), axes_, i, complain);
    conditions_.check(exclude_, "/exclude", axes_, axes_.size(), complain);
  }

  void check_what_was_found() {
    for (const auto& [at, pointer] : conditions_.never_found())
      error(at, fmt::format("asks for {}, which no point has", pointer), "Name a setting of the scenario");
    if (made_.points.empty() && errors_.empty()) error("/exclude", "leaves out every point", "Exclude fewer");
  }

  void descend() {
    const std::size_t axis = chosen_.size();
    if (axis == axes_.size()) return leaf();
    const bool seeds = has_seeds() && axis + 1 == axes_.size();
    if (seeds) ++cell_;
    const bool varies = axes_[axis].when.is_null() ||
                        conditions_.hold(axes_[axis].when, child(axes_[axis].at, "when"), {axes_, chosen_});
    chosen_.push_back(axes_[axis].values.size());
    for (std::size_t i = 0; varies && i < axes_[axis].values.size(); ++i) {
      chosen_.back() = i;
      descend();
    }
    if (!varies) descend();
    chosen_.pop_back();
  }

  void leaf() {
    const Chosen chosen{axes_, chosen_};
    if (!exclude_.empty() && conditions_.hold(exclude_, "/exclude", chosen)) {
      ++made_.left_out;
      return;
    }
    StudyPoint& point = made_.points.emplace_back();
    for (std::size_t i = 0; i < axes_.size(); ++i) add_value(point, axes_[i], chosen.of(i));
    point.cell = has_seeds() ? cell_ - 1 : made_.points.size() - 1;
    const auto& rule = made_.seed_rule;
    point.optional = rule && chosen_.back() >= static_cast<std::size_t>(rule->at_least);
  }

  const Json& scenario_;
  const Provenance& origins_;
  ErrorList& errors_;
  Conditions conditions_;
  std::vector<StudyAxis> axes_;
  Json exclude_;
  std::vector<std::size_t> chosen_;  // of each axis so far, the index of its value
  std::size_t cell_ = 0;
  ExpandedAxes made_;
};

}  // namespace

ExpandedAxes expand_axes(const Json& scenario, const Provenance& origins, const SectionReader& read,
                         ErrorList& errors) {
  return Expansion(scenario, origins, read, errors).run();
}

StudyAxes::StudyAxes(const Study& study) : study_(study) {
  ErrorList errors;
  std::optional<SeedRule> rule;
  axes_ = read_axes(study.written->keys, study.written->origins, errors, rule);
  CHECK(errors.empty(), "the axes of a study were read before");
}

bool StudyAxes::has_seeds() const { return study_.written->keys.contains("seeds"); }

const Json& StudyAxes::written(std::size_t axis) const {
  return study_.written->keys.at(Json::json_pointer(axes_.at(axis).at));
}

std::optional<StudyPoint> StudyAxes::point(const std::vector<AxisValue>& values) const {
  CHECK(values.size() == axes_.size(), "a value of each axis");
  Conditions conditions([this](const std::string& section, const std::vector<Assignment>& assignments) {
    return section_of(study_, section, assignments);
  });
  std::vector<StudyAxis> chosen_axes;
  std::vector<std::size_t> chosen;
  StudyPoint point;
  for (std::size_t i = 0; i < axes_.size(); ++i) {
    const StudyAxis& axis = axes_[i];
    const bool varies =
        axis.when.is_null() || conditions.hold(axis.when, child(axis.at, "when"), {chosen_axes, chosen});
    chosen_axes.push_back({axis.columns, axis.pointers, {values[i]}, axis.when, axis.at, axis.absent});
    chosen.push_back(varies ? 0 : 1);
    add_value(point, axis, varies ? values[i] : axis.absent);
  }
  const Json exclude = study_.written->keys.value("exclude", Json::array());
  if (!exclude.empty() && conditions.hold(exclude, "/exclude", {chosen_axes, chosen})) return std::nullopt;
  return point;
}

}  // namespace simsgd
