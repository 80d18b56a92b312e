// The section "workload": the network whose training is timed, as it is written.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "scenarios/language/json_source.hpp"
#include "scenarios/language/schema.hpp"
#include "scenarios/language/sections.hpp"
#include "scenarios/language/workload_section.hpp"
#include "sim/distributions/registry.hpp"
#include "sim/learn/model.hpp"

namespace simsgd {

namespace {

Json measured_schema(DrawUnit unit, const char* meaning) {
  double shift = 0;
  std::string source;
  Fields more(unit);
  more.amount("shift", shift, "This is added to every draw").required();
  more.text("source", source, "Where the numbers come from").required();
  const Json added = more.schema("")["properties"];
  Json schema = draw_schema(unit, meaning);
  for (Json& form : schema["oneOf"])
    for (const auto& property : added.items())
      if (form.contains("properties")) form["properties"].emplace(property.key(), property.value());
  return schema;
}

constexpr double kLargestDimension = 1e9;  // and one more still fits an int

}  // namespace

Field& add_measured(Fields& f, std::string_view key, RawValue& value, const char* meaning, DrawUnit unit) {
  return f.raw(key, value, [unit, meaning] { return measured_schema(unit, meaning); });
}

Json tensors_schema() {
  double size = 0;
  std::vector<int> matrix;
  Fields f;
  f.number("size", size, "A vector of this many parameters, such as a bias").required().at_least(0);
  f.list(
       "matrix", matrix,
       "A matrix: [rows, columns] of the layer's product; of a convolution output channels, and input channels x kernel height x width",
       "Rows, or columns")
      .required()
      .items_at_least(1)
      .items_at_most(kLargestDimension);
  Json forms = f.schema("")["properties"];
  forms["matrix"]["minItems"] = forms["matrix"]["maxItems"] = 2;
  return schema::list("The layer's tensors (weight, bias), each by its size or its shape",
                      {{"oneOf", {forms["size"], forms["matrix"]}}, {"description", "A tensor"}});
}

Json measured_on_schema() {
  std::string name;
  Fields f;
  f.text("name", name, "The name of a shipped device, also among other words: \"Tesla V100-DGXS-32GB\"")
      .required();
  MeasuredOnSection section;
  return schema::either(
      "The device that the layers' own times were measured on. On another device they are scaled, layer by layer, by the two devices' modelled times",
      {f.schema("")["properties"]["name"], schema::of(section, "A device that is not shipped")});
}

namespace {

TensorShape shape_of(const Json& json) {
  if (json.is_number()) return {json.get<double>()};
  return {json.at(0).get<double>(), json.at(1).get<double>()};
}

Layer layer_of(const LayerSection& section, const std::string& type, std::size_t index) {
  Layer layer;
  layer.name = section.name.value_or(type + std::to_string(index + 1));
  layer.kind = section.kind;
  for (const Json& tensor : section.tensors.json()) layer.tensors.push_back(shape_of(tensor));
  layer.forward_flop = section.forward_flop;
  layer.activations = section.activations;
  layer.positions = section.positions;
  return layer;
}

/// Without one of the two: the backward pass takes twice as long as the forward pass.
std::optional<OwnTime> own_time(const LayerSection& layer, double batch) {
  if (!layer.forward_s && !layer.backward_s) return std::nullopt;
  return OwnTime{(layer.forward_s ? *layer.forward_s : *layer.backward_s / 2) / batch,
                 (layer.backward_s ? *layer.backward_s : 2 * *layer.forward_s) / batch};
}

/// `json`: the same layers as they are written.
LayerTable layers_of(const std::vector<LayerSection>& layers, const Json& json, double own_times_batch) {
  LayerTable table;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    table.layers.push_back(layer_of(layers[i], json[i]["type"].get<std::string>(), i));
    table.own.push_back(own_time(layers[i], own_times_batch));
  }
  return table;
}

/// Factors of mean 1 out of measured times.
Distribution over_its_mean(Distribution times) {
  const double mean = times.mean();
  times.shift /= mean;
  times.scale /= mean;
  for (double& edge : times.edges) edge /= mean;
  return times;
}

/// Beyond what other distributions have, a measured one may have a "source" and a "shift".
Distribution read_measured(Json value, const std::string& key, DrawUnit unit) {
  double shift = 0;
  if (value.is_object()) {
    value.erase("source");
    const std::string name = value.value("name", "");
    Json own;
    find_plugin(distribution_plugins(), name, "distribution").form(own, unit);
    if (value.contains("shift") && !own["properties"].contains("shift")) {
      shift = draw_of(value["shift"], key + "/shift", unit).scale;
      value.erase("shift");
    }
  }
  Distribution distribution = draw_of(value, key, unit);
  distribution.shift += shift;
  return distribution;
}

Distribution read_factor(const Reader& reader, const WorkloadSection& workload) {
  const bool times = workload.compute_time.present();
  const std::string key = times ? "compute_time" : "compute_factor";
  if (times && workload.compute_factor.present())
    reader.error("/workload/compute_factor", "is given together with \"compute_time\"",
                 "Keep one of the two");
  auto factor = reader.attempt("/workload", [&] {
    return times ? read_measured(workload.compute_time.json(), key, DrawUnit::seconds)
                 : read_measured(workload.compute_factor.json(), key, DrawUnit::factor);
  });
  if (!factor) return {};
  const double mean = factor->mean();
  if (std::isfinite(mean) && mean > 0) return times ? over_its_mean(std::move(*factor)) : *factor;
  reader.error("/workload/" + key, "has no finite mean above 0", "Give a distribution that has one");
  return {};
}

/// A network is given by its layers, or by what a step takes.
void check_form(const Reader& reader, const WorkloadSection& workload) {
  const bool layers = workload.layers.has_value(), cost = workload.step_cost.has_value();
  const bool time = workload.step_time_s || cost;
  const std::string key = cost ? "step_cost" : "step_time";
  if (workload.step_time_s && cost)
    reader.error("/workload/step_cost", "is given together with \"step_time\"", "Keep one of the two");
  if (layers && time)
    reader.error("/workload/" + key, "is given together with \"layers\"", "Keep one of the two");
  if (!layers && !time)
    reader.error(
        "/workload", "lacks the key \"layers\"",
        "Add \"layers\": its layers in forward order; or \"step_time\" and \"parameters\": what a step takes on one device, and how many parameters it has");
  if (time && !workload.parameters)
    reader.error(
        "/workload", "lacks the key \"parameters\"",
        "Add \"parameters\" to \"" + key + "\": how many there are, such as 25.6e6, is what has to be sent");
  const auto only_with_time = [&](const char* each, bool given) {
    if (!time && given)
      reader.error(std::string("/workload/") + each, "is about a network without \"layers\"",
                   "Remove it, or give \"step_time\" in place of the layers");
  };
  only_with_time("parameters", workload.parameters.has_value());
  only_with_time("equal_layers", workload.equal_layers.has_value());
  for (const char* each : {"measured_on", "host_gap"})
    if (time && reader.value("/workload").contains(each))
      reader.error(std::string("/workload/") + each, "is about times of layers, and there are no \"layers\"",
                   "Remove it, or give the layers with their times");
  if (time && !workload.one_device.empty())
    reader.error("/workload/one_device", "is given together with \"" + key + "\"", "Keep one of the two");
}

/// Times of layers that no one-device time gives a batch.
bool check_own_times(const Reader& reader, const WorkloadSection& workload) {
  const bool own = std::ranges::any_of(
      *workload.layers, [](const LayerSection& layer) { return layer.forward_s || layer.backward_s; });
  if (!own || workload.layer_times_batch) return true;
  reader.error(
      "/workload", "lacks the key \"layer_times_batch\"",
      "Add it: the samples for which the layers' own times hold, which the \"step_cost\" of the device does not say");
  return false;
}

/// Layers of equal size and time, a third of it forward, as wherever only the sum is known.
LayerTable equal_layers(const WorkloadSection& workload, const std::optional<StepLaw>& law) {
  const int count = workload.equal_layers.value_or(kUsualEqualLayers);
  const double samples = static_cast<double>(workload.batch) / workload.micro_batches;
  const double sample_s =
      (law ? law->seconds(samples) / samples : *workload.step_time_s / workload.batch) / count;
  LayerTable table;
  for (int i = 1; i <= count; ++i) {
    Layer layer;
    layer.name = fmt::format("part{}", i);
    layer.tensors = {*workload.parameters / count};
    table.layers.push_back(std::move(layer));
    table.own.push_back(OwnTime{sample_s / 3, sample_s * 2 / 3});
  }
  return table;
}

Layer layer_of(const LayerInfo& info) {
  Layer layer;
  layer.name = info.name;
  layer.tensors.push_back({static_cast<double>(info.rows), static_cast<double>(info.columns)});
  if (info.bias) layer.tensors.emplace_back(static_cast<double>(info.rows));
  layer.forward_flop = info.forward_flop;
  layer.activations = static_cast<double>(info.activations);
  if (info.kind == LayerInfo::Kind::other) return layer;
  layer.kind = info.kind == LayerInfo::Kind::convolution ? Layer::Kind::conv : Layer::Kind::fc;
  layer.positions = static_cast<double>(info.positions);
  return layer;
}

/// The device as a workload describes it where its times were measured on a shipped one, by name; else its
/// name alone.
Json described_device(const std::string& name) {
  const Device device = shipped_device(name).device;
  if (device.name.empty())
    return {{"name", name}, {"peak_flops", 0}, {"efficiency", 0.5}, {"memory_bandwidth", 0}};
  return {{"name", device.name},
          {"peak_flops", device.peak_flops},
          {"efficiency", device.efficiency},
          {"memory_bandwidth", device.memory_Bps}};
}

}  // namespace

