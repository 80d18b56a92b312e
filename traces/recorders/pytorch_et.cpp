// pytorch_et: PyTorch's execution traces (ExecutionTraceObserver), JSON, one file per rank: what the host
// called, a node each with the sizes of its inputs, but no times; and the same with times and kernels, as
// Chakra's trace_link writes them, which Chakra's converter reads. Both become the events of a Kineto trace,
// and are read as one. Without times: sizes of collectives, and the network's layers.
//   https://github.com/pytorch/pytorch, torch/csrc/profiler/standalone/execution_trace_observer.cpp, schemas
//   1.0.2-chakra.0.0.4 to 1.1.1-chakra.0.0.4: {"schema", "nodes": [{"id", "name", "ctrl_deps": the caller's
//   id, "inputs": {"values", "shapes", "types"}, "outputs", "attrs": [{"name", "type", "value"}]}]}; of a
//   collective (record_param_comms) since 1.1.0 the attributes collective_name, dtype, in_msg_nelems,
//   out_msg_nelems, pg_name, pg_size, before that among its inputs (c10d/ParamCommsUtils.hpp)
//   https://github.com/mlcommons/chakra, src/trace_link/trace_linker.py: ts, inclusive_dur and exclusive_dur
//   in us; kernels are nodes with "cat" and "stream", called by the operator that launched them
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <unordered_map>

#include "sim/base/printable.hpp"
#include "traces/import.hpp"
#include "traces/imported_file.hpp"
#include "traces/names.hpp"
#include "traces/reading/input.hpp"
#include "traces/reading/json.hpp"
#include "traces/recorders/kineto.hpp"

namespace simsgd::importers {

namespace {

using nlohmann::json;

constexpr const char* kComms = "record_param_comms";

struct EtNode {
  double id = kNotGiven, parent = kNotGiven;
  double stream = 0;
  TraceEvent event;  // category: of a kernel what "cat" says
  bool device = false;
  std::size_t order = 0, end = 0;  // among all nodes by id, and the last one that it called
};

// Sizes of tensors; of lists and other inputs none.
void read_shapes(const json& node, TraceEvent& event) {
  const json &inputs = member(member(node, "inputs"), "shapes"),
             &outputs = member(member(node, "outputs"), "shapes");
  if (outputs.is_array() && !outputs.empty() && outputs[0].is_array() && !outputs[0].empty()) {
    event.outputs = 1;
    for (const json& side : outputs[0]) event.outputs *= number_of(side);
  }
  if (!inputs.is_array()) return;
  for (const json& shape : inputs) {
    const bool flat =
        shape.is_array() && std::ranges::all_of(shape, [](const json& s) { return s.is_number(); });
    for (std::size_t i = 0; flat && i < shape.size(); ++i) event.sizes.push_back(shape[i].get<double>());
    event.size_ends.push_back(event.sizes.size());
  }
}

// Elements of a tensor, [id, storage, offset, elements, bytes of one, device], or of a list of them.
double elements_in(const json& value) {
  if (!value.is_array() || value.empty()) return 0;
  if (value[0].is_number()) return value.size() >= 5 && number_of(value[3]) > 0 ? number_of(value[3]) : 0;
  double sum = 0;
  for (const json& each : value)
    if (each.is_array() && !each.empty() && each[0].is_number()) sum += elements_in(each);
  return sum;
}

// Before 1.1.0 what is known of a collective stands among the inputs: tensors, ..., its name, ..., ranks.
void read_old_collective(const json& inputs, TraceEvent& event) {
  const json &values = member(inputs, "values"), &types = member(inputs, "types");
  if (!values.is_array() || !types.is_array()) return;
  double elements = 0;
  for (std::size_t i = 0; i < values.size() && i < types.size(); ++i) {
    const std::string type = text_of(types[i]);
    const std::size_t tensor = type.find("Tensor(");
    if (tensor != std::string::npos) {
      elements += elements_in(values[i]);
      event.dtype = type.substr(tensor + 7, type.find(')', tensor) - tensor - 7);
    } else if (values[i].is_string() && event.collective.empty()) {
      event.collective = torch_operation(text_of(values[i]));
    }
  }
  if (elements > 0) event.in_elements = event.out_elements = elements;
  if (!values.empty()) event.group_size = number_of(values.back());
}

void read_attributes(const json& attributes, TraceEvent& event) {
  if (!attributes.is_array()) return;
  for (const json& each : attributes) {
    const std::string name = text_of(member(each, "name"));
    const json& value = member(each, "value");
    if (name == "tid") event.tid.number = number_of(value);
    if (name == "seq_id" && number_of(value) >= 0) event.sequence_number = number_of(value);
    if (name == "collective_name") event.collective = text_of(value);
    if (name == "dtype") event.dtype = text_of(value);
    if (name == "in_msg_nelems") event.in_elements = number_of(value);
    if (name == "out_msg_nelems") event.out_elements = number_of(value);
    if (name == "pg_name") event.group_name = text_of(value);
    if (name == "pg_size") event.group_size = number_of(value);
  }
}

EtNode node_of(const json& written) {
  EtNode node;
  TraceEvent& event = node.event;
  event.phase = 'X';
  node.id = number_of(member(written, "id"));
  const auto& parent = member(written, "ctrl_deps");
  node.parent = number_of(parent.is_array() && !parent.empty() ? parent[0] : parent);
  event.name = text_of(member(written, "name"));
  event.category = text_of(member(written, "cat"));
  node.device = !event.category.empty();
  event.ts_us = number_of(member(written, "ts"));
  event.dur_us = number_of(member(written, node.device ? "exclusive_dur" : "inclusive_dur"));
  if (const double stream = number_of(member(written, "stream")); !std::isnan(stream)) node.stream = stream;
  event.external_id = node.id;
  read_shapes(written, event);
  read_attributes(member(written, "attrs"), event);
  if (event.name == kComms && event.collective.empty()) read_old_collective(member(written, "inputs"), event);
  return node;
}

// One file: its nodes, as the events of a Kineto trace.
class ExecutionTrace {
 public:
  explicit ExecutionTrace(ImportedFile& file) : file_(file) {}

