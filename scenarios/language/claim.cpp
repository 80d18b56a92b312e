#include "scenarios/language/claim.hpp"

#include "scenarios/language/scenario_loader.hpp"
#include "scenarios/language/schema.hpp"
#include "scenarios/language/sections.hpp"
#include "scenarios/language/use.hpp"
#include "sim/recording/metrics.hpp"

namespace simsgd {

namespace {

Json condition_schema() {
  return {{"type", "object"},
          {"description", "Points where each of these pointers has this value, or one of this list"},
          {"additionalProperties", Json::object()}};
}

Json side_schema(const std::string& meaning) {
  const Json term = {
      {"type", "object"},
      {"description", "A term of a sum"},
      {"properties",
       {{"times", {{"type", "number"}, {"default", 1}, {"description", "The metric is multiplied by this"}}},
        {"where", condition_schema()}}},
      {"required", {"where"}},
      {"additionalProperties", false}};
  Json terms = schema::list("A sum of terms", term);
  terms["minItems"] = 1;
  return schema::either(meaning, {condition_schema(), std::move(terms)});
}

ClaimCondition condition_from(const Json& json) {
  ClaimCondition condition;
  for (const auto& each : json.items())
    condition[each.key()] =
        each.value().is_array() ? each.value().get<std::vector<Json>>() : std::vector<Json>{each.value()};
  return condition;
}

/// With the conditions that both sides have.
std::vector<ClaimTerm> terms_from(const Json& side, const ClaimCondition& both) {
  std::vector<ClaimTerm> terms;
  if (side.is_array())
    for (const Json& each : side)
      terms.push_back({each.value("times", 1.0), condition_from(each.at("where"))});
  else
    terms.push_back({1, condition_from(side)});
  for (ClaimTerm& term : terms) term.where.insert(both.begin(), both.end());
  return terms;
}

struct ComparisonSection {
  ClaimComparison made;
  RawValue where, of, to;
  std::vector<std::string> metrics_;

  ComparisonSection() {
    for (const Metric& metric : metrics()) metrics_.push_back(metric.name);
    made.metric = "throughput_samples_per_s";
  }

  void fields(Fields& f) {
    using Quantity = ClaimComparison::Quantity;
    using Direction = ClaimComparison::Direction;
    f.text("name", made.name, "Name in reports").required();
    f.choice(
        "metric", made.metric, metrics_,
        "The metric that is compared. A run that misses its target counts as longer than its end (time_to_target_s)");
    f.choice("quantity", made.quantity, {{"ratio", Quantity::ratio}, {"difference", Quantity::difference}},
             "The quantity is the ratio of / to, or the difference of - to");
    f.raw("where", where, condition_schema());
    f.raw("of", of,
          side_schema("What is claimed to be more, or less: a condition on points, or a sum of terms"))
        .required();
    f.raw("to", to,
          side_schema("What it is compared with. Everything that the sides do not name is equal in both"))
        .required();
    f.list("free", made.free, "Pointers in which the sides may differ; their values count as inputs",
           "A JSON pointer");
    f.choice("claimed", made.direction,
             {{"above", Direction::above},
              {"below", Direction::below},
              {"not_above", Direction::not_above},
              {"close", Direction::close}},
             "The claimed relation between the quantity and \"than\"");
    f.number("than", made.than, "The value that the quantity is compared with")
        .by_rule("1 of a ratio, 0 of a difference");
    f.number("within", made.within,
             "Sides that are claimed to be close may differ by this (relative for a ratio)")
        .above(0);
    f.number("low", made.low, "Lower end of a range that is claimed of the quantity");
    f.number("high", made.high, "Upper end of that range");
    f.number(
         "noise", made.noise,
         "Differences up to this count as noise, even without an interval over seeds (relative for a ratio)")
        .at_least(0);
    f.number("absent", made.absent, "Value in place of a metric that has none");
    f.text("along", made.along,
           "Pointer along whose values, in their order, the quantity is claimed to grow");
    f.text("measured", made.measured, "What its authors measured");
  }
};

struct ClaimSection {
  Claim claim;
  std::vector<ComparisonSection> comparisons;
  RawValue names;

