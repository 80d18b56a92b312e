// triosim: the operators of one training step on one GPU, as TrioSim records them: a CSV of operators
// (microseconds, stage forward, backward or optimizer, tensors by id) and one of tensors (shapes and roles).
// Both belong in one call; NAME_trace.csv goes with NAME_tensor.csv. Read: a layer for each forward operator,
// with its parameters; the time of a backward operator is that of the layer whose parameters it reads, else
// of the last one of its kind that has none yet (autograd goes backwards), else of the layer before it. Times
// are those without overlap (Operator_cudatimenooverlap) where the file has them: assumed, because they add
// up where the others count a kernel several times.
//   https://github.com/sarchlab/triosim, MIT
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "sim/base/errors.hpp"
#include "sim/base/printable.hpp"
#include "traces/import.hpp"
#include "traces/imported_file.hpp"
#include "traces/reading/csv.hpp"
#include "traces/reading/input.hpp"

namespace simsgd::importers {

namespace {

constexpr std::size_t kMostTensorIds = std::size_t{1} << 23;

constexpr std::array<std::string_view, 3> kStages = {"forward", "backward", "optimizer"};  // as TracedStage

enum class TracedStage : std::uint8_t { forward, backward, optimizer };

struct TracedOperator {
  std::string id, kind;
  TracedStage stage = TracedStage::forward;
  std::vector<std::uint32_t> tensors;  ///< that it reads
  double time_s = 0;
  double outputs = kNotGiven;  ///< entries
};

struct OperatorTrace {
  ImportedFile* file = nullptr;
  std::vector<TracedOperator> operators;     ///< in the order in which they ran
  std::array<double, 3> all_s{}, alone_s{};  ///< by stage: with and without overlap
};

struct TensorTable {
  ImportedFile* file = nullptr;
  std::unordered_map<std::uint32_t, std::vector<double>> parameters;  ///< shapes by id
  int batch = 0;                                                      ///< the first side of the first input
};

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

// The layers of one trace, one for each forward operator, to which the backward operators are put.
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
        trace_.file->understand("parameters that several layers share, counted with the first");
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
    const auto parameter =
        std::ranges::find_if(each.tensors, [&](std::uint32_t id) { return owner_.contains(id); });
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

// Without what frameworks put around it: "aten::batch_norm" and "...: CudnnBatchNormBackward0" are
// "batchnorm".
std::string operator_kind(std::string_view name) {
  if (const std::size_t colon = name.rfind(':'); colon != std::string_view::npos)
    name.remove_prefix(colon + 1);
  std::string kind = small_letters(name);
  std::erase_if(kind, [](char c) { return c == '_' || c == ' '; });
  while (!kind.empty() && is_digit(kind.back())) kind.pop_back();
  if (kind.ends_with("backward")) kind.resize(kind.size() - 8);
  for (const std::string_view maker : {"cudnn", "native", "miopen", "fused"})
    if (kind.starts_with(maker)) kind.erase(0, maker.size());
  return kind;
}

// "[64, 3, 7, 7]" -> 64, 3, 7, 7; empty where it is not a shape.
std::vector<double> shape_of(std::string_view text) {
  std::vector<double> sides;
  if (!read_list(text, sides, ',')) return {};
  const bool possible = std::ranges::all_of(
      sides, [](double side) { return side >= 1 && side <= 1e12 && side == std::floor(side); });
  return possible ? sides : std::vector<double>{};
}

class TrioSim final : public Importer {
 public:
  void read(Input& input, ImportedFile& file) override {
    CsvReader reader(input, ',');
    std::vector<std::string> record;
    if (!reader.record(record)) return;
    const CsvColumns header(record);
    if (header.has("OperatorName") && header.has("stage")) return read_operators(reader, header, file);
    if (header.has("TensorID") && header.has("TensorShape")) return read_tensors(reader, header, file);
    throw ConfigError({file.name(), "", "has no columns OperatorName and stage, nor TensorID and TensorShape",
                       "", "Name TrioSim's table of operators, and that of tensors"});
  }

  void finish() override {
    for (OperatorTrace& trace : traces_) {
      add_rows(trace);
      const TensorTable* tensors = tensors_of(trace);
      if (tensors == nullptr) {
        trace.file->ignore(
            "tables of operators without a table of tensors, which has the parameters and the batch");
        continue;
      }
      RecordedWorkload network = TracedNetwork(trace, *tensors).make();
      if (!network.layers.empty()) trace.file->workload = std::move(network);
    }
    for (TensorTable& table : tensors_) {
      if (!traces_.empty()) continue;
      table.file->need_row();
      table.file->ignore("tables of tensors without a table of operators");
    }
  }

