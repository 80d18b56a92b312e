// MG-WFBP learns what Allreduce-SGD learns, merges as its rule says, and sends each gradient once.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "algorithms/merged_messages.hpp"
#include "tests/algorithms/model_workers.hpp"

namespace simsgd::test::algorithms_mg_wfbp {

using doctest::Approx;

namespace {

/// When the last message has ended: each leaves when its last part is ready and the one before is through.
double end_of(const std::vector<ReadyPart>& parts, const GroupSizes& groups, const FusionCost& cost) {
  double free_s = 0;
  std::size_t next = 0;
  for (const std::size_t size : groups) {
    double elements = 0;
    for (std::size_t i = 0; i < size; ++i) elements += parts[next++].elements;
    free_s = std::max(free_s, parts[next - 1].ready_s) + cost.latency_s + elements * cost.per_element_s;
  }
  return free_s;
}

/// Bit i of `cuts`: a message ends behind part i.
GroupSizes cut(std::size_t parts, unsigned cuts) {
  GroupSizes groups = {1};
  for (std::size_t i = 0; i + 1 < parts; ++i)
    if (cuts >> i & 1U)
      groups.push_back(1);
    else
      ++groups.back();
  return groups;
}

/// Three layers, one without parameters.
Job layered_job(const Json& parameters) {
  Job job = learning_job(4, "mg_wfbp", parameters);
  give_three_layers(job, 1, 2);
  use_algorithm(job, "mg_wfbp", parameters);
  return job;
}

}  // namespace

TEST_CASE("mg_wfbp is SGD with the mean gradient, however it merges") {
  for (const Json& parameters :
       {Json::object(), Json{{"merging", "best"}}, Json{{"latency", 0}, {"per_byte", 1}},
        Json{{"latency", 1}, {"per_byte", 0}}}) {
    CAPTURE(parameters.dump());
    const Job job = layered_job(parameters);
    Workers workers(job);
    for (std::uint64_t step = 1; step <= kSteps; ++step) {
      const Vector mean = workers.mean_gradient(step);
      for (std::size_t i = 0; i < 4; ++i) workers[i] -= kRate * mean;
    }
    const FakeResult result = run_fake(job);
    CHECK(result.models[0] == result.models[3]);
    workers.check_against(result);
  }
}

TEST_CASE(
    "the best merging is the best of all; the published one is that in half of the cases, and never later than none") {
  Stream stream({9, Purpose::algorithm, 0, 1});
  int found = 0;
  for (int example = 0; example < 400; ++example) {
    CAPTURE(example);
    const FusionCost cost{.latency_s = stream.uniform(), .per_element_s = stream.uniform()};
    std::vector<ReadyPart> parts;
    double now_s = 0;
    for (int i = 0; i < 8; ++i) {
      now_s += stream.uniform() * (example % 3 == 0 ? 3 : 0.5);
      parts.push_back({now_s, stream.uniform()});
    }
    double best_s = INFINITY;
    for (unsigned cuts = 0; cuts < 128; ++cuts) best_s = std::min(best_s, end_of(parts, cut(8, cuts), cost));
    const double published_s = end_of(parts, merged_groups(parts, cost), cost);
    CHECK(end_of(parts, best_groups(parts, cost), cost) == Approx(best_s).epsilon(1e-12));
    CHECK(published_s <= end_of(parts, separate_groups(8), cost) + 1e-12);
    CHECK(published_s <= end_of(parts, {8}, cost) + 1e-12);
    found += published_s <= best_s + 1e-12 ? 1 : 0;
  }
  CHECK(found == Approx(200).epsilon(0.2));
  CHECK(best_groups({}, {}).empty());
}

TEST_CASE(
    "mg_wfbp: a step ends when its rule says, between a tensor at a time and all at once, and sends the model once") {
  // Eight layers of one tensor; a ring of four at 1 GB/s with 50 us for each of its six steps: t = 0.3 ms
  // + 1.5 ns a byte.
  const std::vector<double> numbers = {1e4, 2e4, 1e6, 5e3, 4e5, 1e4, 1e4, 3.1e5};
  const auto run = [&](const std::string& method, const Json& parameters) {
    Job job = scripted_job(star(4, 50e-6, 1e9), nullptr);
    job.workload.layers.clear();
    for (const double each : numbers) {
      Layer& layer = job.workload.layers.emplace_back();
      layer.tensors = {each};
      layer.forward_s = 0.2e-3;
      layer.backward_s = 0.4e-3;
    }
    use_rings(job);
    use_algorithm(job, method, parameters);
    job.stop.steps = 3;
    const RunRecord record = simulate_job(job);
    return std::vector<double>{record.end_s, sent_bytes(record.workers[0], Traffic::gradient)};
  };
  const FusionCost cost{.latency_s = 6 * 50e-6, .per_element_s = 6.0 / 4 * 4 / 1e9};
  std::vector<ReadyPart> parts;
  for (std::size_t i = 0; i < 8; ++i) parts.push_back({0.4e-3 * static_cast<double>(i + 1), numbers[7 - i]});
  double sum = 0;
  for (const double each : numbers) sum += each;
  for (const char* merging : {"published", "best"}) {
    CAPTURE(merging);
    const GroupSizes groups =
        std::string(merging) == "best" ? best_groups(parts, cost) : merged_groups(parts, cost);
    CHECK(groups.size() > 1);
    CHECK(groups.size() < 8);
    const std::vector<double> seen = run("mg_wfbp", {{"merging", merging}});
    CHECK(seen[0] == Approx(3 * (8 * 0.2e-3 + end_of(parts, groups, cost))).epsilon(1e-9));
    CHECK(seen[1] == Approx(3 * 1.5 * 4 * sum).epsilon(1e-12));
    CHECK(seen[0] < run("allreduce_sgd", {{"fusion", "none"}})[0]);
    CHECK(seen[0] < run("allreduce_sgd", {{"fusion", "all"}})[0]);
    // With its own numbers the rule is free to merge otherwise.
    CHECK(run("mg_wfbp", {{"merging", merging}, {"latency", 1}})[0] ==
          Approx(run("allreduce_sgd", {{"fusion", "all"}})[0]).epsilon(1e-12));
  }
}

}  // namespace simsgd::test::algorithms_mg_wfbp
