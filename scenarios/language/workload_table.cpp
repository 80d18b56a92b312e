#include "scenarios/language/workload_table.hpp"

#include <fmt/format.h>

#include <cmath>

#include "sim/base/distribution_json.hpp"

namespace simsgd {

namespace {

Layer::Kind kind_of(const std::string& type) {
  if (type == "conv") return Layer::Kind::conv;
  if (type == "fc") return Layer::Kind::fc;
  if (type == "bn") return Layer::Kind::bn;
  return type == "embedding" ? Layer::Kind::embedding : Layer::Kind::other;
}

Layer read_layer(const Parameters& object, std::size_t index) {
  Layer layer;
  const std::string type = object.text("type");
  layer.name = object.text("name", type + std::to_string(index + 1));
  layer.kind = kind_of(type);
  layer.tensors = object.json()["tensors"].get<std::vector<double>>();
  layer.forward_flop = object.quantity("forward_flop", Dimension::flop, 0);
  layer.activations = object.number("activations", 0);
  layer.a_dim = static_cast<int>(object.integer("a_dim", 0));
  layer.g_dim = static_cast<int>(object.integer("g_dim", 0));
  layer.factor_positions = object.number("positions", 1);
  return layer;
}

/// Without one of the two: the backward pass takes twice as long as the forward pass.
std::optional<OwnTime> read_own_time(const Parameters& layer, double batch) {
  const double forward = layer.quantity("forward", Dimension::time_s, -1);
  const double backward = layer.quantity("backward", Dimension::time_s, -1);
  if (forward < 0 && backward < 0) return std::nullopt;
  return OwnTime{(forward < 0 ? backward / 2 : forward) / batch,
                 (backward < 0 ? 2 * forward : backward) / batch};
}

LayerTable read_layers(const Json& layers, double own_times_batch) {
  LayerTable table;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const Parameters object(layers[i]);
    table.layers.push_back(read_layer(object, i));
    table.own.push_back(read_own_time(object, own_times_batch));
  }
  return table;
}

/// Both of, or neither of, forward_backward and samples_per_s is an error.
std::vector<OneDeviceTime> read_times(const Reader& reader, const Json& entries) {
  std::vector<OneDeviceTime> times;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const Parameters entry(entries[i]);
    if (entry.has("forward_backward") == entry.has("samples_per_s")) {
      reader.error(
          child("/workload/one_device", i),
          entry.has("samples_per_s") ? "says the time twice" : "does not say how long the step takes",
          "Give either \"forward_backward\" or \"samples_per_s\"");
      continue;
    }
    const auto batch = static_cast<int>(entry.integer("batch"));
    const double step_s = entry.has("samples_per_s") ? batch / entry.number("samples_per_s")
                                                     : entry.quantity("forward_backward", Dimension::time_s);
    times.push_back({entry.text("device"), batch, step_s, entry.text("source")});
  }
  return times;
}

/// Factors of mean 1 out of measured times.
Distribution over_its_mean(Distribution times) {
  const double mean = times.mean();
  times.shift /= mean;
  times.scale /= mean;
  for (double& edge : times.edges) edge /= mean;
  return times;
}

/// The distribution under `key`; beyond what others have, it may have a "source" and a "shift".
Distribution read_measured(const Parameters& workload, const std::string& key, DrawUnit unit) {
  Json value = workload.json()[key];
  double shift = 0;
  if (value.is_object()) {
    value.erase("source");
    const Json own = distribution_plugin(value["name"].get<std::string>()).properties(unit);
    if (value.contains("shift") && !own.contains("shift")) {
      shift = read_amount(Parameters(value), "shift", unit);
      value.erase("shift");
    }
  }
  Distribution distribution = nested_distribution(Parameters(Json{{key, value}}), key, unit);
  distribution.shift += shift;
  return distribution;
}

Distribution read_factor(const Reader& reader, const Parameters& workload) {
  const bool times = workload.has("compute_time");
  const std::string key = times ? "compute_time" : "compute_factor";
  if (times && workload.has("compute_factor"))
    reader.error("/workload/compute_factor", "is given beside \"compute_time\"", "Keep one of the two");
  auto factor = reader.attempt("/workload", [&] {
    return read_measured(workload, key, times ? DrawUnit::seconds : DrawUnit::factor);
  });
  if (!factor) return {};
  const double mean = factor->mean();
  if (std::isfinite(mean) && mean > 0) return times ? over_its_mean(std::move(*factor)) : *factor;
  reader.error("/workload/" + key, "has no finite mean above 0", "Give a distribution that has one");
  return {};
}

