// Traces of PyTorch's profiler: jobs that are made up here, with clocks that differ and ranks that come late,
// against what was put into them.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cmath>
#include <cstdint>
#include <random>
#include <set>

#include "sim/job.hpp"
#include "tests/scenarios/support.hpp"
#include "tests/traces/imports.hpp"
#include "tests/traces/kineto_trace.hpp"
#include "traces/names.hpp"
#include "traces/operations/recorded_job.hpp"

namespace simsgd::test::traces_kineto {

using namespace traces;

namespace {

std::string nccl(const char* name, double elements, const char* dtype = "Float", int size = 2, int seq = -1) {
  return fmt::format(
      R"("Collective name": "{}", "In msg nelems": {}, "Out msg nelems": {}, "Group size": {}, "dtype": "{}",)"
      R"("Process Group Name": "0", "Process Group Ranks": "[0, 1]"{})",
      name, elements, elements, size, dtype, seq < 0 ? "" : fmt::format(R"(, "Seq": {})", seq));
}

const char* const kAllReduce = "ncclDevKernel_AllReduce_Sum_f32_RING_LL128(ncclDevComm*)";

std::size_t events_counted(const ImportReport& report) {
  std::size_t sum = 0;
  for (const auto* counts : {&report.understood, &report.ignored})
    for (const auto& [reason, count] : *counts)
      if (reason.starts_with("events ")) sum += count;
  return sum;
}

Imported files_of(const std::vector<std::string>& texts, const ImportOptions& options = {}) {
  const Files files;
  std::vector<std::string> paths;
  for (std::size_t i = 0; i < texts.size(); ++i)
    paths.push_back(files.compress(fmt::format("{}.json.gz", i), texts[i]));
  return import_files(paths, options);
}

}  // namespace

TEST_CASE("of all ranks' files the last starter's time is the transfer; clocks differ by hours; no Seq") {
  std::mt19937 random(5);
  std::uniform_real_distribution<double> draw(0, 1);
  Trace ranks[] = {Trace(false, 0, 3), Trace(false, 1, 3), Trace(true, 2, 3)};
  const double clock_us[] = {0, 7.2e9, -3.5e9};
  std::vector<double> transfer_us;
  double now_us = 1e10;
  for (int step = 5; step < 9; ++step) {
    for (int rank = 0; rank < 3; ++rank) ranks[rank].step(step, now_us + clock_us[rank], 20000);
    for (int i = 0; i < 4; ++i) {
      const double went_us = now_us + 1000 + 4000 * i, takes_us = std::floor(100 + 900 * draw(random));
      transfer_us.push_back(takes_us);
      const int last = static_cast<int>(3 * draw(random));
      for (int rank = 0; rank < 3; ++rank) {
        const double late_us = rank == last ? 0 : std::floor(900 * draw(random));
        const double starts_us = went_us - late_us + clock_us[rank];
        ranks[rank].kernel(kAllReduce, starts_us - 20, starts_us, takes_us + late_us, "1",
                           nccl("allreduce", 1000 + i, "Float", 3));
      }
    }
    now_us += 20000;
  }
  const Imported all = files_of({ranks[0].text(), ranks[1].text(), ranks[2].text()});
  const std::vector<Measurement> rows = rows_of(all, "time_s");
  REQUIRE(rows.size() == transfer_us.size());
  std::multiset<double> expected, found;
  for (const double us : transfer_us) expected.insert(us);
  for (const Measurement& row : rows) {
    found.insert(std::round(row.value * 1e6));
    CHECK(row.operation == "all_reduce");
    CHECK(row.workers == 3);
    CHECK(row.bytes >= 4000);
    CHECK(row.labels.at("algorithm") == "RING");
    CHECK(row.labels.at("protocol") == "LL128");
  }
  CHECK(found == expected);
  std::size_t aligned = 0, stood_for = 0;
  for (const ImportReport& report : all.reports) {
    CHECK(report.ignored.empty());
    for (const auto& [kind, count] : report.understood) {
      if (kind.starts_with("clocks that differ")) aligned += count;
      if (kind == "records replaced by that of the rank that started last") stood_for += count;
    }
  }
  CHECK(aligned == 2);
  CHECK(stood_for == 2 * transfer_us.size());
}

TEST_CASE("computing of a step: the union of kernels launched in it, against a grid of microseconds") {
  std::mt19937 random(7);
  const auto draw = [&random](int most) { return std::uniform_int_distribution<int>(0, most)(random); };
  for (const bool old_schema : {false, true}) {
    Trace trace(old_schema, 0, 1);
    constexpr int kSteps = 3, kStep_us = 2000;
    std::vector<std::set<int>> compute(kSteps), communication(kSteps);
    for (int step = 0; step < kSteps; ++step) {
      trace.step(10 + step, 1e6 + kStep_us * step, kStep_us - 10);
      for (int i = 0; i < 30; ++i) {
        const bool is_nccl = i % 5 == 0;
        const int host = kStep_us * step + draw(kStep_us - 20), begin = host + draw(3000), length = draw(200);
        trace.kernel(is_nccl ? "ncclKernel_Broadcast_RING_LL_Sum_int8_t(x)" : "void add<float>(int)",
                     1e6 + host, 1e6 + begin, length, "1", is_nccl ? nccl("broadcast", 5, "Long", 1) : "");
        for (int us = begin; us < begin + length; ++us)
          (is_nccl ? communication : compute)[static_cast<std::size_t>(step)].insert(us);
      }
    }
    const Imported all = import_text("f", trace.text(), {});
    REQUIRE(all.steps.size() == kSteps);
    const auto compute_rows = rows_of(all, "compute_s"), communication_rows = rows_of(all, "communication_s"),
               exposed = rows_of(all, "communication_exposed_s"), steps = rows_of(all, "step_s");
    for (std::size_t step = 0; step < kSteps; ++step) {
      CAPTURE(step);
      std::size_t alone = 0;
      for (const int us : communication[step]) alone += compute[step].contains(us) ? 0 : 1;
      CHECK(std::round(compute_rows[step].value * 1e6) == compute[step].size());
      CHECK(std::round(communication_rows[step].value * 1e6) == communication[step].size());
      CHECK(std::round(exposed[step].value * 1e6) == alone);
      CHECK(std::round(steps[step].value * 1e6) == (step + 1 < kSteps ? kStep_us : kStep_us - 10));
      CHECK(all.steps[step].compute_s == compute_rows[step].value);
      CHECK(all.steps[step].step == 10 + step);
    }
    CHECK(events_counted(all.reports[0]) == trace.events);
  }
}

TEST_CASE(
    "layers: sizes from inputs, times of both passes by sequence numbers, micro-batches, warm-up left out") {
  Trace trace(false, 0, 1);
  // Two layers, two micro-batches a step; kernels run long after their launch. conv takes 100 us forward and
  // 300 backward per micro-batch, fc 10 and 30; an optimizer's 1000 and a ReLU's 7 after conv.
  double host = 0;
  int sequence = 0;
  for (int step = 1; step < 6; ++step) {  // 1 and 2 are warm-up
    const double slow = step < 3 ? 50 : 1;
    trace.step(step, host, 990);
    for (int micro = 0; micro < 2; ++micro) {
      const double at = host + 400 * micro;
      trace.op("aten::conv2d", at + 1, 20, sequence, "1",
               "[[8, 3, 32, 32], [16, 3, 5, 5], [16], [], [], [], []]");
      trace.op("aten::convolution", at + 2, 10, sequence, "1", "[[8, 3, 32, 32], [16, 3, 5, 5], [16]]");
      trace.kernel("conv", at + 3, at + 1e4, 100 * slow);
      trace.op("aten::relu", at + 30, 5, sequence + 1, "1");
      trace.kernel("relu", at + 31, at + 2e4, 7);
      trace.op("aten::linear", at + 40, 20, sequence + 2, "1", "[[8, 400], [10, 400], [10]]");
      trace.op("aten::addmm", at + 42, 10, sequence + 3, "1", "[[10], [8, 400], [400, 10], [], []]");
      trace.kernel("gemm", at + 45, at + 3e4, 10);
      trace.op("AddmmBackward0", at + 100, 20, sequence + 3, "2");
      trace.kernel("gemm_backward", at + 101, at + 4e4, 30, "2");
      trace.op("ReluBackward0", at + 130, 5, sequence + 1, "2");
      trace.kernel("relu_backward", at + 131, at + 4.1e4, 9, "2");
      trace.op("ConvolutionBackward0", at + 140, 20, sequence, "2");
      trace.kernel("conv_backward", at + 141, at + 5e4, 300, "2");
      sequence += 4;
    }
    trace.span("user_annotation", "Optimizer.step#SGD.step", host + 900, 50);
    trace.kernel("sgd", host + 910, host + 6e4, 1000);
    host += 1000;
  }
  const Imported all = import_text("f", trace.text(), {});
  REQUIRE(all.workloads.size() == 1);
  const RecordedWorkload& made = all.workloads[0];
  CHECK(made.batch == 16);
  CHECK(made.device == "GPU X");
  CHECK(made.source.find("median over 3 steps") != std::string::npos);
  REQUIRE(made.layers.size() == 3);
  CHECK(made.layers[0].name == "optimizer");
  CHECK(made.layers[0].forward_s == doctest::Approx(1000e-6));
  CHECK(made.layers[0].backward_s == 0);
  CHECK(made.layers[0].tensors.empty());
  CHECK(made.layers[1].tensors == std::vector<std::vector<double>>{{16, 75}, {16}});
  CHECK(made.layers[2].tensors == std::vector<std::vector<double>>{{10, 400}, {10}});
  CHECK(made.layers[1].forward_s == doctest::Approx(214e-6));
  CHECK(made.layers[1].backward_s == doctest::Approx(618e-6));
  CHECK(made.layers[2].forward_s == doctest::Approx(20e-6));
  CHECK(made.layers[2].backward_s == doctest::Approx(60e-6));
  CHECK(made.layers[2].activations == 10);
  CHECK(made.layers[2].forward_flop == 2 * 400 * 10);
  CHECK(all.steps.size() == 3);
  CHECK(all.reports[0].understood.at("first steps of the job, which are warm-up; left out") == 2);
  CHECK(events_counted(all.reports[0]) == trace.events);
  CHECK(workload_file(made, "f").find("\"conv1\"") != std::string::npos);
}

TEST_CASE(
    "an NCCL kernel without arguments takes those of the operator that launched it, else it is counted") {
  Trace trace(false, 0, 2);
  trace.step(7, 0, 1000);
  trace.span("cpu_op", "record_param_comms", 5, 10, "1",
             R"("External id": 44, )" + nccl("_allgather_base", 8, "Half"));
  trace.kernel("ncclKernel_AllGather_RING_LL_Sum_int8_t(x)", 6, 10, 50, "1", R"("External id": 44)");
  trace.kernel("ncclKernel_AllGather_RING_LL_Sum_int8_t(x)", 30, 80, 50);
  trace.span("gpu_user_annotation", "nccl:all_gather", 9, 52, "9");
  trace.span("user_annotation", "nccl:all_gather", 4, 12);
  const Measurements all = import_text("f", trace.text(), {});
  const auto rows = rows_of(all, "time_s");
  REQUIRE(rows.size() == 1);
  CHECK(rows[0].operation == "all_gather");
  CHECK(rows[0].bytes == 16);
  CHECK(rows[0].labels.at("type") == "half");
  CHECK(counts(all.reports[0].ignored) ==
        "1 NCCL kernels of unknown operation or size; 1 ranks of the job whose files are missing");
}

TEST_CASE("what a kernel of NCCL is called tells its operation") {
  const struct {
    const char *name, *operation, *algorithm, *protocol;
  } all[] = {
      {"nccl:all_reduce", "all_reduce", "", ""},
      {"nccl:_all_gather_base", "all_gather", "", ""},
      {"nccl:_reduce_scatter_base", "reduce_scatter", "", ""},
      {"nccl:reduce_scatter_tensor_coalesced", "reduce_scatter", "", ""},
      {"nccl:all_gather_into_tensor_coalesced", "all_gather", "", ""},
      {"nccl:_broadcast_oop", "broadcast", "", ""},
      {"nccl:broadcast", "broadcast", "", ""},
      {"nccl:reduce", "reduce", "", ""},
      {"nccl:all_to_all", "all_to_all", "", ""},
      {"nccl:all_reduce_barrier", "barrier", "", ""},
      {"nccl:send 0->1", "send_receive", "", ""},
      {"nccl:recv 0<-1", "send_receive", "", ""},
      {"nccl:coalesced", "", "", ""},
      {"ncclAllReduceRingLLKernel_sum_f32(ncclColl)", "all_reduce", "RING", "LL"},
      {"ncclKernel_AllReduce_RING_LL_Sum_float(ncclDevComm*, unsigned long, ncclWork*)", "all_reduce", "RING",
       "LL"},
      {"ncclKernel_AllReduce_TREE_LL128_Sum_half(x)", "all_reduce", "TREE", "LL128"},
      {"ncclKernel_AllGather_RING_LL_Sum_int8_t(x)", "all_gather", "RING", "LL"},
      {"ncclKernel_ReduceScatter_RING_SIMPLE_Sum_float(x)", "reduce_scatter", "RING", "SIMPLE"},
      {"ncclKernel_Broadcast_RING_LL_Sum_int8_t(x)", "broadcast", "RING", "LL"},
      {"ncclKernel_Reduce_RING_LL_Sum_float(x)", "reduce", "RING", "LL"},
      {"ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevComm*)", "all_reduce", "RING", "LL"},
      {"ncclDevKernel_AllReduce_Sum_bf16_COLLNET_DIRECT_SIMPLE(x)", "all_reduce", "COLLNET_DIRECT", "SIMPLE"},
      {"ncclDevKernel_AllReduce_Sum_f16_NVLS_SIMPLE(x)", "all_reduce", "NVLS", "SIMPLE"},
      {"void ncclDevKernel_AllGather_RING_LL<16>(x)", "all_gather", "RING", "LL"},
      {"ncclDevKernel_ReduceScatter_Sum_bf16_RING_SIMPLE(x)", "reduce_scatter", "RING", "SIMPLE"},
      {"ncclDevKernel_Broadcast_RING_LL(x)", "broadcast", "RING", "LL"},
      {"ncclDevKernel_Reduce_Sum_f32_RING_LL(x)", "reduce", "RING", "LL"},
      {"ncclDevKernel_SendRecv(x)", "send_receive", "", ""},
      {"ncclDevKernel_Generic_4(x)", "", "", ""},
  };
  for (const auto& each : all) {
    CAPTURE(each.name);
    const auto known = nccl_kernel_name(each.name);
    REQUIRE(known);
    CHECK(known->operation == each.operation);
    CHECK(known->algorithm == each.algorithm);
    CHECK(known->protocol == each.protocol);
  }
}

TEST_CASE("kernels that only their name and the operator around their launch tell, by its thread and time") {
  Trace trace(false, 0, 4);
  trace.step(7, 0, 1000);
  // Each with 100 floats, 10 us after the one before; a thread that does something else meanwhile.
  const char* const calls[][3] = {
      {"ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)", "nccl:all_reduce", "allreduce"},
      {"ncclDevKernel_Generic_4(x)", "nccl:_all_gather_base", "_allgather_base"},
      {"ncclDevKernel_SendRecv(x)", "nccl:all_to_all", "all_to_all"},
      {"nccl:reduce_scatter", "nccl:reduce_scatter", "reduce_scatter"}};
  double at = 100;
  for (const auto& [kernel, annotation, collective] : calls) {
    trace.span("cpu_op", "record_param_comms", at, 8, "1",
               R"("External id": 44, )" + nccl(collective, 100, "Float", 4));
    trace.span("user_annotation", annotation, at + 1, 6);
    trace.span("cpu_op", "record_param_comms", at + 2, 3, "2", nccl("broadcast", 7, "Float", 4));
    trace.kernel(kernel, at + 3, at + 300, 5);
    at += 10;
  }
  trace.kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)", at + 30, at + 500,
               5);  // of which nobody tells the size
  const Measurements all = import_text("f", trace.text(), {});
  const auto rows = rows_of(all, "time_s");
  REQUIRE(rows.size() == 4);
  const char* const operations[] = {"all_reduce", "all_gather", "all_to_all", "reduce_scatter"};
  for (std::size_t i = 0; i < 4; ++i) {
    CHECK(rows[i].operation == operations[i]);
    CHECK(rows[i].bytes == 400);
    CHECK(rows[i].workers == 4);
  }
  CHECK(rows_of(all, "kernel_s").empty());  // none of them computes
  CHECK(counts(all.reports[0].ignored) ==
        "1 NCCL kernels of unknown operation or size; 3 ranks of the job whose files are missing");
}

