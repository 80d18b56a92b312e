// How long the exchanges of sparse gradients take: the cost table of gTop-k S-SGD (Shi et al., ICDCS 2019,
// arXiv:1901.04359), and what host and device add.
//   dense ring 2(P-1) alpha + 2 (P-1)/P m beta      Top-k, all-gather  log2 P alpha + 2 (P-1) k beta
//   gTop-k, tree  2 log2 P alpha + 4 k beta log2 P   recursive doubling  log2 P (alpha + 2 k beta)
// alpha = 0.436 ms, beta = 3.6e-5 ms per element of 4 bytes; a sparse message is k values and k indices.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include <cmath>

#include "algorithms/sparse/sparse_exchange.hpp"
#include "scenarios/language/scenario.hpp"
#include "sim/collectives/schedules.hpp"
#include "sim/recording/metrics.hpp"
#include "tests/support/jobs.hpp"

namespace simsgd::test::algorithms_gtopk_times {

namespace {

constexpr double kAlpha_s = 0.436e-3, kBeta_s = 3.6e-8, kElement = 4;  // beta of an element
constexpr double kEntries = 25.0 * 1024 * 1024;                        // m
constexpr double kChosen = 0.001 * kEntries;                           // k, here not truncated

Network measured_star(int ports) { return star(ports, kAlpha_s, kElement / kBeta_s); }

std::shared_ptr<const Schedule> shared(Schedule schedule) {
  return std::make_shared<const Schedule>(std::move(schedule));
}

std::shared_ptr<const Schedule> all_gather(int workers) {
  ScheduleRequest request;
  request.ranks = workers;
  request.bytes = workers * kChosen * 8;
  return shared(find_schedule(CollectiveOp::all_gather, "bruck")->make(request));
}

std::shared_ptr<const Schedule> merging(int workers, MergeVariant variant, double merge_s = 0) {
  return shared(merge_schedule({.workers = workers,
                                .variant = variant,
                                .put_back = PutBack::paper,
                                .entries = kChosen,
                                .bytes_per_entry = 8,
                                .merge_s = merge_s}));
}

// Seconds until the last worker has the result, all starting together.
double time_of(int workers, const std::shared_ptr<const Schedule>& schedule, Fidelity fidelity) {
  Job job = scripted_job(measured_star(workers), [&](Worker& worker) {
    while (worker.next_step()) {
      auto collective = timed<CustomCollective>(kChosen * 8, "");
      collective.messages = schedule;
      worker.wait(worker.collectives().start(collective));
    }
  });
  job.network.fidelity = fidelity;
  return simulate_job(job).end_s;
}

struct Predicted {
  double dense, topk, tree, doubling;
};
Predicted by_formula(int workers) {
  const double rounds = std::log2(workers), p = workers;
  return {2 * (p - 1) * kAlpha_s + 2 * (p - 1) / p * kEntries * kBeta_s,
          rounds * kAlpha_s + 2 * (p - 1) * kChosen * kBeta_s,
          2 * rounds * kAlpha_s + 4 * kChosen * kBeta_s * rounds,
          rounds * (kAlpha_s + 2 * kChosen * kBeta_s)};
}

std::string printed(double seconds, int digits) {
  std::string text = std::to_string(std::round(seconds * 1e3 * std::pow(10, digits)) / std::pow(10, digits));
  return text.substr(0, text.find('.') + 1 + static_cast<std::size_t>(digits));
}

double ring_time(int workers, Fidelity fidelity) {
  ScheduleRequest request;
  request.ranks = workers;
  request.bytes = kEntries * kElement;
  return time_of(workers, shared(find_schedule(CollectiveOp::all_reduce, "ring")->make(request)), fidelity);
}

}  // namespace

TEST_CASE(
    "on a network of its own each exchange takes the time of its formula, message by message and otherwise") {
  for (const int workers : {4, 8, 16, 32, 64, 128}) {
    const Predicted formula = by_formula(workers);
    for (const Fidelity fidelity :
         {Fidelity::messages, Fidelity::steps, Fidelity::flows, Fidelity::automatic}) {
      CAPTURE(workers);
      CAPTURE(fidelity_name(fidelity));
      CHECK(time_of(workers, all_gather(workers), fidelity) == doctest::Approx(formula.topk).epsilon(1e-6));
      CHECK(time_of(workers, merging(workers, MergeVariant::tree), fidelity) ==
            doctest::Approx(formula.tree).epsilon(1e-6));
      CHECK(time_of(workers, merging(workers, MergeVariant::recursive_doubling), fidelity) ==
            doctest::Approx(formula.doubling).epsilon(1e-6));
    }
    CHECK(ring_time(workers, Fidelity::messages) == doctest::Approx(formula.dense).epsilon(1e-6));
  }
}

TEST_CASE("the predicted times of the paper's model are those of the formulas, to their last digit, in ms") {
  struct Row {
    int workers;
    const char *topk, *gtopk, *dense;
  };
  for (const Row& row : {Row{4, "6.53", "9.29", "1418.2"}, Row{8, "14.52", "13.94", "1657.6"},
                         Row{16, "30.06", "18.59", "1782.6"}, Row{32, "60.69", "23.23", "1855.5"},
                         Row{64, "121.52", "27.88", "1912.9"}, Row{128, "242.76", "32.53", "1983.4"}}) {
    CAPTURE(row.workers);
    CHECK(printed(by_formula(row.workers).topk, 2) == row.topk);
    CHECK(printed(by_formula(row.workers).tree, 2) == row.gtopk);
    CHECK(printed(by_formula(row.workers).dense, 1) == row.dense);
  }
}

TEST_CASE("merging takes its time once per round, after the round's message") {
  // 8 workers, 3 rounds; 1 us for each of 26214.4 entries: 78.6 ms more in both variants.
  constexpr double kMerge_s = 1e-6;
  for (const Fidelity fidelity : {Fidelity::messages, Fidelity::steps, Fidelity::flows}) {
    CAPTURE(fidelity_name(fidelity));
    CHECK(time_of(8, merging(8, MergeVariant::tree, kMerge_s), fidelity) ==
          doctest::Approx(by_formula(8).tree + 3 * kChosen * kMerge_s).epsilon(1e-9));
    CHECK(time_of(8, merging(8, MergeVariant::recursive_doubling, kMerge_s), fidelity) ==
          doctest::Approx(by_formula(8).doubling + 3 * kChosen * kMerge_s).epsilon(1e-9));
  }
}

TEST_CASE("other numbers of workers than 2^n take two messages and a merge more than 2^floor(log2 P)") {
  constexpr double kMerge_s = 1e-6;
  const double message_s = kAlpha_s + 2 * kChosen * kBeta_s, merge_s = kChosen * kMerge_s;
  for (const auto& [workers, rounds] : {std::pair{3, 1}, {6, 2}, {12, 3}, {24, 4}}) {
    CAPTURE(workers);
    for (const Fidelity fidelity : {Fidelity::messages, Fidelity::automatic}) {
      CHECK(time_of(workers, merging(workers, MergeVariant::tree, kMerge_s), fidelity) ==
            doctest::Approx(2 * (rounds + 1) * message_s + (rounds + 1) * merge_s).epsilon(1e-9));
      CHECK(time_of(workers, merging(workers, MergeVariant::recursive_doubling, kMerge_s), fidelity) ==
            doctest::Approx((rounds + 2) * message_s + (rounds + 1) * merge_s).epsilon(1e-9));
    }
  }
}

TEST_CASE("a step of each algorithm is computing, selection, the way through the host, and the exchange") {
  // d = 2^20, k = 1048 (truncated), 4 workers, 8 bytes per entry, 1 ms + 1 GB/s:
  //   accumulating 2 ns d = 2.097 ms, selection 1e-10 d 20 = 2.097 ms; to the host and back at 1 GB/s and
  //   copies of 3 ns: (8 + 3) ns d = 11.53 ms; tree: 4 messages and 2 merges of 1 us each; Top-k: 2 messages
  //   of k and 2 k entries, and 4 k additions of 2 us.
  constexpr double kD = 1048576, kK = 1048;
  const auto parts_of = [&](const std::string& algorithm) {
    Job job = scripted_job(star(4, 1e-3, 1e9), nullptr, kD);
    job.workload.layers.front().forward_s = 0.01;
    job.cluster.device.selection_s = 1e-10;
    job.cluster.host.staging_Bps = 1e9;
    job.cluster.device.accumulate_s = 2e-9;
    job.cluster.host.copy_s = 3e-9;
    job.cluster.host.merge_s = 1e-6;
    job.cluster.host.scatter_add_s = 2e-6;
    use_algorithm(job, algorithm, {{"density", 0.001}});
    job.stop.steps = 3;
    const RunRecord record = simulate_job(job);
    const WorkerRecord& worker = record.workers[0];
    std::vector<double> parts;
    for (const Activity part : {Activity::compute, Activity::selection, Activity::host})
      parts.push_back(worker.activity_s[static_cast<std::size_t>(part)] / 3);
    parts.push_back(record.end_s / 3);
    return parts;
  };
  const double staged_s = 2 * kK * 8 / 1e9;  // the message itself, down and up
  const double compute_s = 0.01 + 2e-9 * kD, selection_s = 1e-10 * kD * 20, host_s = 11e-9 * kD;
  const std::vector<double> gtopk = parts_of("gtopk"), topk = parts_of("topk_sgd");
  for (const std::vector<double>* parts : {&gtopk, &topk}) {
    CHECK((*parts)[0] == doctest::Approx(compute_s).epsilon(1e-9));
    CHECK((*parts)[1] == doctest::Approx(selection_s).epsilon(1e-9));
  }
  CHECK(gtopk[2] == doctest::Approx(host_s + staged_s).epsilon(1e-9));
  CHECK(topk[2] == doctest::Approx(host_s + staged_s + 4 * kK * 2e-6).epsilon(1e-9));
  const double common_s = compute_s + selection_s + host_s + staged_s;
  CHECK(gtopk[3] == doctest::Approx(common_s + 4 * (1e-3 + kK * 8 / 1e9) + 2 * kK * 1e-6).epsilon(1e-9));
  CHECK(topk[3] == doctest::Approx(common_s + 2e-3 + 3 * kK * 8 / 1e9 + 4 * kK * 2e-6).epsilon(1e-9));
}

TEST_CASE("messages hold the k of the workload, during the warm-up that of its density") {
  // d = 1e6, 2 workers: an exchange of both variants is a message of k x 8 bytes to rank 0 and one back.
  Job job = scripted_job(star(2, 1e-3, 1e9), nullptr, 1e6);
  use_algorithm(job, "gtopk", {{"density", 0.001}, {"warmup_steps", 2}, {"warmup_densities", {0.25, 0.015}}});
  job.stop.steps = 5;  // 2 of 250,000 entries, 2 of 15,000, 1 of 1,000
  std::vector<double> bytes;
  for (const WorkerRecord& worker : simulate_job(job).workers) bytes.push_back(worker.bytes_sent[0]);
  CHECK(bytes == std::vector<double>{8 * 531000, 8 * 531000});
}

TEST_CASE("exact put-back sends a bit per entry with the result of a tree") {
  // 4 workers, k = 1000: rank 0 sends the result twice, rank 1 its entries once.
  Job job = scripted_job(star(4, 1e-3, 1e9), nullptr, 1e6);
  use_algorithm(job, "gtopk", {{"put_back", "exact"}, {"bytes_per_entry", 16}});
  std::vector<double> bytes;
  for (const WorkerRecord& worker : simulate_job(job).workers) bytes.push_back(worker.bytes_sent[0]);
  CHECK(bytes == std::vector<double>{2 * (16000 + 125), 16000, 16000 + 16000 + 125, 16000});
}

// gTop-k on the clusters that we ship: what it costs beside its messages is there, and adds up as by hand.

namespace {

struct Step {
  double seconds = 0, selection_s = 0, efficiency = 0;
};

// ResNet-50, batch 64, on 16 nodes with 4 V100 each.
Step step_on(const std::string& cluster) {
  const Overrides overrides = {{{"/cluster/use", "clusters/" + cluster + ".json"},
                                {"/cluster/workers", "64"},
                                {"/workload/batch", "64"},
                                {"/workload/micro_batches", "1"}},
                               {}};
  const Job job = make_job(
      load_scenario(std::string(SIMSGD_SOURCE_DIR) + "/scenarios/papers/gtopk_gtopk.json", overrides));
  Step step;
  for (const MetricValue& metric : metric_values(simulate_job(job), job)) {
    if (metric.name == "iteration_time_mean_s") step.seconds = metric.value;
    if (metric.name == "selection_s") step.selection_s = metric.value;
    if (metric.name == "scaling_efficiency") step.efficiency = metric.value;
  }
  return step;
}

}  // namespace

TEST_CASE(
    "on 64 V100 choosing and merging cost gTop-k a quarter of its throughput, on InfiniBand and 10 GbE") {
  constexpr double kD = 25557032, kK = 25557;
  // Measured: 253.1 samples/s. Accumulating: 20 bytes per parameter at 90 % of 900 GB/s.
  const double compute_s = 64 / 253.1 + 20 * kD / 810e9;
  const double selection_s = 0.108e-9 * kD * std::log2(kD);
  // Six messages to rank 0 and six back, of 8 bytes for each entry: two of each in a node at 12 GB/s and 5
  // us, four between nodes; after each on the way to it a merge of 70 ns for each entry; NCCL's 8.4 us once.
  const auto exchange_s = [](double alpha_s, double bandwidth_Bps) {
    const double inside_s = 5e-6 + 8 * kK / 12e9, between_s = alpha_s + 8 * kK / bandwidth_Bps;
    return 2 * (2 * inside_s + 4 * between_s) + 6 * kK * 70e-9 + 8.4e-6;
  };
  const Step infiniband = step_on("infiniband-100g"), ethernet = step_on("ethernet-10g");
  CHECK(infiniband.selection_s == doctest::Approx(selection_s).epsilon(1e-9));
  CHECK(infiniband.seconds ==
        doctest::Approx(compute_s + selection_s + exchange_s(1.5e-6, 12e9)).epsilon(1e-6));
  CHECK(ethernet.seconds ==
        doctest::Approx(compute_s + selection_s + exchange_s(25e-6, 1.177e9)).epsilon(1e-6));
  CHECK(infiniband.efficiency == doctest::Approx(0.761).epsilon(1e-3));
  CHECK(ethernet.efficiency == doctest::Approx(0.757).epsilon(1e-3));
}

}  // namespace simsgd::test::algorithms_gtopk_times
