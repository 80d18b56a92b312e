#include "scenarios/language/layer_times.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

namespace simsgd {

namespace {

constexpr double kRounding = 1 + 1e-9;  // own times may fill a step exactly

std::vector<double> weights(const std::vector<Layer>& layers,
                            const std::function<double(const Layer&)>& weight) {
  std::vector<double> all;
  for (const Layer& layer : layers) all.push_back(weight(layer));
  return all;
}

/// By which measure layers without own time share the rest of a step: the first that is above 0 for any of
/// them.
std::vector<double> shares(const LayerTable& table, const Device& device, double samples) {
  const std::vector<std::function<double(const Layer&)>> measures = {
      [&](const Layer& layer) { return modelled_forward_s(layer, device, samples); },
      [](const Layer& layer) { return layer.forward_flop; },
      [](const Layer& layer) { return layer.parameters(); },
      [](const Layer&) { return 1.0; },
  };
  // Without FLOPs a model of memory traffic alone would forget where the work is.
  const bool has_flop =
      std::ranges::any_of(table.layers, [](const Layer& layer) { return layer.forward_flop > 0; });
  for (std::size_t m = has_flop && device.peak_flops > 0 ? 0 : 1; m < measures.size(); ++m) {
    std::vector<double> all = weights(table.layers, measures[m]);
    for (std::size_t i = 0; i < all.size(); ++i)
      if (table.own[i]) all[i] = 0;
    const double sum = std::accumulate(all.begin(), all.end(), 0.0);
    if (!(sum > 0)) continue;
    for (double& each : all) each /= sum;
    return all;
  }
  return std::vector<double>(table.layers.size(), 0.0);  // all have times of their own
}

}  // namespace

const OneDeviceTime* nearest_time(const std::vector<OneDeviceTime>& times, const std::string& device,
                                  double batch) {
  const OneDeviceTime* best = nullptr;
  const auto distance = [batch](const OneDeviceTime& time) {
    return time.law ? -1 : std::fabs(std::log(time.batch / batch));
  };
  for (const OneDeviceTime& time : times)
    if (time.device == device && (best == nullptr || distance(time) < distance(*best))) best = &time;
  return best;
}

double modelled_forward_s(const Layer& layer, const Device& device, double samples) {
  double seconds = 0;
  if (device.peak_flops > 0) seconds = samples * layer.forward_flop / (device.peak_flops * device.efficiency);
  if (device.memory_Bps > 0) {
    const double entries = 2 * samples * layer.activations + layer.parameters();
    seconds = std::max(seconds, kBytesPerNumber * entries / device.memory_Bps);
  }
  return seconds;
}

bool is_device(std::string_view called, std::string_view name) {
  const auto words = [](std::string_view text) {
    std::vector<std::string> all(1);
    for (const char c : text) {
      const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
      if (letter)
        all.back() += c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
      else if (!all.back().empty())
        all.emplace_back();
    }
    if (all.back().empty()) all.pop_back();
    return all;
  };
  const std::vector<std::string> theirs = words(called), ours = words(name);
  return called == name || (!ours.empty() && std::search(theirs.begin(), theirs.end(), ours.begin(),
                                                         ours.end()) != theirs.end());
}

std::optional<ScaledTimes> scale_own_times(LayerTable& table, const Device& from, const Device& to,
                                           double samples) {
  Device first = from, second = to;
  if (!(first.peak_flops > 0 && second.peak_flops > 0)) first.peak_flops = second.peak_flops = 0;
  if (!(first.memory_Bps > 0 && second.memory_Bps > 0)) first.memory_Bps = second.memory_Bps = 0;
  double known_s = 0, scaled_s = 0;
  std::vector<double> shares(table.layers.size(), 0);  // 0: not known
  for (std::size_t i = 0; i < table.layers.size(); ++i) {
    if (!table.own[i]) continue;
    const Layer& layer = table.layers[i];
    const double own_s = table.own[i]->forward_s + table.own[i]->backward_s;
    const double first_s = modelled_forward_s(layer, first, samples);
    if (!(first_s > 0) || !(layer.forward_flop > 0 || layer.activations > 0)) continue;
    shares[i] = modelled_forward_s(layer, second, samples) / first_s;
    known_s += own_s;
    scaled_s += own_s * shares[i];
  }
  ScaledTimes made{.by_layers = known_s > 0};
  if (made.by_layers)
    made.share = scaled_s / known_s;
  else if (first.peak_flops > 0)
    made.share = first.peak_flops * first.efficiency / (second.peak_flops * second.efficiency);
  else if (first.memory_Bps > 0)
    made.share = first.memory_Bps / second.memory_Bps;
  else
    return std::nullopt;
  for (std::size_t i = 0; i < table.layers.size(); ++i) {
    if (!table.own[i]) continue;
    const double share = shares[i] > 0 ? shares[i] : made.share;
    table.own[i]->forward_s *= share;
    table.own[i]->backward_s *= share;
  }
  return made;
}

void lengthen_passes(std::vector<Layer>& layers, double forward_s, double backward_s) {
  const auto stretch = [&layers](double Layer::*time, double by_s) {
    double sum_s = 0;
    for (const Layer& layer : layers) sum_s += layer.*time;
    for (Layer& layer : layers)
      layer.*time += by_s * (sum_s > 0 ? layer.*time / sum_s : 1 / static_cast<double>(layers.size()));
  };
  stretch(&Layer::forward_s, forward_s);
  stretch(&Layer::backward_s, backward_s);
}

bool share_measured_time(LayerTable& table, const Device& device, double samples, double total_s) {
  double own_s = 0;
  for (const std::optional<OwnTime>& own : table.own)
    if (own) own_s += samples * (own->forward_s + own->backward_s);
  const bool all_own = std::ranges::all_of(table.own, [](const auto& own) { return own.has_value(); });
  if (!all_own && own_s > total_s * kRounding) return false;
  const double scale = all_own && own_s > 0 ? total_s / own_s : 1;
  const double rest_s = std::max(0.0, total_s - own_s);
  const std::vector<double> share = shares(table, device, samples);
  for (std::size_t i = 0; i < table.layers.size(); ++i) {
    Layer& layer = table.layers[i];
    layer.forward_s = table.own[i] ? scale * samples * table.own[i]->forward_s : share[i] * rest_s / 3;
    layer.backward_s = table.own[i] ? scale * samples * table.own[i]->backward_s : share[i] * rest_s * 2 / 3;
  }
  return true;
}

bool model_times(LayerTable& table, const Device& device, double samples) {
  bool anything = false;
  for (std::size_t i = 0; i < table.layers.size(); ++i) {
    Layer& layer = table.layers[i];
    anything = anything || table.own[i] || (device.peak_flops > 0 && layer.forward_flop > 0);
    if (table.own[i]) {
      layer.forward_s = samples * table.own[i]->forward_s;
      layer.backward_s = samples * table.own[i]->backward_s;
    } else {
      layer.forward_s = modelled_forward_s(layer, device, samples) + device.launch_s;
      layer.backward_s = 2 * layer.forward_s;
    }
  }
  return anything;
}

}  // namespace simsgd
