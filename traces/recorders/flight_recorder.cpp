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

#include "traces/import.hpp"
#include "traces/names.hpp"
#include "traces/reading/input.hpp"
#include "traces/reading/json.hpp"
#include "traces/recorders/collective_records.hpp"

namespace simsgd::importers {

namespace {

using nlohmann::json;

constexpr double kNanoseconds = 1e9, kMilliseconds = 1e3;  // in a second

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
  return 1 + static_cast<int>(std::min<std::ptrdiff_t>(std::ranges::count(text, ','), 1 << 24));
}

// An operation in the order in which the host made it, for the search of steps.
struct MadeOperation {
  double created_s;
  std::string what;
};

class FlightRecorder final : public Importer {
 public:
  void read(Input& input, ImportedFile& file) override {
    const int rank = job_.free_rank(rank_in_file_name(file.name()));
    job_.ranks.insert(rank);
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
        "files without computing times (nothing for --stragglers): they say when the host issued operations, not when they ran");
    for (CollectiveRecord& record : records) {
      if (const auto size = group_sizes.find(record.group); size != group_sizes.end())
        record.group_size = size->second;
      collectives_.add(std::move(record));
    }
    for (const auto& [name, size] : group_sizes) job_.workers = std::max(job_.workers, size);
    add_steps(std::move(made), rank, file);
    job_.add(file);
  }

  void finish() override {
    collectives_.finish();
    job_.finish();
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
    if (record.operation.empty()) return file.ignore("entries without a known operation");
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
    if (duration_ms == 0) return file.ignore("collectives with a time of 0");
    if (std::isnan(record.bytes)) return file.ignore("entries without sizes or types");
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
    std::ranges::stable_sort(
        made, [](const MadeOperation& a, const MadeOperation& b) { return a.created_s < b.created_s; });
    std::vector<std::string> what;
    std::vector<double> created_s;
    for (MadeOperation& each : made) {
      what.push_back(std::move(each.what));
      created_s.push_back(each.created_s);
    }
    const std::vector<std::size_t> begins = beginnings_of_periods(what, created_s);
    if (begins.empty() && !made.empty()) file.understand("files in which no step repeats");
    for (std::size_t i = 1; i < begins.size(); ++i)
      file.add({.quantity = "step_s",
                .workers = job_.workers,
                .value = created_s[begins[i]] - created_s[begins[i - 1]],
                .labels = {{"rank", std::to_string(rank)}, {"step", std::to_string(i)}}});
  }

  RankFiles job_;
  CollectiveRecords collectives_;
};

bool is_flight_recorder(std::string_view head) {
  return first_character(head) == '{' && holds(head, "\"entries\"") &&
         (holds(head, "\"profiling_name\"") || holds(head, "\"pg_config\"") || holds(head, "\"pg_status\""));
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
