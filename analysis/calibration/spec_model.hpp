// The sections of a calibration that describe what may be fitted, as their JSON has them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "analysis/calibration/spec_data.hpp"
#include "sim/base/units.hpp"

namespace simsgd::spec_sections {

inline double bound_of(const std::string& key, const RawValue& raw, Dimension& dimension) {
  if (raw.json().is_number()) return raw.json().get<double>();
  for (const Dimension each :
       {Dimension::time_s, Dimension::rate_Bps, Dimension::bytes, Dimension::rate_flops}) {
    const ParsedQuantity parsed = parse_quantity(raw.json().get<std::string>(), each);
    if (!parsed.ok) continue;
    dimension = each;
    return parsed.value;
  }
  reject(key, "is not a quantity", "Write a number in SI units, or text such as \"5 us\" or \"25 GB/s\"");
}

inline Json bound_schema(const std::string& meaning) {
  return {{"type", {"number", "string"}}, {"description", meaning}};
}

struct ParameterSection {
  ParameterSpec parameter;
  RawValue low, high, where;
  using Scales = ParameterSpec::Scales;
  std::optional<Scales> scales;

  void fields(Fields& f) {
    f.text("name", parameter.name, "What reports call it").required();
    f.list("pointers", parameter.pointers, "Numbers of the scenario that are set to it", "A JSON pointer")
        .required()
        .least_items(1);
    f.list("factors", parameter.factors, "Each pointer is set to so many times it", "A factor")
        .items_above(0);
    f.raw("low", low, bound_schema("Least value that is possible")).required();
    f.raw("high", high, bound_schema("Largest value that is possible, such as the link's own bandwidth"))
        .required();
    f.choice(
         "scales", scales,
         {{"with_time", Scales::with_time},
          {"against_time", Scales::against_time},
          {"neither", Scales::neither}},
         "How the parameter moves with an error of the model that makes everything slower: times with_time, rates against_time")
        .by_rule("by its unit: times with_time, bandwidths against_time, else neither");
    f.text("source", parameter.source, "Where its bounds come from");
    f.raw("where", where,
          Selection::schema("Measurements that go with it, if not all: only in their scenarios is it set"));
    f.text(
        "each", parameter.each,
        "A column, or several with commas between: there is a parameter for each of their values among what is fitted, such as one factor for each vendor. \"\": one for all");
    f.number(
         "usual", parameter.usual,
         "Its value where nothing is measured. It weighs as one measurement, so that a vendor with one entry gets a factor half-way between this and what the entry says")
        .by_rule("none: only measurements tell");
  }
  ParameterSpec made() {
    parameter.where = selection_from(where);
    parameter.for_some = where.present() || !parameter.each.empty();
    Dimension dimension = Dimension::number;
    parameter.low = bound_of("low", low, dimension);
    parameter.high = bound_of("high", high, dimension);
    if (!parameter.factors.empty() && parameter.factors.size() != parameter.pointers.size())
      reject("factors", "are not as many as the pointers", "Give one for each, or none");
    if (!(parameter.high > parameter.low)) reject("high", "is not above \"low\"", "Give a range");
    if (parameter.low < 0) reject("low", "is negative", "Give at least 0");
    if (parameter.usual && !(*parameter.usual > parameter.low && *parameter.usual < parameter.high))
      reject("usual", "is not between \"low\" and \"high\"", "Give a value between them");
    parameter.scales = scales.value_or(dimension == Dimension::time_s     ? Scales::with_time
                                       : dimension == Dimension::rate_Bps ? Scales::against_time
                                                                          : Scales::neither);
    return parameter;
  }
};

struct SearchSection {
  SearchSpec search;

  void fields(Fields& f) {
    f.text("pointer", search.pointer,
           "\"segments\" of a link, or a policy such as /cluster/collectives/all_reduce")
        .required();
    f.whole("most", search.most, "Entries of the table; how many is chosen by cross-validation")
        .at_least(1)
        .at_most(8);
    f.flag("per_workers", search.per_workers, "Whether each number of workers has a table of its own");
    f.list("schedules", search.schedules, "Schedules to choose from, of a policy", "A schedule");
    f.list("parts", search.parts,
           "What is fitted of each entry of a policy: launch, step_latency, bandwidth_share, payload",
           "A key of an entry");
    f.time("least_latency", search.least_latency_s, "Least latency of a segment or a message");
    f.time("most_latency", search.most_latency_s, "Greatest latency of a segment or a message");
  }
};

inline constexpr int kMostMembers = 10000;

struct EnsembleSection {
  EnsembleSpec ensemble;
  RawValue values, where;
  std::optional<int> count;

  void fields(Fields& f) {
    f.text("name", ensemble.name, "What reports call it").required();
    f.text("pointer", ensemble.pointer, "What of the scenario is unknown").required();
    f.raw("values", values,
          {{"type", "array"},
           {"minItems", 1},
           {"description", "Its possible values, as likely as each other"}});
    f.whole("count", count, "Instead of values: 1, 2, ... so many, such as seeds")
        .at_least(1)
        .at_most(kMostMembers)
        .by_rule("none");
    f.raw("where", where,
          Selection::schema("Measurements that go with it: only these are simulated for each value"));
  }
  EnsembleSpec made() {
    ensemble.where = selection_from(where);
    if (values.present() == count.has_value())
      reject("values", "and \"count\" are both given, or both missing", "Give one of them");
    if (values.present()) ensemble.values.assign(values.json().begin(), values.json().end());
    for (int i = 1; i <= count.value_or(0); ++i) ensemble.values.emplace_back(i);
    return ensemble;
  }
};

struct ModelSection {
  ModelSpec model;
  std::vector<EnsembleSection> ensemble;
  RawValue set;
  std::vector<ParameterSection> parameters;
  std::vector<SearchSection> searches;

  void fields(Fields& f) {
    f.text("name", model.name, "What reports call it").required();
    f.raw("set", set, map_of(any_value(), "Pointers of the scenario, and their values"));
    f.objects("parameters", parameters, "What is fitted", "A parameter");
    f.objects("searches", searches, "Tables by size that are found first", "A table");
    f.objects(
        "ensemble", ensemble,
        "What is unknown and discrete: all combinations predict, each with the weight that the measurements give it",
        "Something unknown");
  }
  ModelSpec made() {
    model.set = map_from<Json>(set);
    for (ParameterSection& each : parameters) model.parameters.push_back(each.made());
    for (SearchSection& each : searches) model.searches.push_back(each.search);
    std::size_t members = 1;
    for (EnsembleSection& each : ensemble) {
      model.ensemble.push_back(each.made());
      members *= model.ensemble.back().values.size();
      if (members > kMostMembers) reject("ensemble", "has more than 10000 members", "List fewer values");
    }
    return model;
  }
};

}  // namespace simsgd::spec_sections