namespace {

// Steps of 1 ms: data are loaded for 150 us, the two layers' kernels take 80 and 40 us forward, with 10 us
// between them, then 5 us until the backward pass: 60 and 110 us with a gap of 25 us in which nothing is
// computed and, with `bucket`, 5 us of it an all-reduce; the optimizer takes 30 us. The rest of the
// millisecond the host does something.
Trace step_with_gaps(int steps, bool bucket) {
  Trace trace(false, 0, bucket ? 2 : 1);
  for (int step = 3; step < 3 + steps; ++step) {
    const double at = 1e5 + 1000.0 * step, gpu = at + 150;
    const int sequence = 10 * step;
    trace.step(step, at, 998);
    trace.op("aten::conv2d", at + 100, 20, sequence, "1",
             "[[8, 3, 32, 32], [16, 3, 5, 5], [], [], [], [], []]");
    trace.kernel("conv", at + 101, gpu, 80);
    trace.op("aten::batch_norm", at + 130, 20, sequence + 1, "1", "[[8, 16, 28, 28], [16], [16]]");
    trace.kernel("bn", at + 131, gpu + 90, 40);
    trace.op("NativeBatchNormBackward0", at + 200, 20, sequence + 1, "2");
    trace.kernel("bn_backward", at + 201, gpu + 135, 60, "2");
    if (bucket) trace.kernel(kAllReduce, at + 225, gpu + 205, 5, "2", nccl("allreduce", 1232));
    trace.op("ConvolutionBackward0", at + 230, 20, sequence, "2");
    trace.kernel("conv_backward", at + 231, gpu + 220, 110, "2");
    trace.span("user_annotation", "Optimizer.step#SGD.step", at + 300, 50);
    trace.kernel("sgd", at + 310, gpu + 400, 30);
  }
  return trace;
}

}  // namespace

