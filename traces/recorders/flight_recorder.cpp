// flight_recorder: what PyTorch's Flight Recorder dumps as JSON
// (torch._C._distributed_c10d._dump_nccl_trace_json, or the NCCL watchdog), one file per rank, those of a job
// together. Each entry is an operation of a group; its duration is told only with TORCH_NCCL_ENABLE_TIMING.
// The smallest of all ranks' durations of an operation counts. Steps show by the sequence of operations,
// which repeats.
//   https://github.com/pytorch/pytorch, torch/csrc/distributed/c10d/FlightRecorder.hpp, versions 2.0 to 2.10.
// The rank stands in the file's name alone ("..._rank_3.json"); where it does not, files count.
#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "sim/base/printable.hpp"
#include "traces/import_format.hpp"
#include "traces/names.hpp"
#include "traces/reading/json_stream.hpp"
#include "traces/reading/json_text.hpp"
#include "traces/reading/text.hpp"
#include "traces/recorders/collective_records.hpp"

namespace simsgd::importers {

namespace {

using nlohmann::json;

constexpr double kNanoseconds = 1e9, kMilliseconds = 1e3;  // in a second

// The number after the last "rank" of the file's name; -1: there is none.
int rank_in_name(std::string_view name) {
  name = name.substr(name.rfind('/') + 1);
  const std::size_t at = name.rfind("rank");
  if (at == std::string_view::npos) return -1;
  name.remove_prefix(at + 4);
  while (!name.empty() && (name[0] == '_' || name[0] == '-' || name[0] == '.')) name.remove_prefix(1);
  std::size_t digits = 0;
  while (digits < name.size() && is_digit(name[digits])) ++digits;
  int rank = -1;
  return read_count(name.substr(0, digits), 0, rank) ? rank : -1;
}

// Elements of all tensors of an entry; "input_sizes": [[4, 3], [7]].
double elements_of(const json& tensors) {
  if (!tensors.is_array() || tensors.empty()) return kNotGiven;
  double sum = 0;
  for (const json& sizes : tensors) {
    if (!sizes.is_array()) return kNotGiven;
    double elements = 1;
    for (const json& size : sizes) elements *= number_of(size);
    sum += elements;
  }
  return sum >= 0 ? sum : kNotGiven;
}

std::string first_text(const json& list) { return list.is_array() && !list.empty() ? text_of(list[0]) : ""; }

// "[0, 1, 5]", or a list.
int count_of_ranks(const json& ranks) {
  if (ranks.is_array()) return static_cast<int>(std::min<std::size_t>(ranks.size(), 1 << 24));
  const std::string text = text_of(ranks);
  if (text.find_first_of("0123456789") == std::string::npos) return 0;
  return 1 + static_cast<int>(std::min<std::ptrdiff_t>(std::count(text.begin(), text.end(), ','), 1 << 24));
}

// An operation in the order in which the host made it, for the search of steps.
struct MadeOperation {
  double created_s;
  std::string what;
};

class FlightRecorder final : public Importer {
 public:
  void read(Input& input, ImportedFile& file) override {
    file.need_no_row();  // another rank's file may have all of them
    int rank = rank_in_name(file.name());
    while (rank < 0 || ranks_.contains(rank)) ++rank;
    ranks_.insert(rank);
    std::vector<CollectiveRecord> records;
    std::vector<MadeOperation> made;
    std::size_t entries = 0;
    std::map<std::string, int> group_sizes;
    read_json_elements(
        input, file,
        {.list = "entries",
         .other = {"pg_config"},
         .element =
             [&](const json& entry) {
               ++entries;
               read_entry(entry, rank, file, records, made);
             },
         .value = [&](const std::string&, const json& groups) { sizes_of(groups, group_sizes); }});
    if (entries == 0) file.ignore("files without entries");
    file.understand(
        "files that tell no computing (nothing for --stragglers): when the host made operations, not when they ran");
    for (CollectiveRecord& record : records) {
      if (const auto size = group_sizes.find(record.group); size != group_sizes.end())
        record.group_size = size->second;
      collectives_.add(std::move(record));
    }
    for (const auto& [name, size] : group_sizes) workers_ = std::max(workers_, size);
    add_steps(std::move(made), rank, file);
    files_.push_back(&file);
  }

  void finish() override {
    collectives_.finish();
    if (workers_ > static_cast<int>(ranks_.size()) && !files_.empty())
      files_.front()->ignore("ranks of the job whose file is missing",
                             static_cast<std::size_t>(workers_) - ranks_.size());
    if (std::none_of(files_.begin(), files_.end(), [](const ImportedFile* file) { return !file->empty(); }))
      for (ImportedFile* file : files_) file->need_row();
  }

