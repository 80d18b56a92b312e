#include "traces/recorded_workload.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <tuple>

#include "sim/base/errors.hpp"

namespace simsgd {

namespace {

using OrderedJson = nlohmann::ordered_json;

double sum_of_given(const std::vector<RecordedLayer>& layers, double RecordedLayer::*time) {
  double sum = 0;
  for (const RecordedLayer& layer : layers)
    if (!std::isnan(layer.*time)) sum += layer.*time;
  return sum;
}

OrderedJson number(double value) {
  constexpr double kExact = 9007199254740992.0;  // 2^53
  if (value == std::floor(value) && std::fabs(value) < kExact) return static_cast<std::int64_t>(value);
  return value;
}

OrderedJson layer_json(const RecordedLayer& layer) {
  OrderedJson json = {{"name", layer.name}, {"type", layer.type}, {"tensors", OrderedJson::array()}};
  for (const std::vector<double>& shape : layer.tensors) {
    if (shape.size() == 1) {
      json["tensors"].push_back(number(shape[0]));
    } else {
      OrderedJson matrix = OrderedJson::array();
      for (const double side : shape) matrix.push_back(number(side));
      json["tensors"].push_back(std::move(matrix));
    }
  }
  const auto put = [&json](const char* key, double value) {
    if (!std::isnan(value)) json[key] = number(value);
  };
  put("forward", layer.forward_s);
  put("backward", layer.backward_s);
  put("forward_flop", layer.forward_flop);
  put("activations", layer.activations);
  return json;
}

std::string text_of_json(const OrderedJson& json) {
  return json.dump(-1, ' ', false, OrderedJson::error_handler_t::replace);
}

}  // namespace

double RecordedWorkload::parameters() const {
  double sum = 0;
  for (const RecordedLayer& layer : layers)
    for (const std::vector<double>& shape : layer.tensors) {
      double numbers = 1;
      for (const double side : shape) numbers *= side;
      sum += numbers;
    }
  return sum;
}

double RecordedWorkload::forward_s() const { return sum_of_given(layers, &RecordedLayer::forward_s); }
double RecordedWorkload::backward_s() const { return sum_of_given(layers, &RecordedLayer::backward_s); }

std::string workload_file(const RecordedWorkload& workload, const std::string& file) {
  if (workload.layers.empty())
    throw ConfigError({file, "", "shows no layer of a network", "", "Leave out --workload"});
  if (workload.batch < 1)
    throw ConfigError({file, "", "does not tell the batch of the workload", "",
                       "Say it: --set batch=32, samples per worker and step"});
  std::string text = fmt::format("{{\n  \"name\": {},\n  \"source\": {},\n  \"batch\": {},\n",
                                 text_of_json(workload.name), text_of_json(workload.source), workload.batch);
  if (workload.forward_s() + workload.backward_s() > 0) {
    text += fmt::format("  \"layer_times_batch\": {},\n", workload.batch);
    if (!workload.device.empty())
      text += fmt::format("  \"measured_on\": {},\n", text_of_json(workload.device));
  }
  if (workload.forward_gap_s + workload.backward_gap_s > 0)
    text += fmt::format("  \"host_gap\": {},\n", text_of_json({{"forward", workload.forward_gap_s},
                                                               {"backward", workload.backward_gap_s}}));
  text += "  \"layers\": [";
  const char* separator = "\n    ";
  for (const RecordedLayer& layer : workload.layers) {
    text += separator + text_of_json(layer_json(layer));
    separator = ",\n    ";
  }
  return text + "\n  ]\n}\n";
}

std::string straggler_file(std::vector<RecordedStep> steps) {
  std::stable_sort(steps.begin(), steps.end(), [](const RecordedStep& a, const RecordedStep& b) {
    return std::tie(a.worker, a.step) < std::tie(b.worker, b.step);
  });
  std::string text = "worker,step,compute_s\n";
  for (const RecordedStep& step : steps)
    text += fmt::format("{},{},{}\n", step.worker, step.step, step.compute_s);
  return text;
}

}  // namespace simsgd