  void add(const json& element) {
    if (nodes_.size() == kMostRecordedOperations)
      return file_.ignore(fmt::format("nodes beyond {}: not read", kMostRecordedOperations));
    EtNode node = node_of(element);
    if (!(node.id >= 0 && node.id < 4294967295.0) || node.event.name.empty())
      return file_.ignore("nodes without an id or a name");
    if (!by_id_.emplace(node.id, nodes_.size()).second) return file_.ignore("nodes that repeat an id");
    nodes_.push_back(std::move(node));
  }

  // Whether there are times, in which case the events have them.
  bool tell(kineto::Events& events) {
    const bool timed =
        std::ranges::any_of(nodes_, [](const EtNode& n) { return n.device && n.event.ts_us >= 0; });
    if (!timed) order_for_time();
    double first_us = INFINITY, last_us = -INFINITY;
    bool steps = false;
    const TraceHead none;
    for (EtNode& node : nodes_) {
      if (node.device || std::isnan(node.event.ts_us) || !(node.event.dur_us >= 0)) continue;
      node.event.category = "cpu_op";
      steps = steps || node.event.name.starts_with("ProfilerStep#");
      first_us = std::min(first_us, node.event.ts_us);
      last_us = std::max(last_us, node.event.ts_us + node.event.dur_us);
      events.event(node.event, none);
    }
    for (const EtNode* kernel : kernels()) {
      last_us = std::max(last_us, kernel->event.ts_us + kernel->event.dur_us);
      tell_kernel(*kernel, events);
    }
    if (steps || !(last_us > first_us)) return timed;
    file_.understand("traces without steps (ProfilerStep#k), taken as one step");
    TraceEvent step;
    step.phase = 'X';
    step.category = "user_annotation";
    step.name = "ProfilerStep#0";
    step.ts_us = first_us;
    step.dur_us = last_us - first_us;
    events.event(step, none);
    return timed;
  }

  // A trace without times tells sizes alone.
  void add_sizes(double rank) {
    for (const EtNode& node : nodes_) {
      const TraceEvent& event = node.event;
      if (node.device || event.name != kComms) continue;
      Measurement row;
      row.quantity = "size_bytes";
      row.operation = torch_operation(event.collective);
      row.value = row.bytes =
          type_bytes(event.dtype) * whole_array(row.operation, event.in_elements, event.out_elements);
      if (row.operation.empty() || !(row.bytes > 0)) {
        file_.ignore("collectives of unknown operation or size");
        continue;
      }
      if (event.group_size >= 1 && event.group_size < 0x1p24)
        row.workers = static_cast<int>(event.group_size);
      row.labels = {{"rank", fmt::format("{}", rank)}, {"type", type_name(event.dtype)}};
      if (!event.group_name.empty()) row.labels["group"] = printable(event.group_name);
      file_.add(std::move(row));
    }
  }