 private:
  static void sizes_of(const json& groups, std::map<std::string, int>& sizes) {
    if (!groups.is_object()) return;
    for (const auto& [name, group] : groups.items())
      if (const int size = count_of_ranks(member(group, "ranks")); size > 0) sizes[name] = size;
  }

  // Every entry is counted once.
  static void read_entry(const json& entry, int rank, ImportedFile& file,
                         std::vector<CollectiveRecord>& records, std::vector<MadeOperation>& made) {
    CollectiveRecord record;
    record.file = &file;
    record.rank = rank;
    describe(entry, record);
    if (record.operation.empty()) return file.ignore("entries without an operation that is known");
    const double created_ns = number_of(member(entry, "time_created_ns"));
    if (!std::isnan(created_ns) && record.operation != "send_receive")
      made.push_back({created_ns / kNanoseconds,
                      record.group + " " + record.operation + " " + std::to_string(record.bytes)});
    const std::string state = text_of(member(entry, "state"));
    if (state != "completed")
      return file.ignore(state == "started"     ? "entries of operations that began and did not end"
                         : state == "scheduled" ? "entries of operations that did not begin"
                                                : "entries without a known state");
    const double duration_ms = number_of(member(entry, "duration_ms"));
    if (std::isnan(duration_ms))
      return file.understand("entries without a duration (TORCH_NCCL_ENABLE_TIMING was not set)");
    if (duration_ms < 0) return file.ignore("entries of a negative duration");
    if (duration_ms == 0) return file.ignore("times of 0 of collectives");
    if (std::isnan(record.bytes)) return file.ignore("entries whose sizes or types are not told");
    file.understand("entries used");
    record.time_s = duration_ms / kMilliseconds;
    record.exact_end = false;  // the watchdog looks for it now and then
    record.end_s = std::isnan(created_ns) ? 0 : created_ns / kNanoseconds;
    records.push_back(std::move(record));
  }

  static void describe(const json& entry, CollectiveRecord& record) {
    record.operation = torch_operation(text_of(member(entry, "profiling_name")));
    record.group = first_text(member(entry, "process_group"));
    if (record.group.empty()) record.group = std::to_string(count_of(member(entry, "pg_id"), 0, 0));
    const bool message = record.operation == "send_receive";
    for (const char* key : {message ? "p2p_seq_id" : "collective_seq_id", "seq_id"})
      if (std::isnan(record.sequence)) record.sequence = number_of(member(entry, key));
    std::string type = first_text(member(entry, "input_dtypes"));
    if (type.empty()) type = first_text(member(entry, "output_dtypes"));
    if (!type.empty()) record.type = type_name(type);
    const double in = elements_of(member(entry, "input_sizes")),
                 out = elements_of(member(entry, "output_sizes"));
    if (const int size = type_bytes(type); size > 0)
      record.bytes = size * whole_array(record.operation, in, out);
  }

  // From the first operation of a step to that of the next.
  void add_steps(std::vector<MadeOperation> made, int rank, ImportedFile& file) const {
    std::stable_sort(made.begin(), made.end(), [](const MadeOperation& a, const MadeOperation& b) {
      return a.created_s < b.created_s;
    });
    std::vector<std::string> what;
    std::vector<double> created_s;
    for (MadeOperation& each : made) {
      what.push_back(std::move(each.what));
      created_s.push_back(each.created_s);
    }
    const std::vector<std::size_t> begins = beginnings_of_periods(what, created_s);
    if (begins.empty() && !made.empty()) file.understand("files in which no step shows that repeats");
    for (std::size_t i = 1; i < begins.size(); ++i) {
      Measurement row;
      row.quantity = "step_s";
      row.workers = workers_;
      row.value = created_s[begins[i]] - created_s[begins[i - 1]];
      row.labels = {{"rank", std::to_string(rank)}, {"step", std::to_string(i)}};
      file.add(std::move(row));
    }
  }

  std::vector<ImportedFile*> files_;
  CollectiveRecords collectives_;
  std::set<int> ranks_;
  int workers_ = 0;
};

bool is_flight_recorder(std::string_view head) {
  const std::size_t first = head.find_first_not_of(" \t\r\n");
  const auto has = [head](const char* key) { return head.find(key) != std::string_view::npos; };
  return first != std::string_view::npos && head[first] == '{' && has("\"entries\"") &&
         (has("\"profiling_name\"") || has("\"pg_config\"") || has("\"pg_status\""));
}

}  // namespace

std::vector<ImportFormat> flight_recorder() {
  return {{{.name = "flight_recorder",
            .summary = "JSON of PyTorch's Flight Recorder, one file per rank",
            .citation = "https://github.com/pytorch/pytorch, torch/csrc/distributed/c10d/FlightRecorder.hpp"},
           is_flight_recorder,
           make_importer<FlightRecorder>}};
}

}  // namespace simsgd::importers
