#include "scenarios/language/schema.hpp"

#include <nlohmann/json.hpp>

#include "scenarios/language/errors.hpp"
#include "scenarios/language/explain.hpp"
#include "scenarios/language/schema_parts.hpp"
#include "scenarios/language/sections.hpp"
#include "sim/base/limits.hpp"

namespace simsgd {

namespace {

/// What a scenario says of itself, beyond its sections.
struct RootSection {
  std::optional<std::string> name;
  std::string description;
  std::uint64_t seed = Job().seed;
  enum class Computing { real, emulated };
  std::optional<Computing> compute;

  void fields(Fields& f) {
    f.text("name", name, "What reports call it").by_rule("the file's name");
    f.text("description", description, "What the scenario shows");
    f.whole("seed", seed, "Seed of all random numbers");
    f.choice(
         "compute", compute, {{"real", Computing::real}, {"emulated", Computing::emulated}},
         "How long computing takes in a real run (simsgd-measure). real: as long as it takes there; emulated: the workload's time, as in a simulation, while values are computed beside it")
        .by_rule("real in a real run; a simulation always takes the workload's time");
  }
};

Json composed() {
  RootSection root;
  Json all = schema::of(root, "A scenario: distributed training to be simulated");
  all["properties"].update({{"cluster", schema::cluster()},
                            {"workload", schema::workload()},
                            {"learner", schema::learner()},
                            {"optimizer", schema::optimizer()},
                            {"algorithm", schema::algorithm()},
                            {"stragglers", schema::stragglers()},
                            {"failures", schema::failures()},
                            {"network", schema::network()},
                            {"stop", schema::stop()},
                            {"target", schema::target()},
                            {"record", schema::record()},
                            {"expected", schema::expected()},
                            {"axes", schema::axes()},
                            {"exclude", schema::exclude()},
                            {"seeds", schema::seeds()},
                            {"circumstances", schema::circumstances()},
                            {"claim", schema::claim()}});
  all["required"] = {"cluster", "workload", "algorithm", "stop"};
  return all;
}

/// Numbers without an upper bound of their own get one: what is larger overflows on its way through a run.
void bound_numbers(Json& node) {
  if (!node.is_structured()) return;
  if (node.is_object() && node.contains("description") && !node.contains("maximum") &&
      !node.contains("exclusiveMaximum") &&
      (node.contains("x-quantity") || node.value("type", Json()) == "number"))
    node["maximum"] = largest_of(node.value("x-quantity", ""));
  for (const auto& part : node.items())
    if (part.key() != "default" && part.key() != "enum" && part.key() != "const" &&
        part.key() != "expected" && part.key() != "examples")
      bound_numbers(part.value());
}

void collect_choices(const Json& node, const std::string& pointer, std::set<std::string>& all) {
  if (const auto forms = node.find("oneOf"); forms != node.end())
    for (const Json& form : *forms) {
      if (name_of_form(form) != nullptr) all.insert(pointer);
      collect_choices(form, pointer, all);
    }
  if (const auto properties = node.find("properties"); properties != node.end())
    for (const auto& property : properties->items())
      collect_choices(property.value(), child(pointer, property.key()), all);
}

}  // namespace

double largest_of(const std::string& dimension) {
  if (dimension == "time") return kLongestTime_s;
  if (dimension == "bytes" || dimension == "bandwidth") return 1e18;
  if (dimension == "flop" || dimension == "flops") return 1e24;
  return kLargestNumber;
}

const Json& resolved_schema() {
  static const Json schema = [] {
    Json all = composed();
    bound_numbers(all);
    return all;
  }();
  return schema;
}

const std::set<std::string>& named_choices() {
  static const std::set<std::string> choices = [] {
    std::set<std::string> all;
    collect_choices(resolved_schema(), "", all);
    return all;
  }();
  return choices;
}

}  // namespace simsgd