ShippedDevice shipped_device(const std::string& text) {
  ShippedDevice best;
  for (const std::string& folder : search_path("devices", "")) {
    std::error_code ignored;
    for (const auto& file : std::filesystem::directory_iterator(folder, ignored)) {
      if (file.path().extension() != ".json" || !file.is_regular_file(ignored)) continue;
      try {
        Json json = parse_json(read_file(file.path().string()), file.path().string());
        json.erase("$schema");
        const auto device = options_of<Device>(json);
        const std::size_t size = device.name.size(), best_size = best.device.name.size();
        if (is_device(text, device.name) &&
            (size > best_size || (size == best_size && device.name < best.device.name)))
          best = {"devices/" + file.path().filename().string(), device};
      } catch (const std::exception&) {  // no device, in a folder of the user's that is called so
        continue;
      }
    }
    if (!best.file.empty()) break;
  }
  return best;
}

Json schema::workload() {
  WorkloadSection section;
  return either(
      "The network whose training is timed",
      {{{"type", "string"}, {"const", "self"}, {"description", "\"self\": the learner's own model"}},
       of(section, "A network, layer by layer")});
}

void complete_workload(Json& json) {
  if (!json.is_object()) return;
  if (!json.contains("compute_factor") && !json.contains("compute_time")) json["compute_factor"] = 1;
  if (const auto device = json.find("measured_on"); device != json.end() && device->is_string())
    *device = described_device(device->get<std::string>());
  const bool step_is_given = json.contains("step_time") || json.contains("step_cost");
  if (step_is_given && !json.contains("equal_layers")) json["equal_layers"] = kUsualEqualLayers;
}

