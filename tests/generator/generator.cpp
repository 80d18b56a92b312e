#include "tests/generator/generator.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>

#include "algorithms/plugin.hpp"
#include "scenarios/language/errors.hpp"
#include "scenarios/language/schema.hpp"

namespace simsgd::test {

namespace {

/// Pointers of everything in a document but the whole.
std::vector<std::string> pointers_in(const Json& document) {
  std::vector<std::string> all;
  const std::function<void(const Json&, const std::string&)> walk = [&](const Json& node,
                                                                        const std::string& at) {
    if (!at.empty()) all.push_back(at);
    if (node.is_object())
      for (const auto& member : node.items()) walk(member.value(), child(at, member.key()));
    for (std::size_t i = 0; node.is_array() && i < node.size(); ++i) walk(node[i], child(at, i));
  };
  walk(document, "");
  return all;
}

void at_most(Json& object, const char* key, std::int64_t most) {
  if (object.is_object() && object.contains(key) && object[key].is_number_integer() && object[key] > most)
    object[key] = most;
}

const std::vector<Json>& odd_values() {
  static const std::vector<Json> values = {nullptr,
                                           true,
                                           -1,
                                           0,
                                           1,
                                           1e308,
                                           -1e308,
                                           1e-300,
                                           1e12,
                                           1e13,
                                           "",
                                           "x",
                                           "1 s",
                                           "5 parsecs",
                                           "1e400 s",
                                           "nan",
                                           "inf s",
                                           Json::array(),
                                           Json::object(),
                                           9007199254740992,
                                           2147483647,
                                           2147483648,
                                           0.5,
                                           9.5,
                                           "\x1b[2J",
                                           "a\nb",
                                           "clusters/none.json"};
  return values;
}

}  // namespace

void write_data_files(const std::string& folder) {
  const auto write = [&folder](const char* name, const std::string& text) {
    std::ofstream(folder + "/" + name, std::ios::binary) << text;
  };
  std::string table = "a,b,c,y\n";
  for (int i = 0; i < 40; ++i) table += fmt::format("{},{},{},{}\n", i % 7, i * 0.5, -i, i % 3);
  write("table.csv", table);
  write("table_bad.csv", "a,b\n1,2\n3\n");
  write("graph.dot", "graph { 0 -- 1; 1 -- 2; 2 -- 3; 3 -- 0; }\n");
  write("graph_bad.dot", "graph { 0 -- ");
  const std::string hosts = "h0 [type=host]; h1 [type=host]; h2 [type=host]; h3 [type=host]; ";
  write("network.dot",
        "graph { edge [bandwidth=\"1 GB/s\"]; " + hosts + "h0 -- s; h1 -- s; h2 -- s; h3 -- s }\n");
  write("network.xml", R"(<platform version="4.1"><zone id="z" routing="Full"><host id="a"/><host id="b"/>
    <link id="l" bandwidth="1GBps"/><route src="a" dst="b"><link_ctn id="l"/></route></zone></platform>)");
  write("trace.csv", "worker,step,delay_s\n0,1,0.01\n1,2,0.02\n");
  write("trace_bad.csv", "worker,step,delay_s\n0,one,0.01\n");
}

// SplitMix64 (Steele, Lea, Flood, OOPSLA 2014).
std::uint64_t ScenarioGenerator::draw() {
  std::uint64_t z = state_ += 0x9E3779B97F4A7C15;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
  return z ^ (z >> 31);
}

Json ScenarioGenerator::text(const std::string& key) {
  if (key == "path" || key == "test_path" || key == "file" || key.ends_with("images") ||
      key.ends_with("labels"))
    return pick<std::string>({"table.csv", "table_bad.csv", "graph.dot", "graph_bad.dot", "trace.csv",
                              "trace_bad.csv", "missing.csv", "missing.dot", "network.dot", "network.xml"});
  if (key == "label" || key == "target") return pick<std::string>({"y", "a", "none"});
  if (key == "delimiter") return pick<std::string>({",", ";", "", ", "});
  if (key == "device") return pick<std::string>({"D", "V100"});
  return pick<std::string>({"plain", "a \x1b[31mred name", "two\nlines", "\xC2\x9B tail", ""});
}

Json ScenarioGenerator::quantity(const Json& schema) {
  struct Ordinary {
    const char* dimension;
    double from, to;
    const char* unit;
  };
  static constexpr Ordinary kOrdinary[] = {{"time", 1e-6, 1, "s"},          {"bytes", 1e6, 1e11, "B"},
                                           {"bandwidth", 1e6, 1e11, "B/s"}, {"flop", 1e3, 1e10, "FLOP"},
                                           {"flops", 1e9, 1e14, "FLOPS"},   {"power", 1, 500, "W"}};
  for (const Ordinary& each : kOrdinary) {
    if (schema.at("x-quantity") != each.dimension) continue;
    if (chance(0.1)) return pick<Json>({0, schema.value("maximum", 1e12), 1e-12, 1e-300, 1e11});
    const double value = each.from * std::pow(each.to / each.from, uniform());
    return chance(0.5) ? Json(value) : Json(fmt::format("{:.4g} {}", value, each.unit));
  }
  return 1;
}

Json ScenarioGenerator::number(const Json& schema) {
  const double low = schema.value("minimum", schema.value("exclusiveMinimum", -1e3));
  const double high = schema.value("maximum", schema.value("exclusiveMaximum", 1e3));
  if (schema.value("type", Json()) == "integer") {
    const auto least = static_cast<std::int64_t>(low), most = static_cast<std::int64_t>(high);
    if (chance(0.06)) return chance(0.5) ? least : most;
    return std::min(most, least + static_cast<std::int64_t>(below(chance(0.7) ? 5 : 40)));
  }
  if (chance(0.08)) return pick<Json>({low, high, 0, 1, 1e-12, 1e11});
  if (high <= 1) return low + (high - low) * uniform();
  return std::clamp(std::pow(10.0, 4 * uniform() - 3), low, high);
}

Json ScenarioGenerator::object(const Json& schema) {
  Json made = Json::object();
  const Json required = schema.value("required", Json::array());
  const Json properties = schema.value("properties", Json::object());
  for (const auto& property : properties.items()) {
    const bool needed = std::find(required.begin(), required.end(), property.key()) != required.end();
    if (needed || chance(0.25)) made[property.key()] = value(property.value(), property.key());
  }
  return made;
}

Json ScenarioGenerator::value(const Json& schema, const std::string& key) {
  if (!schema.is_object()) return draw() % 5;
  if (schema.contains("const")) return schema["const"];
  if (schema.contains("enum")) return schema["enum"][below(schema["enum"].size())];
  if (schema.contains("oneOf")) return value(schema["oneOf"][below(schema["oneOf"].size())], key);
  if (schema.contains("x-quantity")) return quantity(schema);
  const Json type = schema.value("type", Json("number"));
  if (type == "object") return object(schema);
  if (type == "integer" || type == "number") return number(schema);
  if (type == "boolean") return chance(0.5);
  if (type == "null") return nullptr;
  if (type != "array") return text(key);
  Json list = Json::array();
  const std::size_t least = schema.value("minItems", std::size_t{0});
  for (std::size_t n = std::min(least + below(3), schema.value("maxItems", least + 2)); n > 0; --n)
    list.push_back(value(schema.value("items", Json::object()), key));
  return list;
}

Json ScenarioGenerator::section(const std::string& name) {
  Json schema = resolved_schema()["properties"][name];
  // A method's text is nothing that chance writes: tests/python has those.
  if (name == "algorithm") schema["oneOf"].erase(schema["oneOf"].size() - 1);
  return value(schema, name);
}

Json ScenarioGenerator::cluster(int workers) {
  const Json& schema = resolved_schema()["properties"]["cluster"]["properties"];
  const int per_node = pick<int>({1, 1, 1, 2, 4});
  const int nodes = (workers + per_node - 1) / per_node;
  Json made = {{"workers", workers},
               {"gpus_per_node", per_node},
               {"device", value(schema["device"], "device")},
               {"nic", value(schema["nic"], "nic")},
               {"topology", chance(0.5) ? Json{{"name", "star"}} : value(schema["topology"], "topology")}};
  made["device"]["name"] = "D";
  // Tables are seldom in order, and a seed is for hashed routes alone.
  if (made["device"].contains("selection_times") && chance(0.9)) made["device"].erase("selection_times");
  if (made["device"].contains("gemm") && chance(0.9)) made["device"]["gemm"].erase("times");
  if (made["device"].contains("inverse") && chance(0.9)) made["device"].erase("inverse");
  if (made["topology"].value("routing", "") != "hashed" && chance(0.9)) made["topology"].erase("seed");
  if (made["topology"].contains("path") && chance(0.9)) made["topology"] = {{"name", "star"}};
  if (chance(0.9)) made["device"]["peak_flops"] = "1 TFLOPS";
  if (per_node > 1 || chance(0.2)) made["gpu_link"] = value(schema["gpu_link"], "gpu_link");
  for (const char* link : {"nic", "gpu_link"})
    if (made.contains(link) && chance(0.9)) made[link].erase("segments");
  if (chance(0.2)) made["host"] = value(schema["host"], "host");
  if (chance(0.15)) made["placement"] = value(schema["placement"], "placement");
  for (int node = 0; chance(0.1) && node < nodes; ++node) made["node_speed"].push_back(0.5 + uniform());
  return made;
}

/// Leaves one way of saying a one-device time.
void ScenarioGenerator::one_way(Json& entry) {
  if (chance(0.3)) {
    for (const char* key : {"forward_backward", "samples_per_s", "batch"}) entry.erase(key);
    entry["step_cost"] = {{"fixed", 1e-3 * uniform()}, {"per_sample", 1e-3}};
    if (chance(0.3)) entry["step_cost"] = {{"times", {{{"batch", 1 + below(8)}, {"step_time", 1e-3}}}}};
    return;
  }
  entry.erase("step_cost");
  entry["batch"] = 1 + below(64);
  if (entry.contains("forward_backward") != entry.contains("samples_per_s")) return;
  entry.erase("forward_backward");
  entry["samples_per_s"] = 100;
}

Json ScenarioGenerator::workload() {
  Json table = value(resolved_schema()["properties"]["workload"]["oneOf"][1], "workload");
  table["batch"] = 1 + below(64);
  table["micro_batches"] = chance(0.9) ? 1 : 1 + static_cast<int>(below(4));
  for (const char* key : {"compute_time", "compute_factor"})
    if (chance(0.7)) table.erase(key);
  if (table.contains("one_device"))
    for (Json& entry : table["one_device"])
      if (chance(0.95)) one_way(entry);
  if (chance(0.1)) return table;  // whatever it says of its size
  const bool by_time = chance(0.15);
  for (const char* key : {"step_time", "step_cost", "parameters", "equal_layers"})
    if (!by_time) table.erase(key);
  if (by_time) {
    table.erase("layers");
    table.erase("one_device");
    table.erase("step_cost");
    if (chance(0.5))
      table["step_time"] = 1e-3 * static_cast<double>(1 + below(100));
    else
      table.erase("step_time"), table["step_cost"] = {{"fixed", 1e-3 * uniform()}, {"per_sample", 1e-3}};
    table["parameters"] = 1 + below(100000);
    return table;
  }
  const Json schema = resolved_schema()["properties"]["workload"]["oneOf"][1]["properties"]["layers"];
  if (!table.contains("layers")) table["layers"] = value(schema, "layers");
  for (Json& layer : table["layers"]) {
    if (chance(0.9)) layer["tensors"] = {{1 + below(50), 1 + below(100)}, 1 + below(50)};
    if (chance(0.9)) layer["forward_flop"] = 1e3 + 1e6 * uniform();
  }
  return table;
}

Json ScenarioGenerator::learner() {
  Json made = section("learner");
  // Reading Fashion-MNIST or a text takes longer than everything else.
  if (made.is_null() || chance(0.5) || made["data"]["name"] == "fashion_mnist" ||
      made["data"]["name"] == "text")
    made = {
        {"model", {{"name", "softmax_regression"}}}, {"data", {{"name", "gaussian_mixture"}}}, {"batch", 4}};
  return made;
}

Json ScenarioGenerator::stop() {
  Json made = section("stop");
  if (chance(0.9) || made.empty()) made["steps"] = 1 + below(4);
  return made;
}

/// What makes a run long is cut, unless it is far beyond what any run can be: that is refused at once.
void ScenarioGenerator::make_small(Json& scenario) {
  if (scenario["learner"].is_object()) {
    Json& data = scenario["learner"]["data"];
    for (const char* key : {"samples", "test_samples"}) {
      if (!data.contains(key) && data["name"] != "csv" && data["name"] != "idx" &&
          data["name"] != "fashion_mnist" &&
          !(data["name"] == "quadratic" && std::string(key) == "test_samples"))
        data[key] = 60;
      at_most(data, key, 200);
    }
    for (const char* key : {"features", "dimension", "classes", "outputs"}) at_most(data, key, 12);
    at_most(scenario["learner"], "batch", 16);
  }
  if (!scenario["learner"].is_object() && scenario["stop"].is_object() && chance(0.9))
    scenario["stop"].erase("epochs");
  // A step of "self" may take nanoseconds: time alone does not bound a run.
  if (scenario["stop"].is_object() && !scenario["stop"].contains("steps")) scenario["stop"]["steps"] = 3;
  if (scenario["stop"].is_object()) at_most(scenario["stop"], "steps", 4);
  // Nothing is run that exchanges only later.
  Json& algorithm = scenario["algorithm"];
  for (const AlgorithmPlugin& plugin : algorithm_plugins())
    if (!plugin.uses.interval.empty() && algorithm.is_object() &&
        algorithm.value("name", Json()) == plugin.info.name) {
      if (!algorithm.contains(plugin.uses.interval)) algorithm[plugin.uses.interval] = 1;
      at_most(algorithm, plugin.uses.interval.c_str(), 1);
    }
}

void ScenarioGenerator::mutate(Json& scenario) {
  const std::vector<std::string> all = pointers_in(scenario);
  const std::string at = pick(all);
  const Json::json_pointer here(at), above(parent(at));
  switch (below(5)) {
    case 0:
      if (scenario[above].is_object()) scenario[above].erase(last_key(at));
      break;
    case 1:
      scenario[here] = scenario[Json::json_pointer(pick(all))];
      break;
    case 2:
      if (scenario[above].is_object())
        scenario[above][pick<std::string>({"x", "nmae", "a\x1b[1m", "use"})] = 1;
      break;
    default:
      scenario[here] = pick(odd_values());
  }
}

Json ScenarioGenerator::scenario() {
  const int workers = pick<int>({1, 2, 2, 3, 4, 4, 4, 5, 6, 8, 8, 12, 16});
  Json made = {{"cluster", cluster(workers)},
               {"workload", workload()},
               {"algorithm", section("algorithm")},
               {"stop", stop()},
               {"learner", nullptr},
               {"expected", Json::array()}};
  if (chance(0.6)) made["learner"] = learner();
  if (made["learner"].is_object() && chance(0.3)) made["workload"] = "self";
  for (const char* key : {"name", "optimizer", "stragglers", "network", "record", "failures", "seed"})
    if (chance(0.25)) made[key] = section(key);
  if (made.contains("network"))  // nor are tables of policies
    for (const char* op :
         {"all_reduce", "reduce_scatter", "all_gather", "all_to_all", "broadcast", "reduce", "barrier"})
      if (made["network"].contains(op) && !made["network"][op].is_string() && chance(0.9))
        made["network"].erase(op);
  if (chance(made["learner"].is_object() ? 0.4 : 0.02)) made["target"] = section("target");
  if (chance(0.05)) made["seeds"] = section("seeds");
  if (chance(0.03)) made["axes"] = section("axes");
  if (chance(0.03)) made["exclude"] = section("exclude");
  if (chance(0.03)) made["claim"] = section("claim");
  make_small(made);
  if (made.contains("seeds") && made["seeds"].is_number()) made["seeds"] = 2;
  if (chance(0.65)) return made;
  for (std::size_t n = 1 + below(2); n > 0; --n) mutate(made);
  if (made["stop"].is_object() && made["stop"].contains("time") && !made["stop"].contains("steps"))
    made["stop"]["steps"] = 3;
  return made;
}

}  // namespace simsgd::test
