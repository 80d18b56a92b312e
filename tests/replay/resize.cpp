// More workers than recorded, against what is known of the slowest of n.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "analysis/replay/replay.hpp"
#include "analysis/replay/report.hpp"
#include "sim/base/errors.hpp"
#include "sim/base/quantiles.hpp"
#include "sim/base/random.hpp"
#include "sim/recording/metrics.hpp"
#include "tests/replay/pipeline_model.hpp"
#include "traces/import.hpp"

namespace simsgd::test::replay_resize {

using namespace replay;
using namespace simsgd::replay;

namespace {

// 8 workers that compute 100 ms + an exponential of mean 10 ms and reduce in 8 ms.
std::string data_parallel(int workers, int steps, double slow_worker = 1) {
  std::string text = kColumns;
  for (int step = 0; step < steps; ++step) {
    std::vector<double> compute_us;
    for (int worker = 0; worker < workers; ++worker) {
      Stream stream(
          {9, Purpose::straggler, static_cast<std::uint32_t>(worker), static_cast<std::uint64_t>(step)});
      compute_us.push_back((100000 - 10000 * std::log(stream.uniform())) * (worker == 2 ? slow_worker : 1));
    }
    const double last_us = *std::max_element(compute_us.begin(), compute_us.end());
    for (int worker = 0; worker < workers; ++worker) {
      const double compute = compute_us[static_cast<std::size_t>(worker)];
      const double begin = 1e6 * step;
      text += fmt::format(
          "{0},\"PP0, TP0, compute\",forward-compute,{1},0,{2},{3}\n"
          "{0},\"PP0, TP0, dp-comm\",grads-reduce-scatter,{1},,{4},{5}\n",
          worker, step, begin, compute, begin + compute, last_us + 8000 - compute);
    }
  }
  return text;
}

double harmonic(int n) {
  double sum = 0;
  for (int i = 1; i <= n; ++i) sum += 1.0 / i;
  return sum;
}

}  // namespace

TEST_CASE("the slowest of n exponentials: H_n means; a ring takes (n - 1) / n") {
  const RecordedJob job = read_recorded_job("f", data_parallel(8, 200));
  const Graph graph = make_graph(job);
  CHECK(graph.warnings.empty());
  CHECK(sizes_up_to(graph, 64, "--workers") == std::vector<int>{8, 16, 32, 64});
  CHECK(sizes_up_to(graph, 24, "--workers") == std::vector<int>{8, 16, 24});
  CHECK(sizes_up_to(graph, 4, "--workers") == std::vector<int>{4});
  for (const int workers : {2, 8, 32, 64}) {
    CAPTURE(workers);
    const ResizedJob resized = resize(job, graph, workers, {10, 1, 1}, "--workers");
    CHECK(resized.steps == 200);
    const double ring_s = 0.008 * (workers - 1) / workers / (7.0 / 8);
    // 1,600 recorded times: their own means are 2.5 % off, and the tail that 64 see more so.
    CHECK(mean(resized.step_s) - 0.1 - ring_s ==
          doctest::Approx(0.010 * harmonic(workers)).epsilon(0.06).scale(0));
    CHECK(resized.ideal_s == doctest::Approx(0.110 + ring_s).epsilon(0.005));
    CHECK(simsgd::quantile(resized.step_s, 0.05) < mean(resized.step_s));
    CHECK(resized.step_s == resized.without_gaps_s);
  }
}

TEST_CASE(
    "a slow worker is one of eight: there are more of them among more workers, and none in some draws") {
  const RecordedJob job = read_recorded_job("f", data_parallel(8, 20, 1.5));
  const Graph graph = make_graph(job);
  const ResizedJob few = resize(job, graph, 2, {200, 1, 1}, "--workers");
  int slow = 0;
  for (const double step_s : few.step_s) slow += step_s > 0.145 ? 1 : 0;
  // 1 - (7/8)^2 = 23 % of the draws, 3 % standard deviation.
  CHECK(slow > 30);
  CHECK(slow < 64);
  const ResizedJob many = resize(job, graph, 64, {20, 1, 1}, "--workers");
  CHECK(simsgd::quantile(many.step_s, 0) > 0.155);
}

TEST_CASE("same seed, same draws; another seed, others; a pipeline grows by replicas") {
  const RecordedJob job = read_recorded_job("f", data_parallel(4, 10));
  const Graph graph = make_graph(job);
  CHECK(resize(job, graph, 16, {5, 1, 1}, "w").step_s == resize(job, graph, 16, {5, 1, 1}, "w").step_s);
  CHECK(resize(job, graph, 16, {5, 1, 1}, "w").step_s != resize(job, graph, 16, {5, 2, 1}, "w").step_s);
  PipelineJob pipeline;
  pipeline.make([](const Instruction& i) { return i.communication() ? 0.002 : 0.01; },
                [](const Instruction&) { return 0.0; });
  const double was_s = pipeline.run();
  const RecordedJob stages = read_recorded_job("f", kColumns + pipeline.rows(1, 0, true));
  const Graph of_stages = make_graph(stages);
  CHECK_THROWS_WITH_AS(
      sizes_up_to(of_stages, 8, "--workers"),
      "--workers: is not a multiple of the workers of a replica. Found: 8. Give a multiple of 3.",
      ConfigError);
  // All alike: gather and reduction go from 1/2 to 3/4 of their ring's time, everything else stays.
  const ResizedJob twice = resize(stages, of_stages, 12, {2, 1, 1}, "--workers");
  CHECK(twice.replicas == 4);
  CHECK(mean(twice.step_s) == doctest::Approx(was_s + 2 * 0.002 * 0.5).epsilon(1e-9));
}

// The fuzzer's seeds (tests/fuzz/seeds) of every format, with bytes changed, moved, doubled or cut: what is
// read ends in rows, in a replay or in a ConfigError. Where clang is missing, this is what there is of
// fuzzing.

namespace {

namespace fs = std::filesystem;

const char* const kMap =
    R"({"values": [{"from": "t", "unit": "us", "quantity": "time_s", "samples": "n"}], "workers": "P"})";

std::string changed(std::string text, Stream& stream) {
  const auto place = [&] { return stream.below(static_cast<std::uint32_t>(text.size())); };
  for (std::uint32_t left = 1 + stream.below(4); left > 0 && !text.empty(); --left) switch (stream.below(6)) {
      case 0:
        text[place()] = static_cast<char>(stream.below(256));
        break;
      case 1:
        text[place()] = "0123456789-+.eE,\"{}[]:\n"[stream.below(23)];
        break;
      case 2:
        text.resize(place());
        break;
      case 3: {  // a piece twice
        const std::string piece = text.substr(place(), 1 + stream.below(64));
        text.insert(place(), piece);
        break;
      }
      case 4:
        text.erase(place(), 1 + stream.below(32));
        break;
      default: {
        const char* const numbers[] = {"1e308", "-1",   "9223372036854775808", "0",
                                       "NaN",   "null", "4294967295"};
        const std::size_t digit = text.find_first_of("0123456789", place());
        if (digit != std::string::npos) text.replace(digit, 1, numbers[stream.below(7)]);
      }
    }
  return text;
}

void replay_text_of(const std::string& text) {
  RecordedJob job = read_recorded_job("f", text);
  simsgd::replay::ReplayOptions options;
  options.at_once = 1 + text.size() % 5;
  options.network = 2;
  options.ideal = text.size() % 2 == 0;
  if (job.replicas > 1) options.heal = {0};
  (void)simsgd::replay::replay_document(simsgd::replay::replay_job(std::move(job), options));
}

void import_as(const std::string& format, const std::string& text) {
  ImportOptions options;
  options.set = {{"workers", "4"}, {"batch", "8"}};
  if (format != "any") options.format = format;
  if (format.starts_with("mapped_")) {
    options.map = RawValue(nlohmann::json::parse(kMap));
    options.map_path = "map";
  }
  const Imported all = import_text("f", text, options);
  for (const RecordedWorkload& workload : all.workloads)
    if (workload.batch > 0) (void)workload_file(workload, "f");
}

}  // namespace

TEST_CASE("every format's seed is read, and what becomes of its bytes ends in a result or an error") {
  const char* const more = std::getenv("SIMSGD_CHANGES");
  const int changes = more != nullptr ? std::atoi(more) : 100;
  std::vector<fs::path> seeds;
  for (const auto& each : fs::recursive_directory_iterator(SIMSGD_SOURCE_DIR "/tests/fuzz/seeds"))
    if (each.is_regular_file()) seeds.push_back(each.path());
  std::sort(seeds.begin(), seeds.end());
  CHECK(seeds.size() >= 20);
  int read = 0, refused = 0;
  for (std::size_t s = 0; s < seeds.size(); ++s) {
    const std::string format = seeds[s].parent_path().filename();
    if (format == "map") continue;  // a map comes first
    CAPTURE(seeds[s].string());
    std::ifstream file(seeds[s], std::ios::binary);
    const std::string seed{std::istreambuf_iterator<char>(file), {}};
    Stream stream({11, Purpose::algorithm, static_cast<std::uint32_t>(s), 0});
    for (int i = 0; i <= changes; ++i) {
      const std::string text = i == 0 ? seed : changed(seed, stream);
      try {
        if (format == "replay")
          replay_text_of(text);
        else
          import_as(format, text);
        ++read;
      } catch (const ConfigError& error) {
        ++refused;
        if (i == 0 && format == "replay") FAIL_CHECK(error.what());
      }
    }
  }
  // Neither is everything refused, nor everything taken for something.
  CHECK(read > refused / 10);
  CHECK(refused > read / 10);
}

}  // namespace simsgd::test::replay_resize
