// nccl_inspector: JSON lines of NCCL's Inspector plug-in, one file per process, plain or compressed. A
// kernel's time includes waiting for the others, so that of all ranks' records of one operation the last
// starter's, the smallest, is nearest the transfer: it becomes the measurement. Files of one job belong in
// one call.
//   https://github.com/NVIDIA/nccl, plugins/profiler/inspector
#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "sim/base/printable.hpp"
#include "traces/import.hpp"
#include "traces/names.hpp"
#include "traces/reading/input.hpp"
#include "traces/reading/json.hpp"
#include "traces/recorders/collective_records.hpp"

namespace simsgd::importers {

namespace {

using nlohmann::json;

// assumed: connections are made and memory is registered in the first few operations of a communicator.
constexpr std::size_t kStartUpOperations = 5;

// From the best: by the GPU's clock, then by the host's, around the kernel and around the call.
constexpr const char* kSources[] = {"kernel_gpu", "kernel_cpu", "collective_cpu"};

int quality(const std::string& source) {
  return static_cast<int>(std::find(std::begin(kSources), std::end(kSources), source) - std::begin(kSources));
}

struct Record {
  Measurement row;
  ImportedFile* file = nullptr;
  int quality = 0;
};

// One operation of a communicator, over its ranks.
struct Operation {
  Record best;
  std::set<int> ranks;
  int size = 0;  // of the communicator
};

class NcclInspector final : public Importer {
 public:
  void read(Input& input, ImportedFile& file) override {
    std::size_t records = 0;
    for (std::string_view line; input.line(line);) {
      if (line.find_first_not_of(" \t") == std::string_view::npos) continue;
      const json object = parse_line(line);
      if (object.is_discarded() && !input.line_ended())
        file.understand("truncated last lines");
      else if (!object.is_object())
        file.ignore("lines that are not JSON objects");
      else
        records += record(object, input.line_number(), file) ? 1U : 0U;
    }
    if (records == 0) file.ignore("files without a record of a collective (coll_perf)");
    job_.add(file);
  }

  void finish() override {
    for (auto& [communicator, operations] : communicators_) {
      std::size_t place = 0;
      for (auto& [number, operation] : operations) {
        ImportedFile& file = *operation.best.file;
        if (++place <= kStartUpOperations) {
          file.understand("first operations of a communicator, left out");
          continue;
        }
        if (static_cast<int>(operation.ranks.size()) < operation.size)
          file.understand("operations that lack the records of some ranks");
        chosen_.push_back(std::move(operation.best));
      }
    }
    std::ranges::sort(chosen_, [](const Record& a, const Record& b) { return a.row.line < b.row.line; });
    for (Record& each : chosen_) each.file->add(std::move(each.row));
    job_.finish();
  }

 private:
  // Whether it is one of a collective.
  bool record(const json& object, std::size_t line, ImportedFile& file) {
    const json& header = member(object, "header");
    const json& perf = member(object, "coll_perf");
    if (!perf.is_object()) {
      if (object.contains("metadata") && object.size() == 1)
        file.understand("lines with only metadata");
      else
        file.understand(member(object, "p2p_perf").is_object() ? "records of messages (p2p_perf)"
                                                               : "lines without coll_perf");
      return false;
    }
    Record made;
    made.file = &file;
    if (!measurement(header, perf, made, file)) return false;
    made.row.line = line;
    const std::string communicator = identity(member(header, "id"));
    const double number = number_of(member(perf, "coll_sn"));
    const int rank = count_of(member(header, "rank"), 0, -1);
    if (communicator.empty() || !(number >= 0) || rank < 0) {
      file.ignore("records without communicator, sequence number or rank");
      return false;
    }
    keep(communicators_[communicator][number], std::move(made), rank);
    return true;
  }

  static std::string identity(const json& id) { return id.is_string() || id.is_number() ? id.dump() : ""; }

  bool measurement(const json& header, const json& perf, Record& made, ImportedFile& file) {
    Measurement& row = made.row;
    row.quantity = "time_s";
    row.operation = operation_from(text_of(member(perf, "coll")));
    row.workers = count_of(member(header, "n_ranks"), 1, 0);
    row.nodes = count_of(member(header, "nnodes"), 1, 0);
    row.value = number_of(member(perf, "coll_exec_time_us")) / 1e6;
    row.bytes = number_of(member(perf, "coll_msg_size_bytes"));
    row.source = file.name();
    if (row.operation.empty() || !(row.value > 0) || !(row.bytes >= 0)) {
      file.ignore("records without a known operation, a size or a time above 0");
      return false;
    }
    row.bytes *= contributions(row, number_of(member(perf, "coll_algobw_gbs")));
    const std::string source = text_of(member(perf, "coll_timing_source"));
    made.quality = quality(source);
    for (const auto& [label, key] : {std::pair{"timing_source", "coll_timing_source"},
                                     {"algorithm", "coll_algo"},
                                     {"protocol", "coll_proto"}})
      if (const std::string text = text_of(member(perf, key)); !text.empty())
        row.labels[label] = printable(text);
    if (const int channels = count_of(member(perf, "coll_n_channels"), 1, 0); channels > 0)
      row.labels["channels"] = std::to_string(channels);
    return true;
  }

  // A message size may be of one rank's part (all-gather, reduce-scatter): bandwidth times time is the whole
  // array. assumed, where there is no bandwidth: so it is in these two.
  static double contributions(const Measurement& row, double algbw_GBps) {
    if (row.workers < 2 || (row.operation != "all_gather" && row.operation != "reduce_scatter")) return 1;
    if (!(algbw_GBps > 0) || !(row.bytes > 0)) return row.workers;
    const double ratio = algbw_GBps * 1e9 * row.value / row.bytes;
    return std::fabs(std::log(ratio)) < std::fabs(std::log(ratio / row.workers)) ? 1 : row.workers;
  }

  static void keep(Operation& operation, Record made, int rank) {
    operation.ranks.insert(rank);
    operation.size = std::max(operation.size, made.row.workers);
    Record& best = operation.best;
    if (best.file != nullptr) {
      const bool better =
          made.quality != best.quality ? made.quality < best.quality : made.row.value < best.row.value;
      (better ? best : made).file->understand("records replaced by that of the rank that started last");
      if (!better) return;
    }
    best = std::move(made);
  }

  std::map<std::string, std::map<double, Operation>> communicators_;  // by id and sequence number
  std::vector<Record> chosen_;
  RankFiles job_;
};

bool is_nccl_inspector(std::string_view head) {
  return first_character(head) == '{' &&
         (head.find("\"coll_perf\"") != std::string_view::npos ||
          head.find("\"inspector_output_format_version\"") != std::string_view::npos);
}

}  // namespace

std::vector<ImportFormat> nccl_inspector() {
  return {{{.name = "nccl_inspector",
            .summary = "JSON lines of NCCL Inspector, one file per process",
            .citation = "https://github.com/NVIDIA/nccl, plugins/profiler/inspector"},
           is_nccl_inspector,
           make_importer<NcclInspector>}};
}

}  // namespace simsgd::importers