  bool empty() const { return nodes_.empty(); }

 private:
  const EtNode* parent_of(const EtNode& node) const {
    const auto found = by_id_.find(node.parent);
    return found == by_id_.end() ? nullptr : &nodes_[found->second];
  }

  // Ids grow in the order of calls: a node lasts until the last one that it called.
  void order_for_time() {
    std::vector<EtNode*> all;
    for (EtNode& node : nodes_) all.push_back(&node);
    std::ranges::sort(all, [](const EtNode* a, const EtNode* b) { return a->id < b->id; });
    for (std::size_t i = 0; i < all.size(); ++i) all[i]->order = all[i]->end = i;
    for (std::size_t i = all.size(); i-- > 0;) {
      const auto caller = by_id_.find(all[i]->parent);
      if (caller == by_id_.end()) continue;
      EtNode& node = nodes_[caller->second];
      if (node.order < i) node.end = std::max(node.end, all[i]->end);
    }
    for (EtNode* node : all) {
      node->event.ts_us = static_cast<double>(node->order);
      node->event.dur_us = static_cast<double>(node->end - node->order) + 0.5;
    }
  }

  // assumed: a kernel begins when it was launched and the one before it on its stream has ended; what
  // trace_link gives them is the time of the launch.
  std::vector<const EtNode*> kernels() {
    std::vector<EtNode*> all;
    for (EtNode& node : nodes_)
      if (node.device && node.event.ts_us >= 0 && node.event.dur_us >= 0) all.push_back(&node);
    std::ranges::stable_sort(
        all, [](const EtNode* a, const EtNode* b) { return a->event.ts_us < b->event.ts_us; });
    std::map<double, double> ends_us;  // by stream
    for (EtNode* node : all) {
      const auto end = ends_us.try_emplace(node->stream, -INFINITY).first;
      node->event.ts_us = std::max(node->event.ts_us, end->second);
      end->second = node->event.ts_us + node->event.dur_us;
    }
    return {all.begin(), all.end()};
  }

  void tell_kernel(const EtNode& kernel, kineto::Events& events) {
    const TraceHead none;
    TraceEvent event = kernel.event;
    event.correlation = kernel.id;
    if (const EtNode* caller = parent_of(kernel); caller != nullptr && !std::isnan(caller->event.ts_us)) {
      TraceEvent launch;
      launch.phase = 'X';
      launch.category = "cuda_runtime";
      launch.name = "cudaLaunchKernel";
      launch.tid = caller->event.tid;
      launch.ts_us = caller->event.ts_us;
      launch.dur_us = 0;
      launch.correlation = kernel.id;
      event.external_id = caller->id;
      events.event(launch, none);
    }
    events.event(event, none);
  }

  ImportedFile& file_;
  std::vector<EtNode> nodes_;
  std::unordered_map<double, std::size_t> by_id_;
};

class PytorchEt final : public Importer {
 public:
  void read(Input& input, ImportedFile& file) override {
    ExecutionTrace trace(file);
    read_json_elements(input, file,
                       {.list = "nodes",
                        .other = {},
                        .element = [&](const json& node) { trace.add(node); },
                        .value = [](const std::string&, const json&) {}});
    if (trace.empty()) file.ignore("files without nodes");
    kineto::Events events(file);
    const bool timed = trace.tell(events);
    events.finish();
    TraceHead head;
    head.rank = ranks_.rank_of(rank_in_file_name(file.name()));
    if (!timed && !trace.empty()) {
      file.understand("files without kernel times, which Chakra's trace_link adds");
      trace.add_sizes(head.rank);
    }
    ranks_.take(events, head, file, timed);
  }

  void finish() override { ranks_.finish(); }

 private:
  kineto::Ranks ranks_;
};

bool is_pytorch_et(std::string_view head) {
  return first_character(head) == '{' && holds(head, "\"schema\"") && holds(head, "-chakra.") &&
         holds(head, "\"nodes\"");
}

}  // namespace

std::vector<ImportFormat> pytorch_et() {
  return {
      {{.name = "pytorch_et",
        .summary = "PyTorch's execution traces (JSON), one file per rank, with or without Chakra's times",
        .citation =
            "https://github.com/pytorch/pytorch, execution_trace_observer.cpp; https://github.com/mlcommons/chakra, trace_linker.py"},
       is_pytorch_et,
       make_importer<PytorchEt>}};
}

}  // namespace simsgd::importers