TEST_CASE(
    "a step of the imported workload takes what the trace's takes: layers, optimizer, and gaps of the host") {
  for (const bool bucket : {false, true}) {
    const Imported all = import_text("f", step_with_gaps(4, bucket).text(), {});
    REQUIRE(all.workloads.size() == 1);
    const RecordedWorkload& made = all.workloads[0];
    REQUIRE(made.layers.size() == 3);
    CHECK(made.layers[0].forward_s == doctest::Approx(30e-6));
    CHECK(made.layers[1].forward_s == doctest::Approx(80e-6));
    CHECK(made.layers[1].backward_s == doctest::Approx(110e-6));
    CHECK(made.layers[2].backward_s == doctest::Approx(60e-6));
    CHECK(made.layers[1].activations == 16 * 28 * 28);  // what the batch norm is given
    CHECK(made.layers[1].forward_flop == 2.0 * 75 * 16 * 28 * 28);
    CHECK(made.layers[2].activations == 16 * 28 * 28);
    const double exposed_us = bucket ? 5 : 0;
    CHECK(made.backward_gap_s == doctest::Approx((25 - exposed_us) * 1e-6));
    CHECK(made.forward_gap_s == doctest::Approx((1000 - 320 - 25) * 1e-6));
    CHECK(made.source.find("kernels cover 32 % of it") != std::string::npos);
    // The file, as a job on one GPU of the device, and on one that is twice as fast.
    Json scenario = small_scenario();
    scenario["workload"] = Json::parse(workload_file(made, "f"));
    CHECK(scenario["workload"]["measured_on"] == "GPU X");
    scenario["cluster"]["workers"] = 1;
    scenario["cluster"]["device"] = {{"name", "GPU X"}};
    CHECK(job_of(scenario).workload.one_device_step_s ==
          doctest::Approx((1000 - exposed_us) * 1e-6).epsilon(1e-9));
    scenario["workload"]["measured_on"] = {
        {"name", "GPU X"}, {"peak_flops", 1e12}, {"memory_bandwidth", 1e11}};
    scenario["cluster"]["device"] = {{"name", "D"}, {"peak_flops", 2e12}, {"memory_bandwidth", 2e11}};
    CHECK(job_of(scenario).workload.one_device_step_s ==
          doctest::Approx((1000 - exposed_us - 160) * 1e-6).epsilon(1e-9));
  }
}

