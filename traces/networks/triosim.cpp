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
#include <map>

#include "sim/base/errors.hpp"
#include "sim/base/printable.hpp"
#include "traces/import_format.hpp"
#include "traces/networks/recorded_network.hpp"
#include "traces/networks/triosim_network.hpp"
#include "traces/reading/csv.hpp"
#include "traces/reading/text.hpp"

namespace simsgd::importers {

namespace {

constexpr std::size_t kMostTensorIds = std::size_t{1} << 23;

constexpr std::array<std::string_view, 3> kStages = {"forward", "backward", "optimizer"};  // as TracedStage

// "[64, 3, 7, 7]" -> 64, 3, 7, 7; empty where it is no shape.
std::vector<double> shape_of(std::string_view text) {
  std::string list(text);
  std::replace(list.begin(), list.end(), ',', ';');
  std::vector<double> sides;
  if (!read_list(list, sides)) return {};
  const bool possible = std::all_of(sides.begin(), sides.end(), [](double side) {
    return side >= 1 && side <= 1e12 && side == std::floor(side);
  });
  return possible ? sides : std::vector<double>{};
}

// Columns by their names.
class CsvHeader {
 public:
  explicit CsvHeader(const std::vector<std::string>& names) {
    for (std::size_t i = 0; i < names.size(); ++i) at_.emplace(std::string(trimmed(names[i])), i);
  }
  bool has(const std::string& name) const { return at_.contains(name); }
  std::string_view of(const std::vector<std::string>& record, const std::string& name) const {
    const auto found = at_.find(name);
    return found == at_.end() || found->second >= record.size() ? "" : trimmed(record[found->second]);
  }

 private:
  std::map<std::string, std::size_t> at_;
};

class TrioSim final : public Importer {
 public:
  void read(Input& input, ImportedFile& file) override {
    CsvReader reader(input, ',');
    std::vector<std::string> record;
    if (!reader.record(record)) return;
    const CsvHeader header(record);
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
        trace.file->ignore("tables of operators without one of tensors, which tells parameters and batch");
        continue;
      }
      RecordedWorkload network = traced_network(trace, *tensors);
      if (!network.layers.empty()) trace.file->workload = std::move(network);
    }
    for (TensorTable& table : tensors_) {
      if (!traces_.empty()) continue;
      table.file->need_row();
      table.file->ignore("tables of tensors without one of operators");
    }
  }

 private:
  void read_operators(CsvReader& reader, const CsvHeader& header, ImportedFile& file) {
    OperatorTrace trace;
    trace.file = &file;
    std::vector<std::string> record;
    std::vector<double> list;
    while (reader.record(record)) {
      TracedOperator made;
      const auto stage = std::find(kStages.begin(), kStages.end(), header.of(record, "stage"));
      double all_us = 0, alone_us = 0;
      if (!read_number(header.of(record, "Operator_cudatime"), all_us)) all_us = kNotGiven;
      if (!read_number(header.of(record, "Operator_cudatimenooverlap"), alone_us)) alone_us = all_us;
      if (std::isnan(all_us)) all_us = alone_us;
      if (stage == kStages.end() || !(all_us >= 0) || !(alone_us >= 0)) {
        file.ignore("operators without a stage, or a time of 0 or more");
        continue;
      }
      if (header.of(record, "gpuid") != "" && header.of(record, "gpuid") != "0") {
        file.understand("operators of other GPUs than 0, left out");
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

  static void read_tensors(CsvReader& reader, const CsvHeader& header, ImportedFile& file,
                           TensorTable& table) {
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
        file.understand("weights and biases that are not there (None)");
      else if (sides.empty())
        file.ignore("parameters without a shape");
      else if (table.parameters.size() < kMostRecordedOperations)
        table.parameters.emplace(static_cast<std::uint32_t>(id), sides);
      else
        file.ignore(fmt::format("parameters beyond the first {}", kMostRecordedOperations));
    }
    file.understand("tensors that are parameters", table.parameters.size());
  }
  void read_tensors(CsvReader& reader, const CsvHeader& header, ImportedFile& file) {
    file.need_no_row();
    TensorTable& table = tensors_.emplace_back();
    table.file = &file;
    read_tensors(reader, header, file, table);
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
        Measurement row;
        row.quantity = std::string(kStages[stage]) + "_s";
        row.workers = 1;
        row.value = time_s;
        row.labels = {{"kernel_time", label},
                      {"workload", network_name(trace.file->name(), {"_trace.csv", ".csv"})}};
        trace.file->add(std::move(row));
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
           +[](const ImportConstants&) -> std::unique_ptr<Importer> { return std::make_unique<TrioSim>(); }}};
}

}  // namespace simsgd::importers