 private:
  void read_operators(CsvReader& reader, const CsvColumns& header, ImportedFile& file) {
    OperatorTrace trace;
    trace.file = &file;
    std::vector<std::string> record;
    std::vector<double> list;
    while (reader.record(record)) {
      TracedOperator made;
      const auto stage = std::ranges::find(kStages, header.of(record, "stage"));
      double all_us = 0, alone_us = 0;
      if (!read_number(header.of(record, "Operator_cudatime"), all_us)) all_us = kNotGiven;
      if (!read_number(header.of(record, "Operator_cudatimenooverlap"), alone_us)) alone_us = all_us;
      if (std::isnan(all_us)) all_us = alone_us;
      if (stage == kStages.end() || !(all_us >= 0) || !(alone_us >= 0)) {
        file.ignore("operators without a stage, or a time of 0 or more");
        continue;
      }
      if (header.of(record, "gpuid") != "" && header.of(record, "gpuid") != "0") {
        file.understand("operators of GPUs other than 0, left out");
        continue;
      }
      made.stage = static_cast<TracedStage>(stage - kStages.begin());
      trace.all_s[static_cast<std::size_t>(made.stage)] += all_us / 1e6;
      trace.alone_s[static_cast<std::size_t>(made.stage)] += alone_us / 1e6;
      if (made.stage == TracedStage::optimizer) continue;
      made.time_s = alone_us / 1e6;
      made.id = printable(std::string(header.of(record, "OperatorID")));
      made.kind = operator_kind(printable(std::string(header.of(record, "OperatorName"))));
      if (read_list(header.of(record, "Operator_input"), list))
        for (const double id : list)
          if (id >= 0 && id < 4294967296.0) made.tensors.push_back(static_cast<std::uint32_t>(id));
      if (read_list(header.of(record, "OutputSize"), list) && !list.empty() && list[0] >= 0)
        made.outputs = list[0];
      ids_ += made.tensors.size();
      if (trace.operators.size() == kMostRecordedOperations || ids_ > kMostTensorIds)
        throw ConfigError({file.name(), "",
                           fmt::format("has more than {} operators, or {} tensors that they read",
                                       kMostRecordedOperations, kMostTensorIds),
                           "", "Name the trace of one step"});
      trace.operators.push_back(std::move(made));
    }
    traces_.push_back(std::move(trace));
  }

  void read_tensors(CsvReader& reader, const CsvColumns& header, ImportedFile& file) {
    file.need_no_row();
    TensorTable& table = tensors_.emplace_back();
    table.file = &file;
    std::vector<std::string> record;
    while (reader.record(record)) {
      int id = 0;
      const std::string_view role = header.of(record, "TensorType");
      const bool parameter = role == "weight" || role.substr(0, role.find('=')) == "bias";
      if (!read_count(header.of(record, "TensorID"), 0, id) || role.empty()) {
        file.ignore("tensors without an id or a role");
        continue;
      }
      const std::vector<double> sides = shape_of(header.of(record, "TensorShape"));
      if (role == "input" && table.batch == 0 && sides.size() > 1 && sides[0] <= 1e6)
        table.batch = static_cast<int>(sides[0]);
      if (!parameter) continue;
      if (header.of(record, "TensorShape") == "[]")
        file.understand("missing weights and biases (None)");
      else if (sides.empty())
        file.ignore("parameters without a shape");
      else if (table.parameters.size() < kMostRecordedOperations)
        table.parameters.emplace(static_cast<std::uint32_t>(id), sides);
      else
        file.ignore(fmt::format("parameters beyond the first {}", kMostRecordedOperations));
    }
    file.understand("tensors that are parameters", table.parameters.size());
  }

  // The one of the same name, else the only one.
  const TensorTable* tensors_of(const OperatorTrace& trace) const {
    for (const TensorTable& table : tensors_)
      if (network_name(table.file->name(), {"_tensor.csv", ".csv"}) ==
          network_name(trace.file->name(), {"_trace.csv", ".csv"}))
        return &table;
    return tensors_.size() == 1 && traces_.size() == 1 ? &tensors_[0] : nullptr;
  }

  static void add_rows(const OperatorTrace& trace) {
    for (std::size_t stage = 0; stage < kStages.size(); ++stage)
      for (const auto& [label, time_s] :
           {std::pair{"all", trace.all_s[stage]}, std::pair{"without_overlap", trace.alone_s[stage]}}) {
        if (!(time_s > 0)) continue;
        trace.file->add({.quantity = std::string(kStages[stage]) + "_s",
                         .workers = 1,
                         .value = time_s,
                         .labels = {{"kernel_time", label},
                                    {"workload", network_name(trace.file->name(), {"_trace.csv", ".csv"})}}});
      }
  }

  std::vector<OperatorTrace> traces_;
  std::vector<TensorTable> tensors_;
  std::size_t ids_ = 0;
};

bool is_triosim(std::string_view head) {
  const std::string_view line = head.substr(0, head.find('\n'));
  return line.find("OperatorName") != std::string_view::npos
             ? line.find("stage") != std::string_view::npos
             : line.find("TensorID") != std::string_view::npos &&
                   line.find("TensorShape") != std::string_view::npos;
}

}  // namespace

std::vector<ImportFormat> triosim() {
  return {{{.name = "triosim",
            .summary = "operators and tensors of a step on one GPU, two CSV files of TrioSim",
            .citation = "https://github.com/sarchlab/triosim"},
           is_triosim,
           make_importer<TrioSim>}};
}

}  // namespace simsgd::importers
