#include "traces/chakra/chakra_network.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <queue>
#include <unordered_map>

#include "sim/base/errors.hpp"
#include "sim/base/printable.hpp"
#include "traces/chakra/chakra_nodes.hpp"
#include "traces/imported_file.hpp"
#include "traces/reading/text.hpp"

namespace simsgd {

namespace {

constexpr std::size_t kMostDependencies = std::size_t{1} << 22, kLongestName = 200;
constexpr double kGradient_bytes = 4;  // assumed: gradients are reduced in fp32

// A name without what tells the pass: forward and backward nodes of a layer share it.
std::string stem_of(const std::string& name) {
  std::string stem = small_letters(name);
  for (const std::string_view word : {"backward", "forward", "bwd", "fwd", "_bw", "_fw"})
    if (const std::size_t at = stem.find(word); at != std::string::npos) stem.erase(at, word.size());
  std::erase_if(stem,
                [](char c) { return c == '_' || c == ' ' || c == '.' || c == '-' || c == ':' || c == '/'; });
  return stem;
}

std::uint32_t small(double value) {
  return value >= 0 && value < kMostRecordedOperations && value == std::floor(value)
             ? static_cast<std::uint32_t>(value)
             : static_cast<std::uint32_t>(kMostRecordedOperations);
}

int count_or_0(double value) { return value >= 1 && value < 2147483648.0 ? static_cast<int>(value) : 0; }

}  // namespace

ChakraPass chakra_pass(const ChakraNode& node) {
  const std::string said = chakra_text(node.attributes, chakra::kPass);
  const std::string name = said.empty() ? small_letters(node.name) : "";
  const auto has = [&name](const char* word) { return name.find(word) != std::string::npos; };
  if (said == "backward" || has("backward") || has("bwd") || has("_bw") || has("autograd"))
    return ChakraPass::backward;
  if (said == "micro_batches") return ChakraPass::micro_batches;
  if (said == "straggle") return ChakraPass::straggle;
  if (said == "other" || has("optimizer") || has("adam") || has("sgd") || has("zero_grad"))
    return ChakraPass::other;
  return ChakraPass::forward;
}

// The graph
// ---------------------------------------------------------------------------------------------------------

void ChakraGraph::add(const ChakraNode& node, ChakraWork work, ImportedFile& file) {
  const std::size_t deps = node.ctrl_deps.size() + node.data_deps.size();
  if (nodes_.size() == kMostRecordedOperations || deps_.size() + deps > kMostDependencies)
    return file.ignore(
        fmt::format("nodes beyond {} or {} dependencies: in no layer, their order is not looked at",
                    kMostRecordedOperations, kMostDependencies));
  if (!by_id_.emplace(node.id, static_cast<std::uint32_t>(nodes_.size())).second)
    return file.ignore("nodes with the id of another one: no layer is made of them");
  work.id = node.id;
  work.name = work.type == kChakraComp ? printable(node.name.substr(0, kLongestName)) : "";
  work.first_dep = static_cast<std::uint32_t>(deps_.size());
  work.deps = static_cast<std::uint32_t>(deps);
  deps_.insert(deps_.end(), node.ctrl_deps.begin(), node.ctrl_deps.end());
  deps_.insert(deps_.end(), node.data_deps.begin(), node.data_deps.end());
  nodes_.push_back(std::move(work));
}

std::size_t ChakraGraph::find(std::uint64_t id) const {
  const auto found = by_id_.find(id);
  return found == by_id_.end() ? nodes_.size() : found->second;
}

std::vector<std::uint32_t> ChakraGraph::order(ImportedFile& file) const {
  std::vector<std::vector<std::uint32_t>> followers(nodes_.size());
  std::vector<std::uint32_t> leaders(nodes_.size(), 0);
  for (std::uint32_t i = 0; i < nodes_.size(); ++i)
    for (std::uint32_t d = 0; d < nodes_[i].deps; ++d) {
      const std::size_t leader = find(deps_[nodes_[i].first_dep + d]);
      if (leader == nodes_.size()) {
        file.ignore("dependencies on nodes that are not there");
        continue;
      }
      followers[leader].push_back(i);
      ++leaders[i];
    }
  using Next = std::pair<std::uint64_t, std::uint32_t>;  // id, number
  std::priority_queue<Next, std::vector<Next>, std::greater<>> ready;
  for (std::uint32_t i = 0; i < nodes_.size(); ++i)
    if (leaders[i] == 0) ready.emplace(nodes_[i].id, i);
  std::vector<std::uint32_t> sorted;
  while (!ready.empty()) {
    const std::uint32_t i = ready.top().second;
    ready.pop();
    sorted.push_back(i);
    for (const std::uint32_t follower : followers[i])
      if (--leaders[follower] == 0) ready.emplace(nodes_[follower].id, follower);
  }
  if (sorted.size() == nodes_.size()) return sorted;
  const auto left = std::find_if(leaders.begin(), leaders.end(), [](std::uint32_t n) { return n > 0; });
  throw ConfigError({file.name(), "", "has dependencies that go in a circle",
                     fmt::format("at node {}", nodes_[static_cast<std::size_t>(left - leaders.begin())].id),
                     "Write the trace again: no node can wait for itself"});
}

// Others' networks
// ---------------------------------------------------------------------------------------------------------

RecordedWorkload chakra_network(const ChakraGraph& graph, ImportedFile& file) {
  const std::vector<std::uint32_t> order = graph.order(file);
  const std::vector<ChakraWork>& nodes = graph.nodes();
  const bool on_gpu = std::any_of(nodes.begin(), nodes.end(), [](const ChakraWork& n) {
    return n.type == kChakraComp && !n.cpu && n.seconds > 0;
  });
  RecordedWorkload made;
  std::vector<std::uint32_t> backward;
  std::unordered_map<std::string, std::vector<std::size_t>> by_stem;
  double all_s = 0;
  for (const std::uint32_t i : order) {
    const ChakraWork& node = nodes[i];
    if (node.type != kChakraComp || node.cpu == on_gpu) continue;
    all_s += node.seconds;
    if (node.pass == ChakraPass::backward) backward.push_back(i);
    if (node.pass != ChakraPass::forward) continue;
    by_stem[stem_of(node.name)].push_back(made.layers.size());
    RecordedLayer& layer = made.layers.emplace_back();
    layer.name = node.name;
    layer.forward_s = node.seconds;
    layer.backward_s = 0;
  }
  if (made.layers.empty() || !(all_s > 0)) return {};
  const bool mirrored = backward.size() == made.layers.size();
  std::unordered_map<std::size_t, std::size_t> layer_of;  // of a backward node
  std::size_t last = made.layers.size() - 1, joined = 0;
  for (std::size_t k = 0; k < backward.size(); ++k) {
    std::vector<std::size_t>& kin = by_stem[stem_of(nodes[backward[k]].name)];
    if (!kin.empty()) {
      last = kin.back();
      kin.pop_back();
    } else if (mirrored) {
      last = made.layers.size() - 1 - k;
    } else {
      ++joined;
    }
    made.layers[last].backward_s += nodes[backward[k]].seconds;
    layer_of[backward[k]] = last;
  }
  for (const ChakraWork& node : nodes) {
    std::vector<std::size_t> waits_for;
    for (std::uint32_t d = 0; node.gradient_bytes > 0 && d < node.deps; ++d)
      if (const auto found = layer_of.find(graph.find(graph.deps()[node.first_dep + d]));
          found != layer_of.end())
        waits_for.push_back(found->second);
    const double numbers = std::floor(node.gradient_bytes / kGradient_bytes);
    // The last of them in the backward pass, the first layer: only then the whole bucket is ready.
    if (!waits_for.empty() && numbers >= 1)
      made.layers[*std::min_element(waits_for.begin(), waits_for.end())].tensors.push_back({numbers});
    else if (node.gradient_bytes > 0)
      file.ignore("reductions that wait for no backward node: their bytes belong to no layer");
  }
  made.batch = settled_batch(file, 0);
  made.name = network_name(file.name(), {".et"});
  made.source = fmt::format(
      "{}: Chakra execution trace; a layer is a node of the forward pass; assumed: what is reduced are gradients of 4 bytes, of the layer whose backward pass it waits for{}",
      printable(file.name()),
      joined == 0 ? "" : fmt::format("; {} backward nodes are counted with the layer before", joined));
  return made;
}

// Our own
// ---------------------------------------------------------------------------------------------------------

void ChakraOwnNetwork::add(const ChakraNode& node, ChakraPass pass, double seconds, ImportedFile& file) {
  if (pass != ChakraPass::forward && pass != ChakraPass::backward) return;
  const std::uint32_t number = small(chakra_number(node.attributes, chakra::kLayer));
  if (number == kMostRecordedOperations) return file.ignore("nodes of no possible layer");
  Sums& sums = layers_[number];
  (pass == ChakraPass::forward ? sums.forward_s : sums.backward_s) += seconds;
  ++(pass == ChakraPass::forward ? sums.forwards : sums.backwards);
  const auto tensors = node.attributes.find(chakra::kTensors);
  const auto* const sides =
      tensors == node.attributes.end() ? nullptr : std::get_if<std::vector<double>>(&tensors->second);
  if (sides == nullptr || !sums.layer.name.empty()) return;
  sums.layer.name = printable(chakra_text(node.attributes, chakra::kLayerName).substr(0, kLongestName));
  const std::string type = chakra_text(node.attributes, chakra::kType);
  if (type == "conv" || type == "fc" || type == "bn" || type == "embedding") sums.layer.type = type;
  sums.layer.forward_flop = chakra_number(node.attributes, chakra::kFlop);
  sums.layer.activations = chakra_number(node.attributes, chakra::kActivations);
  for (std::size_t i = 0; i + 1 < sides->size(); i += 2)
    sums.layer.tensors.push_back((*sides)[i + 1] > 0 ? std::vector<double>{(*sides)[i], (*sides)[i + 1]}
                                                     : std::vector<double>{(*sides)[i]});
}

RecordedWorkload ChakraOwnNetwork::make(const ChakraMetadata& metadata, ImportedFile& file) const {
  RecordedWorkload made;
  const double parts = chakra_number(metadata.attributes, chakra::kMicroBatches);
  for (const auto& [number, sums] : layers_) {
    RecordedLayer layer = sums.layer;
    const auto mean = [parts](double sum, std::size_t count) {
      return count == 0 ? 0 : sum / static_cast<double>(count) * (parts >= 1 ? parts : 1);
    };
    layer.forward_s = mean(sums.forward_s, sums.forwards);
    layer.backward_s = mean(sums.backward_s, sums.backwards);
    made.layers.push_back(std::move(layer));
  }
  made.name = printable(chakra_text(metadata.attributes, chakra::kNetwork));
  made.device = printable(chakra_text(metadata.attributes, chakra::kDevice));
  made.batch = settled_batch(file, count_or_0(chakra_number(metadata.attributes, chakra::kBatch)));
  made.source = fmt::format("{}: a simulated job, written by simsgd; times are the mean over its steps",
                            printable(file.name()));
  return made;
}

}  // namespace simsgd