TEST_CASE("a replay of a trace says how much of its steps it plays") {
  const RecordedJob job = read_recorded_job("f", step_with_gaps(4, false).text());
  CHECK(
      counts(job.ignored) ==
      "4 steps of which the first to the last kernel cover 43 %: what the host does between steps is not simulated");
}

TEST_CASE("kernels that run beside each other share what they take together") {
  Trace trace(false, 0, 1);
  for (int step = 3; step < 6; ++step) {
    const double at = 1000.0 * step;
    trace.step(step, at, 1000);
    trace.op("aten::linear", at + 10, 20, step, "1", "[[8, 400], [10, 400], [10]]");
    trace.kernel("a", at + 11, at + 100, 300);
    trace.kernel("b", at + 12, at + 200, 100);  // while a runs
    trace.op("AddmmBackward0", at + 50, 20, step, "2");
    trace.kernel("c", at + 51, at + 400, 400, "2");
  }
  const RecordedWorkload made = import_text("f", trace.text(), {}).workloads.at(0);
  CHECK(made.layers.at(0).forward_s == doctest::Approx(400e-6 * 700 / 800));
  CHECK(made.layers[0].backward_s == doctest::Approx(400e-6 * 700 / 800));
  CHECK(made.forward_gap_s == doctest::Approx(300e-6));
  CHECK(made.backward_gap_s == 0);
}