  void fields(Fields& f) {
    f.text("id", claim.id, "Short name, such as W1").required();
    f.text("text", claim.text, "The claim, as a sentence").required();
    f.text("source", claim.source, "Who claims it, and where").required();
    f.text("measured", claim.measured, "What they measured").required();
    f.text("inputs", claim.inputs,
           "Why the axes have these values: what the authors do not state about the measurement")
        .required();
    f.list("for_all", claim.for_all,
           "Pointers that are not unknown inputs: the claim must hold for each of their values",
           "A JSON pointer");
    f.raw("names", names,
          {{"type", "object"},
           {"description", "Names of pointers in reports"},
           {"additionalProperties", {{"type", "string"}}}});
    f.objects("comparisons", comparisons,
              "The comparisons that the claim makes; it is reproduced where all of them hold", "A comparison")
        .required()
        .least_items(1);
    f.text("remark", claim.remark, "Explanation of the verdict");
  }
};

ClaimComparison made_of(const ComparisonSection& section) {
  ClaimComparison made = section.made;
  const bool close = made.direction == ClaimComparison::Direction::close;
  if (close != made.within.has_value())
    reject("within", close ? "is missing" : "belongs to \"claimed\": \"close\"",
           close ? "Say how far apart is still close" : "Leave it out");
  if (made.low && made.high && !(*made.low < *made.high))
    reject("high", "is not above \"low\"", "Give a range");
  if (made.quantity == ClaimComparison::Quantity::ratio && !(made.threshold() > 0))
    reject("than", "is not a ratio", "Give a number above 0");
  const ClaimCondition both =
      section.where.present() ? condition_from(section.where.json()) : ClaimCondition();
  made.of = terms_from(section.of.json(), both);
  made.to = terms_from(section.to.json(), both);
  return made;
}

}  // namespace

namespace schema {

Json claim() {
  ClaimSection section;
  return of(section, "A published statement that the points of this study test (simsgd claims)");
}

}  // namespace schema

namespace {

/// Nothing where there is no claim, or something is wrong with it, which is reported.
std::optional<Claim> read_claim(const Sourced& sourced, ErrorList& errors) {
  const auto found = sourced.value.find("claim");
  if (found == sourced.value.end()) return std::nullopt;
  const Json only = {{"type", "object"}, {"properties", {{"claim", schema::claim()}}}};
  const Json value = checked(only, Json{{"claim", *found}}, sourced.origins, {}, errors);
  if (errors.touches("/claim")) return std::nullopt;
  auto section = options_of<ClaimSection>(value["claim"]);
  if (section.names.present())
    section.claim.names = section.names.json().get<std::map<std::string, std::string>>();
  for (std::size_t i = 0; i < section.comparisons.size(); ++i) {
    try {
      section.claim.comparisons.push_back(made_of(section.comparisons[i]));
    } catch (const ParameterError& error) {
      errors.add(sourced.value, sourced.origins, child("/claim/comparisons", i) + error.key, error.problem,
                 error.remedy);
    }
  }
  return section.claim;
}

}  // namespace

void check_claim(const Sourced& sourced, ErrorList& errors) { read_claim(sourced, errors); }

Claim load_claim(const std::string& path, const Overrides& overrides) {
  JsonFiles files;
  ErrorList errors;
  const std::string file = scenario_path(path);
  const Sourced sourced = resolve_uses(files, file, assignments(overrides), named_choices(), errors);
  if (!sourced.value.contains("claim"))
    throw ConfigError({shown_name(file), "/claim", "is missing", "",
                       "Say in \"claim\" what the study is to test (simsgd list claim)"});
  std::optional<Claim> claim = read_claim(sourced, errors);
  errors.throw_if_any("/claim");
  return std::move(*claim);
}

}  // namespace simsgd
