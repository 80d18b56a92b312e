// Horovod's timeline and PyTorch's Flight Recorder: files as their sources write them, of jobs that are made
// up here, against what was put into them.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <random>

#include "tests/traces/imports.hpp"
#include "traces/recorders/collective_records.hpp"

namespace simsgd::test::traces_recorders {

using namespace traces;

namespace {

// As horovod/common/timeline.cc writes it.
class HorovodFile {
 public:
  void tensor(int pid, const std::string& name) {
    raw(fmt::format(R"({{"name": "process_name", "ph": "M", "pid": {}, "args": {{"name": "{}"}}}})", pid,
                    name));
    raw(fmt::format(
        R"({{"name": "process_sort_index", "ph": "M", "pid": {0}, "args": {{"sort_index": {0}}}}})", pid));
  }
  void begin(int pid, const char* name, long ts) {
    raw(fmt::format(R"({{"ph": "B", "name": "{}", "ts": {}, "pid": {}}})", name, ts, pid));
  }
  void end(int pid, long ts, const std::string& args = "") {
    raw(fmt::format(R"({{"ph": "E", "ts": {}, "pid": {}{}}})", ts, pid, args));
  }
  void tick(int pid, int rank, long ts) {
    raw(fmt::format(R"({{"ph": "X", "name": "{}", "ts": {}, "pid": {}, "dur": 0}})", rank, ts, pid));
  }
  void raw(const std::string& event) {
    text += event + ",\n";
    ++events;
  }
  std::string text = "[\n";
  std::size_t events = 0;
};

// Per step: fc's gradient (40 x 10 floats) is ready on rank r 3000 + 100 r us after the step before has
// ended, conv's (16 x 3 x 5 x 5) 2000 us later; both are fused, and reduced in 700 us.
HorovodFile horovod_job(int steps) {
  HorovodFile file;
  file.tensor(0, "conv");
  file.tensor(1, "fc");
  file.raw(R"({"ph": "i", "name": "CYCLE_START", "ts": 1, "s": "g"})");
  long at = 5000;
  for (int step = 0; step < steps; ++step) {
    for (const int tensor : {1, 0}) {
      const long ready = at + 3000 + (tensor == 0 ? 2000 : 0);
      file.begin(tensor, "NEGOTIATE_ALLREDUCE", ready);
      for (int rank = 0; rank < 4; ++rank) file.tick(tensor, rank, ready + 100L * rank);
      file.end(tensor, at + 5400);
    }
    for (const int tensor : {0, 1}) {
      file.begin(tensor, "ALLREDUCE", at + 5400);
      file.begin(tensor, "QUEUE", at + 5400);
      file.end(tensor, at + 5450);
      file.begin(tensor, "MEMCPY_IN_FUSION_BUFFER", at + 5450);
      file.end(tensor, at + 5460);
    }
    for (const int tensor : {0, 1}) file.begin(tensor, "NCCL_ALLREDUCE", at + 5470 + tensor);
    for (const int tensor : {0, 1}) file.end(tensor, at + 6171 + tensor);
    for (const int tensor : {0, 1}) {
      file.begin(tensor, "MEMCPY_OUT_FUSION_BUFFER", at + 6200);
      file.end(tensor, at + 6210);
      file.end(tensor, at + 6220,
               fmt::format(R"(, "args": {{"dtype": "float32", "shape": "{}"}})",
                           tensor == 0 ? "[16, 3, 5, 5]" : "[40, 10]"));
    }
    at += 6220;
  }
  return file;
}

// One entry, as FlightRecorder::dump_json writes it.
std::string entry(int sequence, long created_ns, double duration_ms, const char* state = "completed",
                  int elements = 100, const char* name = "nccl:all_reduce") {
  return fmt::format(
      R"({{"record_id": {0}, "pg_id": 0, "process_group": ["0", "default_pg"], "collective_seq_id": {0}, "p2p_seq_id": 0,)"
      R"("op_id": {0}, "is_p2p": false, "profiling_name": "{5}", "time_created_ns": {1}{2}, "input_sizes": [[{4}, 2]],)"
      R"("input_dtypes": ["BFloat16"], "output_sizes": [[{4}, 2]], "output_dtypes": ["BFloat16"], "state": "{3}",)"
      R"("retired": true, "timeout_ms": 600000, "frames": [{{"name": "main", "filename": "a.py", "line": 3}}]}})",
      sequence, created_ns,
      duration_ms < 0 && duration_ms > -2 ? "" : fmt::format(R"(, "duration_ms": {})", duration_ms), state,
      elements, name);
}

std::string flight_recorder(const std::vector<std::string>& entries, const char* ranks = "[0, 1]") {
  std::string text = R"({"entries": [)";
  for (const std::string& each : entries) text += (&each == entries.data() ? "" : ",\n") + each;
  return text +
         fmt::format(R"(], "pg_config": {{"0": {{"name": "0", "desc": "default_pg", "ranks": "{}"}}}}, )",
                     ranks) +
         R"("pg_status": {"0": {"last_enqueued_collective": 9}}, "version": "2.9"})";
}

}  // namespace

TEST_CASE("horovod: fused tensors are one operation; each rank's computing ends with its last tick") {
  const HorovodFile file = horovod_job(6);
  for (const std::string end : {"", "{}]"}) {  // as it is written, and as some close it
    const Imported all = import_text("f", file.text + end, with("batch", "64"));
    const auto rows = rows_of(all, "time_s");
    REQUIRE(rows.size() == 6);
    CHECK(rows[5].bytes == 4 * (16 * 75 + 400));
    CHECK(rows[5].value == doctest::Approx(700e-6));  // from the last begin to the first end
    CHECK(rows[5].workers == 4);
    CHECK(rows[5].labels.at("library") == "nccl");
    CHECK(rows[5].labels.at("tensors") == "2");
    REQUIRE(all.steps.size() == 3 * 4);  // of steps 3, 4 and 5
    for (const RecordedStep& step : all.steps)
      CHECK(step.compute_s == doctest::Approx(5000e-6 + 100e-6 * step.worker));
    CHECK(rows_of(all, "step_s").at(0).value == doctest::Approx(6220e-6));
    std::size_t counted = 0;
    for (const auto* reasons : {&all.reports[0].understood, &all.reports[0].ignored})
      for (const auto& [reason, count] : *reasons)
        if (reason.starts_with("events ")) counted += count;
    CHECK(counted == file.events + (end.empty() ? 0 : 1));
  }
  const Imported all = import_text("f", file.text, with("batch", "64"));
  REQUIRE(all.workloads.size() == 1);
  const RecordedWorkload& network = all.workloads[0];
  CHECK(network.batch == 64);
  REQUIRE(network.layers.size() == 2);
  CHECK(network.layers[0].name == "conv");
  CHECK(network.layers[0].tensors == std::vector<std::vector<double>>{{16, 75}});
  CHECK(network.parameters() == 16 * 75 + 400);
  CHECK(network.backward_s() == doctest::Approx(2000e-6));
  CHECK(network.forward_s() == doctest::Approx(3000e-6));
}

TEST_CASE("horovod: half an operation, ends without begins, and other nonsense are counted") {
  HorovodFile file = horovod_job(4);
  file.begin(0, "NEGOTIATE_ALLREDUCE", 90000);
  file.end(1, 90000);
  file.begin(1, "QUEUE", 90000);
  file.end(1, 80000);
  file.raw(R"({"ph": "B", "name": "QUEUE", "pid": 1})");
  file.raw(R"({"ph": "Z", "name": "QUEUE", "ts": 5, "pid": 1})");
  const Imported all = import_text("f", file.text, {});
  CHECK(all.reports[0].understood.at("events left out: begins without an end") == 1);
  CHECK(
      ignored(all) ==
      "1 events of no known kind; 1 events that end before they begin; 1 events that end what has not begun; 1 events without a time");
  const Imported half = import_text("f", file.text.substr(0, file.text.size() / 2), {});
  CHECK(rows_of(half, "time_s").size() == 2);
}

TEST_CASE("flight recorder: the last starter's duration, by sequence number; what did not end is told") {
  const Files files;
  const long s = 1000000000;
  const std::string rank1 = files.compress(
      "trace_rank_1.json.gz",
      flight_recorder({entry(3, 3 * s, 2.5), entry(4, 4 * s, 1.5), entry(5, 5 * s, -1, "started")}));
  const std::string rank0 = files.write(
      "trace_rank_0.json",
      flight_recorder({entry(3, 9 * s, 2), entry(4, 10 * s, 7), entry(5, 11 * s, -1, "scheduled")}));
  const Imported all = import_files({rank1, rank0}, {});
  const auto rows = rows_of(all, "time_s");
  REQUIRE(rows.size() == 2);
  CHECK(rows[0].value == doctest::Approx(1.5e-3));
  CHECK(rows[0].source == rank1);
  CHECK(rows[1].value == doctest::Approx(2e-3));
  CHECK(rows[1].source == rank0);
  CHECK(rows[1].bytes == 400);
  CHECK(rows[1].workers == 2);
  CHECK(rows[1].labels.at("type") == "bfloat16");
  CHECK(counts(all.reports[0].ignored) == "1 entries of operations that began and did not end");
  CHECK(counts(all.reports[1].ignored) == "1 entries of operations that did not begin");
  CHECK(all.steps.empty());
  CHECK(
      all.reports[0].understood.at(
          "files without computing times (nothing for --stragglers): they say when the host issued operations, not when they ran") ==
      1);
}

TEST_CASE("flight recorder: steps are periods of the sequence, from the longest pause on") {
  std::vector<std::string> entries;
  long at = 0;
  int sequence = 40;
  entries.push_back(entry(sequence++, at, 1, "completed", 7, "nccl:broadcast"));
  for (int step = 0; step < 5; ++step) {
    at += 50000000;  // the forward pass
    for (const int elements : {10, 30, 30, 20}) {
      entries.push_back(entry(sequence++, at, 1, "completed", elements));
      at += 4000000;
    }
  }
  const Imported all = import_text("f", flight_recorder(entries, "[0]"), {});
  const auto steps = rows_of(all, "step_s");
  REQUIRE(steps.size() == 4);
  for (const Measurement& row : steps) CHECK(row.value == doctest::Approx(66e-3));
  CHECK(rows_of(all, "time_s").size() == 21);
}

TEST_CASE("flight recorder: entries of other versions, without timing, and nonsense") {
  const std::string without = flight_recorder({entry(1, 1, -1), entry(2, 2, -1)});
  CHECK(import_errors(without).find("contains no usable measurement (flight_recorder).") !=
        std::string::npos);
  const Imported all = import_text(
      "f",
      flight_recorder(
          {entry(1, 1, 1), entry(2, 2, -7), entry(3, 3, 0), entry(4, 4, 1, "completed", 5, "nccl:coalesced"),
           "[1]", "3", R"({"profiling_name": "nccl:reduce", "state": "completed", "duration_ms": 4})",
           entry(5, 5, 1, "exploded")},
          "[0]"),
      {});
  CHECK(rows_of(all, "time_s").size() == 1);
  CHECK(
      ignored(all) ==
      "1 collectives with a time of 0; 1 entries of a negative duration; 3 entries without a known operation; 1 entries without a known state; 1 entries without sizes or types");
  const std::string text = flight_recorder({entry(1, 1, 1), entry(2, 2, 1)});
  const Imported half = import_text("f", text.substr(0, text.find("\"record_id\": 2") + 40), {});
  CHECK(rows_of(half, "time_s").size() == 1);
  CHECK(half.reports[0].ignored.at("truncated files, read up to their end") == 1);
}

TEST_CASE("periods of a list, against trying all of them") {
  std::mt19937 random(3);
  for (int trial = 0; trial < 2000; ++trial) {
    std::vector<std::string> what(1 + random() % 12);
    std::vector<double> at_s;
    for (std::string& each : what) each = random() % 3 == 0 ? "b" : "a";
    const std::size_t wanted = 1 + random() % 4;
    for (std::size_t i = what.size(); random() % 4 != 0 && i-- > 0;)
      if (i + wanted < what.size()) what[i] = what[i + wanted];
    for (std::size_t i = 0; i < what.size(); ++i) at_s.push_back(static_cast<double>(i));
    std::size_t period = 0;
    for (std::size_t p = 1; p < what.size() && period == 0; ++p) {
      std::size_t tail = 0;
      while (tail + p < what.size() && what[what.size() - 1 - tail] == what[what.size() - 1 - tail - p])
        ++tail;
      if (tail >= p && 2 * (tail + p) >= what.size()) period = p;
    }
    const std::vector<std::size_t> begins = beginnings_of_periods(what, at_s);
    if (period < 2) {
      CHECK(begins.empty());
      continue;
    }
    REQUIRE_FALSE(begins.empty());
    for (std::size_t i = 1; i < begins.size(); ++i) CHECK(begins[i] - begins[i - 1] == period);
  }
}

}  // namespace simsgd::test::traces_recorders