TEST_CASE("what the user says of the device holds") {
  Trace trace(false, 0, 1);
  trace.step(7, 0, 100);
  trace.op("aten::linear", 1, 5, 1, "1", "[[8, 400], [10, 400], [10]]");
  trace.kernel("a", 2, 20, 30);
  const Imported all = import_text("f", trace.text(), with("measured_on", "V100"));
  CHECK(all.workloads.at(0).device == "V100");
  CHECK(ignored(all) == "1 values of measured_on that were set: the file tells GPU X, which is not used");
}

TEST_CASE("operations that do not fit together over ranks are left out, and said") {
  Trace a(false, 0, 2), b(false, 1, 2);
  for (Trace* each : {&a, &b}) each->step(7, 0, 1e6);
  for (int i = 0; i < 6; ++i) {
    a.kernel(kAllReduce, 1000 * i, 1000 * i, 500, "1", nccl("allreduce", 100, "Float", 2, i));
    // The fourth is of another size, the fifth ends 50 ms later than it can.
    b.kernel(kAllReduce, 1000 * i, 1000 * i + (i == 4 ? 5e4 : 100), 400, "1",
             nccl("allreduce", i == 3 ? 101 : 100, "Float", 2, i));
  }
  const Imported all = files_of({a.text(), b.text()});
  CHECK(rows_of(all, "time_s").size() == 4);
  std::string told;
  for (const ImportReport& report : all.reports) told += counts(report.ignored);
  CHECK(told.find("1 operations that differ between the ranks' files, left out") != std::string::npos);
  CHECK(told.find("1 operations whose ends differ between ranks even with aligned clocks, left out") !=
        std::string::npos);
}

