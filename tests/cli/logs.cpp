// From logs to 64 GPUs in three commands, as docs/calibration.md writes them, on the samples in
// scenarios/samples; and what logs must tell.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

#include "analysis/calibration/log_spec.hpp"
#include "tests/cli/scratch.hpp"
#include "tests/traces/kineto_trace.hpp"

namespace simsgd::test::cli_logs {

using Json = nlohmann::ordered_json;
using namespace cli;

namespace {

const std::string kSamples = "scenarios/samples/";  // as typed: found from any folder

// A log of so many ranks in nodes of 2, of rings that take launch + 2 (P-1) (latency + m / P / B).
std::string log_of(int ranks, const char* processes, int size_factor = 16,
                   const std::string& device = "NVIDIA H100 80GB HBM3", std::int64_t most = 67108864) {
  std::string text = "# Using devices\n";
  for (int rank = 0; rank < ranks; ++rank)
    text += "#  Rank  " + std::to_string(rank) + " Pid " +
            (processes[0] == 'n' ? std::to_string(100 + rank) : "100") + " on host" +
            std::to_string(rank / 2) + " device  " + std::to_string(rank % 2) + " [0x00] " + device + "\n";
  text +=
      "#       size         count      type   redop     time   algbw   busbw  error     time   algbw   busbw  error\n"
      "#        (B)    (elements)                       (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)\n";
  for (std::int64_t count = 256; count <= most; count *= size_factor) {
    const double bytes = 4.0 * static_cast<double>(count);
    const double steps = 2.0 * (ranks - 1);
    const double us = 20 + steps * (3 + bytes / ranks / 20e9 * 1e6), GBps = bytes / us / 1e3;
    const std::string half = fmt::format("{:f} {:f} {:f} 0 ", us, GBps, GBps * steps / ranks);
    text += fmt::format("{} {} float sum {}{}\n", 4 * count, count, half, half);
  }
  return text;
}

}  // namespace

TEST_CASE("logs become a cluster, a trace a workload, and 64 GPUs get a number with an interval") {
  const Scratch scratch;
  const Outcome fit =
      scratch.simsgd("calibrate " + kSamples + "nccl_8.log " + kSamples + "nccl_16.log -o my.json");
  CAPTURE(fit.err);
  REQUIRE(fit.code == 0);
  CHECK(fit.err.find("note: the device of the logs is assumed to be devices/a100.json") != std::string::npos);
  CHECK(fit.out.find("<- chosen") != std::string::npos);
  CHECK(fit.out.find("determined: all_reduce of 1.02 kB to 1.07 GB among 8, 16 ranks in nodes of 8") !=
        std::string::npos);
  CHECK(fit.out.find("not determined: how times grow with nodes beyond these") != std::string::npos);

  // The samples are of clusters/a100-nvswitch-ib200.json with noise of 3 %: 16 GPUs at large sizes are as
  // there.
  const auto seconds = [&](const std::string& cluster) {
    const Outcome bench =
        scratch.simsgd("bench all_reduce -b 64M -e 64M --workers 16 --draws 0 --json --cluster " + cluster);
    REQUIRE(bench.code == 0);
    return Json::parse(bench.out).at("results").at(0).at("out_of_place").at("time").get<double>();
  };
  CHECK(seconds("my.json") == doctest::Approx(seconds("clusters/a100-nvswitch-ib200.json")).epsilon(0.15));

  const Outcome run = scratch.simsgd("run " + kSamples + "job.json --on my.json --workload " + kSamples +
                                     "resnet50.0.et.gz --workers 64 --json");
  CAPTURE(run.err);
  REQUIRE(run.code == 0);
  const Json document = Json::parse(run.out);
  CHECK(document["scenario"]["cluster"]["workers"] == 64);
  CHECK(document["scenario"]["cluster"]["name"] == "calibrated");
  CHECK(document["scenario"]["workload"]["batch"] == 128);
  const double step_s = document["metrics"]["iteration_time_mean_s"];
  CHECK(step_s > 0.1578);  // the trace's own computing
  const Json& widest = document["intervals"]["iteration_time_mean_s"].back();
  CHECK(widest["low"].get<double>() < step_s);
  CHECK(step_s < widest["high"].get<double>());
  // Computing is 99 % of it: what logs do not tell of communication may not make it a third shorter.
  CHECK(widest["low"].get<double>() > 0.9 * step_s);

  const Outcome listed = scratch.simsgd("list clusters my.json");
  CHECK(listed.code == 0);
  CHECK(listed.out.find("calibration/draws: 20\n") != std::string::npos);
  CHECK(listed.out.size() < 8000);
}

TEST_CASE("logs of rings that were computed by hand give back their links, and rings of other sizes") {
  const Scratch scratch;
  scratch.write("4.log", log_of(4, "n", 64));
  scratch.write("6.log", log_of(6, "n", 64));  // of 8 ranks it takes twice as long
  const Outcome fit = scratch.simsgd("calibrate 4.log 6.log -o my.json --spec spec.json --json");
  CAPTURE(fit.err);
  REQUIRE(fit.code == 0);
  const Json fitted = Json::parse(fit.out).at("models");
  Json spec = Json::parse(contents(scratch.path() / "spec.json"));
  Json& models = spec.at("models");
  REQUIRE(models.size() == fitted.size());
  for (std::size_t i = 0; i < fitted.size(); ++i) CHECK(models[i].at("name") == fitted[i].at("name"));
  // From the spec each model is fitted as from the logs, whatever the others: two are enough.
  models.erase(models.begin() + 2, models.end());
  scratch.write("spec.json", spec.dump());
  const Outcome again = scratch.simsgd("calibrate spec.json --json");
  CHECK(again.code == 0);
  for (std::size_t i = 0; i < 2; ++i) CHECK(Json::parse(again.out).at("models").at(i) == fitted[i]);
  CHECK(scratch.simsgd("calibrate spec.json --gpus-per-node 2")
            .err.starts_with("--gpus-per-node: applies to logs"));
  const Outcome bench =
      scratch.simsgd("bench all_reduce -b 16M -e 16M --workers 16 --draws 0 --json --cluster my.json");
  REQUIRE(bench.code == 0);
  const double by_hand_us = 20 + 30 * (3 + 16777216.0 / 16 / 20e9 * 1e6);
  CHECK(Json::parse(bench.out).at("results").at(0).at("out_of_place").at("time").get<double>() ==
        doctest::Approx(by_hand_us).epsilon(0.05));
}

TEST_CASE("a model with more numbers than measurements beside a left-out part has no left-out error") {
  const Scratch scratch;
  scratch.write("2.log", log_of(2, "n", 256));
  scratch.write("4.log", log_of(4, "n", 256));
  const Outcome fit = scratch.simsgd("calibrate 2.log 4.log --json");
  CAPTURE(fit.err);
  REQUIRE(fit.code == 0);
  const Json told = Json::parse(fit.out);
  CHECK(told["fit"]["points"].size() == 12);  // of 2 ranks, too: an all-reduce without a name
  // Four cells lie beside each size that is left out: two of the models have as few numbers.
  for (const Json& model : told["models"]) {
    CAPTURE(model.dump());
    const std::string name = model["name"];
    CHECK(model["left_out_error"].is_number() == (name == "one ring" || name.ends_with("its own numbers")));
    if (name == told["chosen"]) CHECK(model["left_out_error"].is_number());
  }
}

TEST_CASE("a log that ends before links are full says so, and bounds no bandwidth") {
  const Scratch scratch;
  const std::string device = "NVIDIA H100 80GB HBM3", of_2 = scratch.path() / "2.log",
                    of_4 = scratch.path() / "4.log", table = scratch.path() / "4.csv";
  scratch.write("2.log", log_of(2, "n", 4));
  scratch.write("4.log", log_of(4, "n", 4, device, 65536));
  const auto highest = [](const LogSpec& made) {
    for (const auto& each : made.spec["models"][0]["parameters"])
      if (each["name"] == "bandwidth between nodes") return each["high"].get<double>();
    return 0.0;
  };
  const LogSpec cut = spec_of_logs({of_2, of_4}, {});
  REQUIRE(cut.notes.size() == 2);  // the device, and
  CHECK(cut.notes[1] ==
        "over nodes bus bandwidth still grows at the largest size, 262 kB, so the bandwidth between nodes is "
        "hardly determined: measure larger sizes, up to 1 GB");
  CHECK(highest(cut) == 200e9);  // two NICs of 800 Gb/s
  // A table that `import` wrote keeps the name of its log, and is used as the log is.
  REQUIRE(scratch.simsgd("import 4.log -o 4.csv").code == 0);
  CHECK(highest(spec_of_logs({of_2, table}, {})) == 200e9);
  CHECK(spec_of_logs({of_2, table}, {}).notes == cut.notes);
  scratch.write("4.log", log_of(4, "n", 4));
  const LogSpec whole = spec_of_logs({of_2, of_4}, {});
  CHECK(whole.notes.size() == 1);
  const std::string of_1 = scratch.path() / "1.log";  // one rank does not communicate
  scratch.write("1.log", log_of(1, "n", 4));
  const LogSpec beside = spec_of_logs({of_1, of_2, of_4}, {});
  CHECK(beside.notes.at(0) ==
        of_1 +
            " has no times of all_reduce, all_gather or reduce_scatter among several ranks: it is not used");
  CHECK(beside.spec["models"] == whole.spec["models"]);
  CHECK(beside.spec["data"][0]["where"]["workers"]["at_least"] == 2);
  CHECK(highest(whole) == doctest::Approx(3 * 268435456.0 / (20e-6 + 6 * (3e-6 + 67108864.0 / 20e9))));
}

TEST_CASE("logs that do not tell their nodes, are of nothing, or of one process are met with a sentence") {
  const Scratch scratch;
  scratch.write("osu.txt",
                "# OSU MPI Allreduce Latency Test v7.0\n# Size       Avg Latency(us)\n4 1.5\n1024 3.5\n");
  scratch.write("4.log", log_of(4, "n"));
  const Outcome unknown = scratch.simsgd("calibrate osu.txt");
  CHECK(unknown.code == 2);
  CHECK(unknown.out.empty());
  scratch.write("too.txt", contents(scratch.path() / "osu.txt"));
  const Outcome both = scratch.simsgd("calibrate osu.txt too.txt --gpus-per-node 8");
  CHECK(both.code == 2);
  CHECK(both.err.find("osu.txt: does not say how many ranks took part") != std::string::npos);
  CHECK(both.err.find("too.txt: does not say how many ranks took part") != std::string::npos);
  scratch.write("mi.log", log_of(2, "n", 16, "AMD Instinct MI300X"));
  const Outcome mixed = scratch.simsgd("calibrate 4.log mi.log");
  CHECK(mixed.code == 2);
  CHECK(
      mixed.err.starts_with("mi.log: names another GPU than 4.log. Found: devices/mi300x.json beside "
                            "devices/h100.json. Calibrate logs of one machine together"));
  const Outcome option = scratch.simsgd("calibrate 4.log --data .");
  CHECK(option.code == 2);
  CHECK(
      option.err ==
      "--data: applies to a spec, and these files are logs. Found: .. Drop it, and give the paths of the logs.\n");
  CHECK(scratch.simsgd("calibrate nothing.log").code == 2);
  std::string untold = log_of(2, "n");  // of a broadcast, as it may be
  for (const std::string word : {"redop", "sum"})
    for (std::size_t at = 0; (at = untold.find(word)) != std::string::npos;)
      untold.replace(at, word.size(), std::string(word.size(), ' '));
  scratch.write("untold.log", untold);
  const Outcome no_name = scratch.simsgd("calibrate 4.log untold.log");
  CHECK(no_name.code == 2);
  CHECK(no_name.err.starts_with("untold.log: does not say which operation it measured. Import it with"));
  const Outcome missing = scratch.simsgd("run " + kSamples + "job.json --on nothing.json");
  CHECK(missing.code == 2);
  CHECK(missing.err.starts_with("--on: does not exist. Found: nothing.json."));
}

TEST_CASE("run --on keeps what the options do not say, and --set has the last word") {
  const Scratch scratch;
  const Outcome run =
      scratch.simsgd("run " + kSamples +
                     "job.json --on clusters/ethernet-10g.json --workload workloads/resnet20.json "
                     "--set /workload/batch=64 --set /stop/steps=2 --draws 0 --json");
  CAPTURE(run.err);
  REQUIRE(run.code == 0);
  const Json scenario = Json::parse(run.out).at("scenario");
  CHECK(scenario["cluster"]["name"] == "ethernet-10g");
  CHECK(scenario["cluster"]["workers"] == 8);
  CHECK(scenario["workload"]["name"] == "resnet20");
  CHECK(scenario["workload"]["batch"] == 64);
}

TEST_CASE("run --workload: a trace that does not say its batch has the scenario's, and a note says so") {
  const Scratch scratch;
  traces_kineto::Trace trace(false, 0, 2);  // without sizes of operators: only buckets tell the network
  for (int step = 1; step <= 4; ++step) {
    const double at = 1e5 + 1000.0 * step;
    trace.step(step, at, 998);
    trace.op("aten::linear", at + 1, 20, step, "1");
    trace.kernel("gemm", at + 5, at + 50, 200);
    trace.op("AddmmBackward0", at + 300, 20, step, "2");
    trace.kernel("gemm_backward", at + 301, at + 400, 300, "2");
    trace.kernel(
        "ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)", at + 330, at + 720, 50, "2",
        R"("Collective name": "allreduce", "In msg nelems": 5000, "Out msg nelems": 5000, "Group size": 2, "dtype": "Float", "Process Group Name": "0")");
  }
  std::string text = trace.text();
  text.replace(text.find("GPU X"), 5, "V100");  // as the scenario's cluster has
  scratch.write("t.json", text);
  const std::string command = "run " + kSamples + "job.json --workload t.json --draws 0 --json";
  const Outcome run = scratch.simsgd(command + " --set /workload/batch=16");
  CAPTURE(run.err);
  REQUIRE(run.code == 0);
  CHECK(run.err.find("does not say its batch; it is taken to be the scenario's, 16\n") != std::string::npos);
  CHECK(Json::parse(run.out).at("scenario").at("workload").at("batch") == 16);
}

TEST_CASE("a log that is named twice is refused: its measurements would count twice") {
  const Scratch scratch;
  scratch.write("4.log", log_of(4, "n"));
  const Outcome twice = scratch.simsgd("calibrate 4.log ./4.log");
  CHECK(twice.code == 2);
  CHECK(twice.err.ends_with("4.log: is named twice, so its measurements would count twice. Name it once.\n"));
}

}  // namespace simsgd::test::cli_logs
