// chakra: execution traces of MLCommons' Chakra (.et), one file per rank, NAME.RANK.et. Read: collectives as
// measurements (time_s, or size_bytes where the trace has no times), the network, and the computing of each
// rank: by step where we wrote the file ourselves, else as one step.
//   https://github.com/mlcommons/chakra, schema 0.0.4; Sridharan et al., arXiv:2305.14516
#include <fmt/format.h>

#include <cmath>
#include <map>
#include <optional>

#include "sim/base/errors.hpp"
#include "sim/base/printable.hpp"
#include "traces/chakra/chakra_network.hpp"
#include "traces/chakra/chakra_nodes.hpp"
#include "traces/import_format.hpp"
#include "traces/reading/text.hpp"

namespace simsgd::importers {

namespace {

constexpr std::size_t kMostCollectives = 50'000, kMostSteps = 100'000, kMostUnknown = std::size_t{1} << 20;

// "a/job.3.et" -> 3; -1 where the name has none.
int rank_in_name(std::string name) {
  if (name.ends_with(".gz")) name.resize(name.size() - 3);
  if (!name.ends_with(".et")) return -1;
  name.resize(name.size() - 3);
  int rank = -1;
  return read_count(name.substr(name.rfind('.') + 1), 0, rank) ? rank : -1;
}

// One rank's file.
class ChakraTrace {
 public:
  ChakraTrace(Input& input, ImportedFile& file, int otherwise_rank) : reader_(input), file_(file) {
    const ChakraAttributes& attributes = reader_.metadata().attributes;
    const double rank = chakra_number(attributes, chakra::kRank),
                 workers = chakra_number(attributes, chakra::kWorkers);
    const int by_name = rank_in_name(file.name());
    rank_ = rank >= 0 && rank < 1e9 ? static_cast<int>(rank) : by_name >= 0 ? by_name : otherwise_rank;
    workers_ = workers >= 1 && workers < 1e9 ? static_cast<int>(workers) : 0;
    own_ = attributes.contains(chakra::kNetwork);
  }

  RecordedWorkload read() {
    for (ChakraNode node; reader_.next(node);) take(node);
    if (reader_.damaged() > 0) file_.ignore("nodes that cannot be read", reader_.damaged());
    if (reader_.cut()) file_.ignore("last nodes that are cut");
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
    file_.ignore("nodes of a type that is not known");
    if (++unknown_ > kMostUnknown)
      throw ConfigError({file_.name(), "",
                         fmt::format("holds more than {} nodes of types that are not known", kMostUnknown),
                         "", "Name a Chakra execution trace"});
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
      return file_.ignore("all-gathers of which one rank's part is known: set workers");
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
      return file.understand("networks that another rank's file tells");
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