TEST_CASE("events that cannot be are counted; bad UTF-8, int64 overflow and half a file leave the rest") {
  Trace trace;
  trace.step(3, 0, 100);
  trace.kernel("k\xff\xfe", 10, 20, 30);
  trace.raw(R"({"ph": "X", "cat": "kernel", "name": "k", "ts": 1, "dur": -3})");
  trace.raw(R"({"ph": "X", "cat": "kernel", "name": "k", "ts": 1})");
  trace.raw(
      R"({"ph": "X", "cat": "martian", "name": "k", "ts": 1, "dur": 1, "args": {"correlation": 99999999999999999999}})");
  trace.raw(R"({"name": "k", "ts": 1})");
  trace.raw(R"({"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#x", "ts": 1, "dur": 1})");
  trace.raw("17");
  const Imported all = import_text("f", trace.text(), {});
  CHECK(
      ignored(all) ==
      "2 bytes that are control characters or not UTF-8, replaced; 1 elements that are not events; 1 events of a negative duration; 1 events of category martian; 1 events of no known phase; 1 events of steps without a number; 1 events without a begin or a duration");
  CHECK(events_counted(all.reports[0]) == trace.events - 1);
  REQUIRE(all.steps.size() == 1);
  CHECK(all.steps[0].compute_s == doctest::Approx(30e-6));
  const Imported half = import_text("f", trace.text().substr(0, trace.text().find("martian")), {});
  CHECK(half.steps.size() == 1);
  CHECK(half.reports[0].ignored.at("truncated files, read up to their end") == 1);
}

TEST_CASE("characters over the seams of blocks stay whole") {
  // 64 KiB of padding, so that the name lies around the end of a block, at every place.
  for (std::size_t shift = 0; shift < 8; ++shift) {
    Trace trace;
    trace.step(3, 0, 100);
    const std::size_t before = trace.text().size();
    trace.raw("{\"ph\": \"M\", \"pad\": \"" + std::string((1U << 16U) - before - 160 + shift, 'x') + "\"}");
    trace.kernel("\xE2\x82\xAC\xF0\x9F\x98\x80\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80\xC3\xA9\xE2\x82\xAC", 10,
                 20, 30);
    trace.kernel(std::string(80, 'y') + "\xF0\x9F\x98\x80", 10, 50, 30);
    const Measurements all = import_text("f", trace.text(), {});
    CHECK(ignored(all).empty());
    CHECK(rows_of(all, "kernel_s").at(1).labels.at("kernel").starts_with("\xE2\x82\xAC\xF0\x9F\x98\x80"));
  }
}

}  // namespace simsgd::test::traces_kineto