std::optional<WorkloadTable> read_workload(const Reader& reader, const std::string& device) {
  if (!reader.usable("/workload") || !reader.value("/workload").is_object()) return std::nullopt;
  const auto section = reader.section<WorkloadSection>("/workload");
  WorkloadTable table;
  table.workload.name = section.name;
  table.workload.batch = section.batch;
  table.workload.micro_batches = section.micro_batches;
  if (section.batch % section.micro_batches != 0)
    reader.error("/workload/micro_batches", fmt::format("does not divide the batch of {}", section.batch),
                 "Use a divisor of it");
  table.workload.compute_factor = read_factor(reader, section);
  table.one_device = one_device_times(reader, section.one_device);
  check_form(reader, section);
  const double samples = static_cast<double>(section.batch) / section.micro_batches;
  if (section.step_cost) {
    const std::string at = "/workload/step_cost";
    table.workload.step_law = read_step_cost(reader, at, *section.step_cost);
    if (table.workload.step_law && !check_range(reader, at, *table.workload.step_law, samples))
      return std::nullopt;
  }
  if (!reader.usable("/workload")) return std::nullopt;
  table.step_is_given = section.step_time_s || section.step_cost;
  if (table.step_is_given) {
    table.layers = equal_layers(section, table.workload.step_law);
    return table;
  }
  const OneDeviceTime* near = nearest_time(table.one_device, device, samples);
  if (near == nullptr && !table.one_device.empty()) near = &table.one_device.front();
  if (near != nullptr && near->law && !check_own_times(reader, section)) return std::nullopt;
  const bool measured = near != nullptr && !near->law;
  const int batch = section.layer_times_batch.value_or(measured ? near->batch : section.batch);
  table.layers = layers_of(*section.layers, reader.value("/workload/layers"), batch);
  table.own_batch = batch;
  if (section.host_gap) {
    table.forward_gap_s = section.host_gap->forward_s;
    table.backward_gap_s = section.host_gap->backward_s;
  }
  if (section.measured_on.present()) {
    const auto on = options_of<MeasuredOnSection>(section.measured_on.json());
    table.measured_on.emplace();
    table.measured_on->name = on.name;
    table.measured_on->peak_flops = on.peak_flops;
    table.measured_on->efficiency = on.efficiency;
    table.measured_on->memory_Bps = on.memory_Bps;
  }
  double parameters = 0;
  for (const Layer& layer : table.layers.layers) parameters += layer.parameters();
  if (!(parameters > 0)) {
    reader.error("/workload/layers", "have no parameters: there is nothing to train",
                 "Give the \"tensors\" of at least one layer");
    return std::nullopt;
  }
  return table;
}

WorkloadTable workload_of(const Learner& learner) {
  WorkloadTable table;
  table.workload.name = "self";
  table.workload.batch = learner.batch();
  table.workload.compute_factor.scale = 1;
  for (const LayerInfo& info : learner.model().layers()) {
    table.layers.layers.push_back(layer_of(info));
    table.layers.own.emplace_back();
  }
  return table;
}

}  // namespace simsgd
