// PyTorch's execution traces: as the observer writes them, of schemas since 1.0.2, and with the times and
// kernels that Chakra's trace_link adds; all made up here, against what was put into them.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include "tests/traces/imports.hpp"

namespace simsgd::test::traces_pytorch_et {

using namespace traces;

namespace {

struct Called {
  int id = 0, caller = 1;
  std::string name = "op";
  std::string shapes = "[]", out_shapes = "[]", values = "[]", types = "[]";
  int seq = -1, tid = 1;
  std::string attrs{};  // more of them
  std::string more{};   // more keys
};

std::string node(const Called& n) {
  return fmt::format(
      R"({{"id": {}, "name": "{}", "ctrl_deps": {}, "inputs": {{"values": {}, "shapes": {}, "types": {}, "strides": []}},)"
      R"("outputs": {{"values": [], "shapes": {}, "types": [], "strides": []}},)"
      R"("attrs": [{{"name": "rf_id", "type": "uint64", "value": 1}}, {{"name": "seq_id", "type": "int64", "value": {}}},)"
      R"({{"name": "tid", "type": "uint64", "value": {}}}{}]{}}})",
      n.id, n.name, n.caller, n.values, n.shapes, n.types, n.out_shapes, n.seq, n.tid, n.attrs, n.more);
}

std::string trace(const std::vector<Called>& nodes, const std::string& schema = "1.1.1-chakra.0.0.4") {
  std::string text = fmt::format(
      R"({{"schema": "{}", "pid": 7, "time": "2025-04-11 13:43:51", "start_ts": 2188364098, "nodes": [)",
      schema);
  for (std::size_t i = 0; i < nodes.size(); ++i) text += (i == 0 ? "\n" : ",\n") + node(nodes[i]);
  return text + "\n], \"finish_ts\": 2188364998}";
}

std::string comms(const char* name, int elements, const char* dtype = "Float", int size = 4) {
  return fmt::format(
      R"(, {{"name": "collective_name", "type": "string", "value": "{}"}}, {{"name": "dtype", "type": "string", "value": "{}"}},)"
      R"({{"name": "in_msg_nelems", "type": "uint64", "value": {}}}, {{"name": "out_msg_nelems", "type": "uint64", "value": {}}},)"
      R"({{"name": "pg_name", "type": "string", "value": "0"}}, {{"name": "pg_size", "type": "uint64", "value": {}}})",
      name, dtype, elements, elements, size);
}

// A convolution of 8 images to 16 channels of 14 x 14 and a product, both passes, and the all-reduce of the
// gradients. Nodes are written as they end.
std::vector<Called> host_nodes() {
  return {
      {.id = 2, .name = "[pytorch|profiler|execution_trace|thread]"},
      {.id = 4,
       .caller = 3,
       .name = "aten::convolution",
       .shapes = "[[8, 3, 32, 32], [16, 3, 5, 5], [16]]",
       .seq = 1},
      {.id = 3,
       .caller = 2,
       .name = "aten::conv2d",
       .shapes = "[[8, 3, 32, 32], [16, 3, 5, 5], [16], [[], []]]",
       .out_shapes = "[[8, 16, 14, 14]]",
       .seq = 1},
      {.id = 5, .caller = 2, .name = "aten::relu", .shapes = "[[8, 16, 14, 14]]", .seq = 2},
      {.id = 6,
       .caller = 2,
       .name = "aten::linear",
       .shapes = "[[8, 3136], [10, 3136], [10]]",
       .out_shapes = "[[8, 10]]",
       .seq = 3},
      {.id = 7, .name = "[pytorch|profiler|execution_trace|thread]", .tid = 2},
      {.id = 8, .caller = 7, .name = "AddmmBackward0", .seq = 3, .tid = 2},
      {.id = 9, .caller = 7, .name = "ConvolutionBackward0", .seq = 1, .tid = 2},
      {.id = 11, .caller = 10, .name = "nccl:all_reduce", .tid = 2},
      {.id = 10, .caller = 7, .name = "record_param_comms", .tid = 2, .attrs = comms("allreduce", 32586)},
      {.id = 12, .caller = 2, .name = "Optimizer.step#SGD.step"},
      {.id = 1, .caller = 1, .name = "[pytorch|profiler|execution_trace|process]", .tid = 0},
  };
}

void check_layers(const RecordedWorkload& made, std::size_t first) {
  REQUIRE(made.layers.size() == first + 2);
  CHECK(made.batch == 8);
  CHECK(made.layers[first].name == "conv1");
  CHECK(made.layers[first].tensors == std::vector<std::vector<double>>{{16, 75}, {16}});
  CHECK(made.layers[first].activations == 16 * 14 * 14);
  CHECK(made.layers[first].forward_flop == 2.0 * 75 * 16 * 14 * 14);
  CHECK(made.layers[first + 1].tensors == std::vector<std::vector<double>>{{10, 3136}, {10}});
  CHECK(made.layers[first + 1].activations == 10);
}

}  // namespace

TEST_CASE("pytorch_et: what the observer writes tells sizes of collectives, and layers without times") {
  for (const char* schema : {"1.1.0-chakra.0.0.4", "1.1.1-chakra.0.0.4"}) {
    const Imported all = import_text("run/host_3.json", trace(host_nodes(), schema), {});
    CHECK(all.reports[0].format == "pytorch_et");
    CHECK(ignored(all).empty());
    CHECK(understood(all).find("1 files without kernel times, which Chakra's trace_link adds") !=
          std::string::npos);
    REQUIRE(all.rows.size() == 1);
    CHECK(all.rows[0].quantity == "size_bytes");
    CHECK(all.rows[0].operation == "all_reduce");
    CHECK(all.rows[0].bytes == 4 * 32586);
    CHECK(all.rows[0].workers == 4);
    CHECK(all.rows[0].labels.at("rank") == "3");
    CHECK(all.steps.empty());
    REQUIRE(all.workloads.size() == 1);
    check_layers(all.workloads[0], 0);
    const std::string file = workload_file(all.workloads[0], "f");
    for (const char* key : {"\"forward\"", "host_gap", "layer_times_batch", "steps of"})
      CHECK(file.find(key) == std::string::npos);
  }
}

TEST_CASE("pytorch_et: until 1.1.0 a collective's sizes stand among its inputs") {
  const Called old = {
      .id = 2,
      .name = "record_param_comms",
      .shapes = "[[[100], [28]], [], [], [], [], [], [], []]",
      .values =
          R"([[[5, 6, 0, 100, 2, "cuda:0"], [7, 8, 0, 28, 2, "cuda:0"]], 3, 140, 0, "allreduce", [], [], 8])",
      .types =
          R"(["GenericList[Tensor(c10::BFloat16),Tensor(c10::BFloat16)]", "Int", "Int", "Int", "String",)"
          R"( "GenericList[]", "GenericList[]", "Int"])"};
  const Imported all = import_text("f", trace({old}, "1.0.2-chakra.0.0.4"), {});
  REQUIRE(all.rows.size() == 1);
  CHECK(all.rows[0].operation == "all_reduce");
  CHECK(all.rows[0].bytes == 256);
  CHECK(all.rows[0].workers == 8);
  CHECK(all.rows[0].labels.at("type") == "bfloat16");
}

TEST_CASE("pytorch_et: with the times and kernels that trace_link adds, as a trace of the profiler") {
  std::vector<Called> nodes = host_nodes();
  // Each operator begins 100 us after the one before in the order of ids, and lasts 50; its kernel is
  // launched within.
  for (Called& each : nodes)
    each.more = fmt::format(R"(, "ts": {}, "inclusive_dur": {}, "exclusive_dur": 1)", 100 * each.id,
                            each.id <= 1                    ? 5000
                            : each.id == 3 || each.id == 10 ? 150
                                                            : 50);
  const auto kernel = [&](int id, int caller, const char* name, double dur, int stream,
                          const std::string& attrs = "") {
    nodes.push_back(
        {.id = id,
         .caller = caller,
         .name = name,
         .tid = caller >= 7 && caller < 12 ? 2 : 1,
         .attrs = attrs,
         .more = fmt::format(
             R"(, "cat": "kernel", "ph": "X", "ts": {}, "inclusive_dur": {}, "exclusive_dur": {},)"
             R"( "stream": {})",
             100 * caller + 20, dur, dur, stream)});
  };
  kernel(20, 4, "conv", 300, 7);  // until 720, and so on: the stream is never idle
  kernel(21, 5, "relu", 40, 7);
  kernel(22, 6, "gemm", 60, 7);
  kernel(23, 8, "gemm_backward", 90, 7);
  kernel(24, 9, "conv_backward", 500, 7);
  kernel(25, 11, "ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)", 200, 20, comms("allreduce", 32586));
  kernel(26, 12, "sgd", 30, 7);
  nodes.push_back({.id = 27,
                   .caller = 5,
                   .name = "Memcpy HtoD",
                   .more = R"(, "cat": "gpu_memcpy", "ts": 1, "exclusive_dur": 9)"});
  const Imported all = import_text("f", trace(nodes, "1.1.0-chakra.0.0.4"), with("measured_on", "A100"));
  CHECK(ignored(all).empty());
  REQUIRE(all.workloads.size() == 1);
  const RecordedWorkload& made = all.workloads[0];
  CHECK(made.device == "A100");
  check_layers(made, 1);
  CHECK(made.layers[0].name == "optimizer");
  CHECK(made.layers[0].forward_s == doctest::Approx(30e-6));
  CHECK(made.layers[1].forward_s == doctest::Approx(340e-6));
  CHECK(made.layers[1].backward_s == doctest::Approx(500e-6));
  CHECK(made.layers[2].forward_s == doctest::Approx(60e-6));
  CHECK(made.layers[2].backward_s == doctest::Approx(90e-6));
  const auto times = rows_of(all, "time_s");
  REQUIRE(times.size() == 1);
  CHECK(times[0].operation == "all_reduce");
  CHECK(times[0].value == doctest::Approx(200e-6));
  CHECK(times[0].workers == 4);
  // From the process' begin at 100 us to its end at 5100; a step by itself.
  REQUIRE(all.steps.size() == 1);
  CHECK(all.steps[0].compute_s == doctest::Approx(1020e-6));
  CHECK(rows_of(all, "step_s").at(0).value == doctest::Approx(5e-3));
  // The all-reduce, from 1120 to 1320 us, runs beside the backward pass of the convolution: 920 to 1420.
  CHECK(rows_of(all, "communication_exposed_s").at(0).value == 0);
  CHECK(made.forward_s() + made.backward_s() + made.forward_gap_s + made.backward_gap_s ==
        doctest::Approx(5e-3));
}

TEST_CASE("pytorch_et: steps of the profiler, ranks by the files' names, and nodes that cannot be") {
  const std::string text = trace(host_nodes());
  const Files files;
  const Imported two =
      import_files({files.write("et_rank1.json", text), files.compress("et_0.json.gz", text)}, {});
  CHECK(two.rows.at(0).labels.at("rank") == "1");
  CHECK(two.rows.at(1).labels.at("rank") == "0");
  CHECK(two.workloads.size() == 1);

  std::vector<Called> bad = host_nodes();
  bad.push_back({.id = 5, .name = "twice"});
  bad.push_back({.id = -4, .name = "negative"});
  bad.push_back({.id = 90, .caller = 90, .name = ""});
  bad.push_back(
      {.id = 91, .caller = 91, .name = "aten::linear", .shapes = R"([["x"], [1e300, 2], 7, null])"});
  bad.push_back({.id = 92, .caller = 500, .name = "record_param_comms", .attrs = comms("martian", 3)});
  bad.push_back({.id = 93,
                 .name = "record_param_comms",
                 .values = R"([[], [[]], "allreduce"])",
                 .types = R"(["Tensor(", 3])"});
  const Imported all = import_text("f", trace(bad), {});
  CHECK(
      ignored(all) ==
      "2 collectives of unknown operation or size; 1 nodes that repeat an id; 2 nodes without an id or a name");
  check_layers(all.workloads.at(0), 0);
  CHECK(import_errors(R"({"schema": "1.1.1-chakra.0.0.4", "nodes": []})") ==
        "f: contains no usable measurement (pytorch_et). Left out: 1 files without nodes.\n");
  CHECK(import_errors(R"({"schema": "1.1.1-chakra.0.0.4", "nodes": [)").find("f: ") == 0);
}

}  // namespace simsgd::test::traces_pytorch_et