/// A network is given by its layers, or by what a step takes.
void check_form(const Reader& reader, const Parameters& workload) {
  const bool layers = workload.has("layers"), time = workload.has("step_time");
  if (layers && time)
    reader.error("/workload/step_time", "is given beside \"layers\"", "Keep one of the two");
  if (!layers && !time)
    reader.error(
        "/workload", "lacks the key \"layers\"",
        "Add \"layers\": its layers in forward order; or \"step_time\" and \"parameters\": what a step "
        "takes on one device, and how many parameters it has");
  if (time && !workload.has("parameters"))
    reader.error(
        "/workload", "lacks the key \"parameters\"",
        "Add \"parameters\" to \"step_time\": how many there are, such as 25.6e6, is what has to be sent");
  for (const char* key : {"parameters", "equal_layers"})
    if (!time && workload.has(key))
      reader.error(std::string("/workload/") + key, "is about a network without \"layers\"",
                   "Remove it, or give \"step_time\" in place of the layers");
  if (time && !workload.json()["one_device"].empty())
    reader.error("/workload/one_device", "is given beside \"step_time\"", "Keep one of the two");
}

/// Layers of equal size and time, a third of it forward, as wherever only the sum is known.
LayerTable equal_layers(const Parameters& workload, double batch) {
  const std::int64_t count = workload.integer("equal_layers");
  const double sample_s =
      workload.quantity("step_time", Dimension::time_s) / batch / static_cast<double>(count);
  LayerTable table;
  for (std::int64_t i = 1; i <= count; ++i) {
    Layer layer;
    layer.name = fmt::format("part{}", i);
    layer.tensors = {workload.number("parameters") / static_cast<double>(count)};
    table.layers.push_back(std::move(layer));
    table.own.push_back(OwnTime{sample_s / 3, sample_s * 2 / 3});
  }
  return table;
}

Layer layer_of(const LayerInfo& info) {
  Layer layer;
  layer.name = info.name;
  layer.tensors.push_back(static_cast<double>(info.rows * info.columns));
  if (info.bias) layer.tensors.push_back(static_cast<double>(info.rows));
  layer.forward_flop = info.forward_flop;
  layer.activations = static_cast<double>(info.activations);
  if (info.kind == LayerInfo::Kind::other) return layer;
  layer.kind = info.kind == LayerInfo::Kind::convolution ? Layer::Kind::conv : Layer::Kind::fc;
  layer.a_dim = static_cast<int>(info.columns + (info.bias ? 1 : 0));
  layer.g_dim = static_cast<int>(info.rows);
  layer.factor_positions = static_cast<double>(info.positions);
  return layer;
}

}  // namespace

std::optional<WorkloadTable> read_workload(const Reader& reader, const std::string& device) {
  if (!reader.usable("/workload") || !reader.value("/workload").is_object()) return std::nullopt;
  const Json& section = reader.value("/workload");
  const Parameters object(section);
  WorkloadTable table;
  table.workload.name = object.text("name");
  table.workload.batch = static_cast<int>(object.integer("batch"));
  table.workload.micro_batches = static_cast<int>(object.integer("micro_batches"));
  if (table.workload.batch % table.workload.micro_batches != 0)
    reader.error("/workload/micro_batches",
                 fmt::format("does not divide the batch of {}", table.workload.batch), "Use a divisor of it");
  table.workload.compute_factor = read_factor(reader, object);
  table.one_device = read_times(reader, section["one_device"]);
  check_form(reader, object);
  if (!reader.usable("/workload")) return std::nullopt;
  table.step_is_given = object.has("step_time");
  if (table.step_is_given) {
    table.layers = equal_layers(object, table.workload.batch);
    return table;
  }
  const double samples = static_cast<double>(table.workload.batch) / table.workload.micro_batches;
  const OneDeviceTime* near = nearest_time(table.one_device, device, samples);
  if (near == nullptr && !table.one_device.empty()) near = &table.one_device.front();
  const std::int64_t batch =
      object.integer("layer_times_batch", near != nullptr ? near->batch : table.workload.batch);
  table.layers = read_layers(section["layers"], static_cast<double>(batch));
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
