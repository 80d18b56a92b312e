#include "scenarios/language/axes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace simsgd {

namespace {

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
        if (std::find(seen.begin(), seen.end(), pointer) != seen.end())
          error(pointer == "/seed" && has_seeds() ? "/seeds" : "/axes",
                fmt::format("varies {} twice", pointer), "Give each pointer one axis");
        seen.push_back(pointer);
      }
      for (const std::string& name : axis.columns) {
        if (is_named(axis) && std::find(names.begin(), names.end(), name) != names.end())
          error(axis.at, fmt::format("is called \"{}\", as another axis is", name),
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
              (axis.columns.size() == 1 &&
               std::find(axis.pointers.begin(), axis.pointers.end(), wanted) != axis.pointers.end()) ||
              (axis.columns.size() == axis.pointers.size() && axis.pointers[column] == wanted))
            made_.circumstances->push_back(axis.columns[column]);
      if (made_.circumstances->size() > before) continue;
      const std::string near = nearest(wanted, names);
      error(child("/circumstances", i), "is no axis of this study",
            (near.empty() ? "" : "Did you mean \"" + near + "\"? ") + "Name " + one_of(names));
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
    for (std::size_t i = 0; i < axes_.size(); ++i) {
      const AxisValue& value = chosen.of(i);
      for (std::size_t c = 0; c < axes_[i].columns.size(); ++c) {
        point.coordinates.push_back(value.coordinates[c]);
        point.shown.emplace_back(axes_[i].columns[c], value.labels[c]);
        point.label += (point.label.empty() ? "" : ", ") + axes_[i].columns[c] + "=" + value.labels[c];
      }
    }
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

}  // namespace simsgd
