// chakra: execution traces of MLCommons' Chakra (.et), one file per rank, NAME.RANK.et. Read: collectives as
// measurements (time_s, or size_bytes where the trace has no times), the network, and the computing of each
// rank: by step where we wrote the file ourselves, else as one step.
//   https://github.com/mlcommons/chakra, schema 0.0.4; Sridharan et al., arXiv:2305.14516
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <queue>
#include <string>
#include <unordered_map>
#include <vector>

#include "sim/base/errors.hpp"
#include "sim/base/printable.hpp"
#include "traces/chakra/chakra_nodes.hpp"
#include "traces/import.hpp"
#include "traces/imported_file.hpp"
#include "traces/names.hpp"
#include "traces/reading/input.hpp"

namespace simsgd::importers {

namespace {

constexpr std::size_t kMostCollectives = 50'000, kMostSteps = 100'000, kMostUnknown = std::size_t{1} << 20;
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

enum class ChakraPass : std::uint8_t { forward, backward, micro_batches, straggle, other };

// By our attribute, else by the node's name.
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

// What is kept of a node.
struct ChakraWork {
  std::uint64_t id = 0;
  std::uint32_t first_dep = 0, deps = 0;  // in ChakraGraph::deps
  int type = 0;
  bool cpu = false;
  ChakraPass pass = ChakraPass::other;
  double seconds = 0;
  double gradient_bytes = 0;  // of an all-reduce or a reduce-scatter
  std::string name;           // of computing
};

// All nodes of a file, as far as there is room for them.
class ChakraGraph {
 public:
  // Counts what there is no room for, and nodes with the id of another.
  void add(const ChakraNode& node, ChakraWork work, ImportedFile& file) {
    const std::size_t deps = node.ctrl_deps.size() + node.data_deps.size();
    if (nodes_.size() == kMostRecordedOperations || deps_.size() + deps > kMostDependencies)
      return file.ignore(
          fmt::format("nodes beyond {} or {} dependencies: in no layer, their order is not looked at",
                      kMostRecordedOperations, kMostDependencies));
    if (!by_id_.emplace(node.id, static_cast<std::uint32_t>(nodes_.size())).second)
      return file.ignore("nodes that repeat an id, not used for layers");
    work.id = node.id;
    work.name = work.type == kChakraComp ? printable(node.name.substr(0, kLongestName)) : "";
    work.first_dep = static_cast<std::uint32_t>(deps_.size());
    work.deps = static_cast<std::uint32_t>(deps);
    deps_.insert(deps_.end(), node.ctrl_deps.begin(), node.ctrl_deps.end());
    deps_.insert(deps_.end(), node.data_deps.begin(), node.data_deps.end());
    nodes_.push_back(std::move(work));
  }
  // Node numbers in an order that the dependencies allow, of several that may come next the smallest id
  // first. Counts what depends on nodes that are not there; throws ConfigError where they go in a circle.
  std::vector<std::uint32_t> order(ImportedFile& file) const {
    std::vector<std::vector<std::uint32_t>> followers(nodes_.size());
    std::vector<std::uint32_t> leaders(nodes_.size(), 0);
    for (std::uint32_t i = 0; i < nodes_.size(); ++i)
      for (std::uint32_t d = 0; d < nodes_[i].deps; ++d) {
        const std::size_t leader = find(deps_[nodes_[i].first_dep + d]);
        if (leader == nodes_.size()) {
          file.ignore("dependencies on missing nodes");
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
    const auto left = std::ranges::find_if(leaders, [](std::uint32_t n) { return n > 0; });
    throw ConfigError({file.name(), "", "has circular dependencies",
                       fmt::format("at node {}", nodes_[static_cast<std::size_t>(left - leaders.begin())].id),
                       "Record the trace again: a node cannot wait for itself"});
  }
  const std::vector<ChakraWork>& nodes() const { return nodes_; }
  const std::vector<std::uint64_t>& deps() const { return deps_; }
  // The node with that id; nodes().size() where there is none.
  std::size_t find(std::uint64_t id) const {
    const auto found = by_id_.find(id);
    return found == by_id_.end() ? nodes_.size() : found->second;
  }

 private:
  std::vector<ChakraWork> nodes_;
  std::vector<std::uint64_t> deps_;
  std::map<std::uint64_t, std::uint32_t> by_id_;
};

// Layers of what we wrote ourselves: the mean over the steps.
class ChakraOwnNetwork {
 public:
  void add(const ChakraNode& node, ChakraPass pass, double seconds, ImportedFile& file) {
    if (pass != ChakraPass::forward && pass != ChakraPass::backward) return;
    const std::uint32_t number = small(chakra_number(node.attributes, chakra::kLayer));
    if (number == kMostRecordedOperations) return file.ignore("nodes that cannot belong to a layer");
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
  RecordedWorkload make(const ChakraMetadata& metadata, ImportedFile& file) const {
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

 private:
  struct Sums {
    RecordedLayer layer;
    double forward_s = 0, backward_s = 0;
    std::size_t forwards = 0, backwards = 0;
  };
  std::map<std::uint32_t, Sums> layers_;
};

// Layers of others' nodes: those of computing on the GPU (else on the CPU) in the forward pass, one each. A
// backward node belongs to the forward node of its name, else, where both passes have as many, to the one in
// its place from the end, else to the layer before. Bytes that are reduced belong to the layers whose
// backward nodes the operation waits for. No layer where there is no forward node, or nothing takes time.
RecordedWorkload chakra_network(const ChakraGraph& graph, ImportedFile& file) {
  const std::vector<std::uint32_t> order = graph.order(file);
  const std::vector<ChakraWork>& nodes = graph.nodes();
  const bool on_gpu = std::ranges::any_of(
      nodes, [](const ChakraWork& n) { return n.type == kChakraComp && !n.cpu && n.seconds > 0; });
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
      made.layers[*std::ranges::min_element(waits_for)].tensors.push_back({numbers});
    else if (node.gradient_bytes > 0)
      file.ignore("reductions that wait for no backward node, so their bytes belong to no layer");
  }
  made.batch = settled_batch(file, 0);
  made.name = network_name(file.name(), {".et"});
  made.source = fmt::format(
      "{}: Chakra execution trace; a layer is a node of the forward pass; assumed: what is reduced are gradients of 4 bytes, of the layer whose backward pass it waits for{}",
      printable(file.name()),
      joined == 0 ? "" : fmt::format("; {} backward nodes are counted with the layer before", joined));
  return made;
}

// One rank's file.
class ChakraTrace {
 public:
  ChakraTrace(Input& input, ImportedFile& file, int otherwise_rank) : reader_(input), file_(file) {
    const ChakraAttributes& attributes = reader_.metadata().attributes;
    const double rank = chakra_number(attributes, chakra::kRank),
                 workers = chakra_number(attributes, chakra::kWorkers);
    const int by_name = rank_in_file_name(file.name());
    rank_ = rank >= 0 && rank < 1e9 ? static_cast<int>(rank) : by_name >= 0 ? by_name : otherwise_rank;
    workers_ = workers >= 1 && workers < 1e9 ? static_cast<int>(workers) : 0;
    own_ = attributes.contains(chakra::kNetwork);
  }

  RecordedWorkload read() {
    for (ChakraNode node; reader_.next(node);) take(node);
    if (reader_.damaged() > 0) file_.ignore("nodes that cannot be read", reader_.damaged());
    if (reader_.cut()) file_.ignore("truncated last nodes");
    for (const auto& [step, compute_s] : compute_s_)
      if (compute_s > 0) file_.steps.push_back({rank_, step, compute_s});
    if (!own_) return chakra_network(graph_, file_);
    (void)graph_.order(file_);
    return network_.make(reader_.metadata(), file_);
  }

 private:
  double seconds(const ChakraNode& node) {
    const double exact = chakra_number(node.attributes, chakra::kSeconds);
    if (exact >= 0 && std::isfinite(exact)) return exact;
    if (exact < 0 || node.duration_us >= (std::uint64_t{1} << 63U)) {
      file_.ignore("durations that are negative, or of 2^63 us and more");
      return 0;
    }
    return static_cast<double>(node.duration_us) / 1e6;
  }

  void take(const ChakraNode& node) {
    ChakraWork work;
    work.type = node.type;
    work.seconds = node.type == kChakraComp || node.type == kChakraCollective ? seconds(node) : 0;
    if (node.type == kChakraComp)
      computing(node, work);
    else if (node.type == kChakraCollective)
      collective(node, work);
    else if (node.type == kChakraSend || node.type == kChakraReceive)
      file_.understand("messages between two ranks, left out");
    else if (node.type >= 1 && node.type <= 3)
      file_.understand("nodes of memory and metadata, left out");
    else
      unknown();
    graph_.add(node, std::move(work), file_);
  }

  /// Zeros without end are nodes without anything.
  void unknown() {
    file_.ignore("nodes of unknown type");
    if (++unknown_ > kMostUnknown)
      throw ConfigError({file_.name(), "",
                         fmt::format("holds more than {} nodes of unknown type", kMostUnknown), "",
                         "Name a Chakra execution trace"});
  }

  void computing(const ChakraNode& node, ChakraWork& work) {
    work.pass = chakra_pass(node);
    work.cpu = chakra_number(node.attributes, "is_cpu_op") == 1;
    file_.understand(work.cpu ? "nodes of computing on the CPU" : "nodes of computing");
    if (own_) network_.add(node, work.pass, work.seconds, file_);
    if (work.pass == ChakraPass::other || work.cpu) return;
    const std::uint64_t step = step_of(node).value_or(1);
    if (compute_s_.size() < kMostSteps || compute_s_.contains(step)) compute_s_[step] += work.seconds;
  }

  static std::optional<std::uint64_t> step_of(const ChakraNode& node) {
    const double step = chakra_number(node.attributes, chakra::kStep);
    return step >= 0 && step < 1e15 ? std::optional(static_cast<std::uint64_t>(step)) : std::nullopt;
  }

  void collective(const ChakraNode& node, ChakraWork& work) {
    Measurement row;
    row.operation = chakra_operation(chakra_number(node.attributes, "comm_type"));
    row.bytes = chakra_number(node.attributes, "comm_size");
    if (row.operation.empty() || !(row.bytes >= 0))
      return file_.ignore("collectives without a known type or a size");
    if (row.operation == "all_reduce" || row.operation == "reduce_scatter") work.gradient_bytes = row.bytes;
    const std::string group = chakra_text(node.attributes, "pg_name");
    row.workers = group.empty() ? workers_ : 0;
    if (const double whole = chakra_number(node.attributes, chakra::kBytes); whole >= 0)
      row.bytes = whole;
    else if (row.operation == "all_gather" && (row.workers > 0 || file_.constants().workers > 0))
      row.bytes *= row.workers > 0 ? row.workers : file_.constants().workers;
    else if (row.operation == "all_gather")
      return file_.ignore("all-gathers that give only one rank's part; use --set workers=N");
    row.quantity = work.seconds > 0 ? "time_s" : "size_bytes";
    row.value = work.seconds > 0 ? work.seconds : row.bytes;
    row.labels["rank"] = std::to_string(rank_);
    if (!group.empty()) row.labels["group"] = printable(group);
    if (const auto step = step_of(node)) row.labels["step"] = std::to_string(*step);
    if (++collectives_ > kMostCollectives)
      return file_.ignore(fmt::format("collectives beyond the first {}", kMostCollectives));
    file_.add(std::move(row));
  }

  ChakraReader reader_;
  ImportedFile& file_;
  int rank_ = 0, workers_ = 0;
  bool own_ = false;
  ChakraGraph graph_;
  ChakraOwnNetwork network_;
  std::map<std::uint64_t, double> compute_s_;  // by step
  std::size_t collectives_ = 0, unknown_ = 0;
};

bool same_layers(const RecordedWorkload& a, const RecordedWorkload& b) {
  return std::equal(a.layers.begin(), a.layers.end(), b.layers.begin(), b.layers.end(),
                    [](const RecordedLayer& x, const RecordedLayer& y) {
                      return x.name == y.name && x.tensors == y.tensors;
                    });
}

class Chakra final : public Importer {
 public:
  void read(Input& input, ImportedFile& file) override {
    RecordedWorkload network = ChakraTrace(input, file, files_++).read();
    if (network.layers.empty()) return;
    if (first_ && same_layers(*first_, network)) {
      file.need_no_row();
      return file.understand("networks that another rank's file contains");
    }
    if (!first_) first_ = network;
    file.workload = std::move(network);
  }

 private:
  int files_ = 0;
  std::optional<RecordedWorkload> first_;
};

// A varint, and so many bytes that begin as metadata do; then another length and the begin of a node.
bool is_chakra(std::string_view head) {
  const auto length = [&head](std::size_t& at) {
    std::size_t value = 0;
    for (unsigned shift = 0; at < head.size() && shift <= 28; shift += 7) {
      const auto byte = static_cast<unsigned char>(head[at++]);
      value |= static_cast<std::size_t>(byte & 127U) << shift;
      if (byte < 128) return value;
    }
    return std::size_t{0};
  };
  std::size_t at = 0;
  const std::size_t metadata = length(at);
  if (metadata < 2 || at + metadata >= head.size() || (head[at] != '\x0a' && head[at] != '\x12'))
    return false;
  at += metadata;
  const std::size_t node = length(at);
  return node >= 2 && at < head.size() && (head[at] == '\x08' || head[at] == '\x12');
}

}  // namespace

std::vector<ImportFormat> chakra() {
  return {{{.name = "chakra",
            .summary = "Chakra execution traces (.et), one file per rank: collectives, network, computing",
            .citation = "https://github.com/mlcommons/chakra; arXiv:2305.14516"},
           is_chakra,
           make_importer<Chakra>}};
}

}  // namespace simsgd::importers
