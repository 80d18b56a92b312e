#include "traces/networks/triosim_network.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "sim/base/printable.hpp"
#include "traces/networks/recorded_network.hpp"
#include "traces/reading/text.hpp"

namespace simsgd {

namespace {

// The same in both passes, where autograd calls it otherwise than the forward pass does.
std::string family_of(const std::string& kind) {
  static constexpr std::pair<std::string_view, std::string_view> kFamilies[] = {
      {"conv", "conv"},
      {"linear", "product"},
      {"addmm", "product"},
      {"matmul", "matmul"},
      {"bmm", "matmul"},
      {"mm", "matmul"},
      {"maxpool", "maxpool"},
      {"adaptiveavgpool", "mean"},
      {"avgpool", "mean"},
      {"mean", "mean"},
      {"crossentropy", "loss"},
      {"nllloss", "loss"},
      {"scaleddotproduct", "attention"}};
  for (const auto& [start, family] : kFamilies)
    if (kind.starts_with(start)) return std::string(family);
  return kind;
}

std::string layer_type(const std::string& kind) {
  if (kind.starts_with("conv")) return "conv";
  if (kind == "linear" || kind == "addmm") return "fc";
  if (kind.starts_with("batchnorm")) return "bn";
  return kind.starts_with("embedding") ? "embedding" : "other";
}

// The layers of one trace.
class TracedNetwork {
 public:
  TracedNetwork(const OperatorTrace& trace, const TensorTable& tensors) : trace_(trace), tensors_(tensors) {}

  RecordedWorkload make() {
    for (const TracedOperator& each : trace_.operators)
      if (each.stage == TracedStage::forward) forward(each);
    for (const TracedOperator& each : trace_.operators)
      if (each.stage == TracedStage::backward && !made_.layers.empty()) backward(each);
    if (const double seconds = trace_.alone_s[static_cast<std::size_t>(TracedStage::optimizer)];
        seconds > 0 && !made_.layers.empty()) {
      RecordedLayer optimizer;
      optimizer.name = "optimizer";
      optimizer.forward_s = seconds;
      optimizer.backward_s = 0;
      made_.layers.insert(made_.layers.begin(), std::move(optimizer));
    }
    ImportedFile& file = *trace_.file;
    made_.name = network_name(file.name(), {"_trace.csv", ".csv"});
    made_.batch = settled_batch(file, tensors_.batch);
    if (made_.batch > 0)
      for (RecordedLayer& layer : made_.layers) per_sample(layer, made_.batch);
    made_.source = fmt::format(
        "{} and {}: operators of one step on one GPU, as TrioSim records them; a layer is a forward operator, the optimizer one without parameters before all others{}",
        printable(file.name()), printable(tensors_.file->name()),
        joined_ == 0
            ? ""
            : fmt::format(
                  "; {} backward operators that belong to no forward operator are counted with the layer before",
                  joined_));
    return std::move(made_);
  }

 private:
  void forward(const TracedOperator& each) {
    RecordedLayer layer;
    layer.name = fmt::format("{} {}", each.id, each.kind);
    layer.type = layer_type(each.kind);
    layer.forward_s = each.time_s;
    layer.backward_s = 0;
    layer.activations = each.outputs;
    const std::size_t index = made_.layers.size();
    for (const std::uint32_t id : each.tensors) {
      const auto found = tensors_.parameters.find(id);
      if (found == tensors_.parameters.end()) continue;
      if (!owner_.emplace(id, index).second) {
        trace_.file->understand("parameters that another layer has, too: counted with the first");
        continue;
      }
      const std::vector<double>& sides = found->second;
      double columns = 1;
      for (std::size_t side = 1; side < sides.size(); ++side) columns *= sides[side];
      layer.tensors.push_back(sides.size() > 1 ? std::vector<double>{sides[0], columns}
                                               : std::vector<double>{sides.empty() ? 1 : sides[0]});
    }
    waiting_[family_of(each.kind)].push_back(index);
    made_.layers.push_back(std::move(layer));
    last_ = index;
  }

  void backward(const TracedOperator& each) {
    std::vector<std::size_t>& kin = waiting_[family_of(each.kind)];
    const auto parameter = std::find_if(each.tensors.begin(), each.tensors.end(),
                                        [&](std::uint32_t id) { return owner_.contains(id); });
    if (parameter != each.tensors.end()) {
      last_ = owner_.at(*parameter);
      std::erase(kin, last_);
    } else if (!kin.empty()) {
      last_ = kin.back();
      kin.pop_back();
    } else {
      ++joined_;
    }
    made_.layers[last_].backward_s += each.time_s;
  }

  const OperatorTrace& trace_;
  const TensorTable& tensors_;
  RecordedWorkload made_;
  std::map<std::string, std::vector<std::size_t>>
      waiting_;                                           // layers without a backward operator yet, by family
  std::unordered_map<std::uint32_t, std::size_t> owner_;  // of a parameter: its layer
  std::size_t last_ = 0, joined_ = 0;
};

}  // namespace

std::string operator_kind(std::string_view name) {
  if (const std::size_t colon = name.rfind(':'); colon != std::string_view::npos)
    name.remove_prefix(colon + 1);
  std::string kind;
  for (const char c : name)
    if (c != '_' && c != ' ') kind += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  while (!kind.empty() && is_digit(kind.back())) kind.pop_back();
  if (kind.ends_with("backward")) kind.resize(kind.size() - 8);
  for (const std::string_view maker : {"cudnn", "native", "miopen", "fused"})
    if (kind.starts_with(maker)) kind.erase(0, maker.size());
  return kind;
}

RecordedWorkload traced_network(const OperatorTrace& trace, const TensorTable& tensors) {
  return TracedNetwork(trace, tensors).make();
}

}  // namespace simsgd
