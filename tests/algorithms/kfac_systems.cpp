// The K-FAC systems as whole algorithms: what they learn, send, and take.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>

#include "algorithms/kfac/inverse_round.hpp"
#include "algorithms/kfac/kfac_setup.hpp"
#include "algorithms/merged_messages.hpp"
#include "results/run_files.hpp"
#include "sim/engine/simulate.hpp"
#include "tests/algorithms/kfac_support.hpp"
#include "tests/support/contents.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/temporary_folder.hpp"

namespace simsgd::test::algorithms_kfac_systems {

namespace {

struct System {
  std::string name;
  Json parameters;
};

// The three systems, and SPD-KFAC with its parts switched one by one.
std::vector<System> systems() {
  std::vector<System> all = {
      {"d_kfac", Json::object()}, {"mpd_kfac", Json::object()}, {"spd_kfac", Json::object()}};
  for (const char* pipelining : {"none", "layer_wise", "threshold"})
    all.push_back({"spd_kfac", {{"pipelining", pipelining}, {"factor_threshold", "10 kB"}}});
  for (const char* placement : {"everywhere", "round_robin"})
    all.push_back({"spd_kfac", {{"placement", placement}}});
  all.push_back({"spd_kfac", {{"placement_rule", "threshold"}, {"placement_threshold", 90}}});
  all.push_back({"spd_kfac", {{"placement", "round_robin"}, {"overlap", false}}});
  all.push_back({"spd_kfac", {{"fusion", "none"}, {"placement", "round_robin"}}});
  return all;
}

// The largest difference of two models, relative to the second's largest entry.
double difference(const std::vector<float>& a, const std::vector<float>& b) {
  REQUIRE(a.size() == b.size());
  double worst = 0, size = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    worst = std::max(worst, std::fabs(static_cast<double>(a[i]) - static_cast<double>(b[i])));
    size = std::max(size, std::fabs(static_cast<double>(b[i])));
  }
  return worst / size;
}

void check_equal_models(const Json& more, std::uint64_t steps) {
  const auto with = [&more](Json parameters) {
    parameters.update(more);
    return parameters;
  };
  const FakeResult one = run_fake(kfac_job(1, "kfac", more, steps));
  const std::vector<double>& losses = one.losses[0];
  CHECK(losses.back() < 0.6 * losses.front());  // it learns
  for (const System& system : systems()) {
    CAPTURE(system.name);
    CAPTURE(system.parameters);
    const FakeResult many = run_fake(kfac_job(4, system.name, with(system.parameters), steps));
    CHECK(difference(many.models[0], one.models[0]) < 1e-4);
    for (const std::vector<float>& model : many.models) CHECK(model == many.models[0]);
  }
}

// One worker's totals of a simulated run, per step: the parts of the breakdown, then other numbers.
struct Totals {
  std::vector<double> activity_s;
  double step_s = 0, factor_bytes = 0, inverse_bytes = 0, gradient_bytes = 0, factor_hidden_s = 0;
};
Totals simulated(const std::function<Job()>& make) {
  const Job job = make();
  const RunRecord record = simulate_job(job);
  Totals totals;
  totals.activity_s.assign(kActivities, 0.0);
  const auto share = 1.0 / static_cast<double>(record.workers.size() * job.stop.steps);
  constexpr auto kFactor = static_cast<std::size_t>(Traffic::factor);
  for (const WorkerRecord& worker : record.workers) {
    for (std::size_t a = 0; a < kActivities; ++a) totals.activity_s[a] += worker.activity_s[a] * share;
    totals.step_s += worker.end_s * share;
    totals.factor_bytes += sent_bytes(worker, Traffic::factor) * share;
    totals.inverse_bytes += sent_bytes(worker, Traffic::inverse) * share;
    totals.gradient_bytes += sent_bytes(worker, Traffic::gradient) * share;
    totals.factor_hidden_s += (worker.communication_s[kFactor] - worker.exposed_s[kFactor]) * share;
  }
  return totals;
}

// Time only.
Job timed_job(int workers, const std::string& algorithm, const Json& parameters, double slowdown = 0) {
  Job job = kfac_workload(workers);
  job.cluster.device.communication_slowdown = slowdown;
  use_algorithm(job, algorithm, parameters);
  job.stop.steps = 3;
  return job;
}

double of(const Totals& totals, Activity activity) {
  return totals.activity_s[static_cast<std::size_t>(activity)];
}

// Of the small job's factors: n (n + 1) / 2 for each dimension.
constexpr double kElements = 378 + 2080 + 166176 + 4656 + 4753 + 55;

}  // namespace

TEST_CASE(
    "d_kfac, mpd_kfac and spd_kfac, however it is switched, give the parameters of one worker's K-FAC after 20 steps") {
  check_equal_models(Json::object(), 20);
}

TEST_CASE(
    "so they do with factors and inverses that are not updated in every step, and damping split by pi") {
  check_equal_models({{"factor_interval", 2}, {"inverse_interval", 4}, {"damping_rule", "pi"}, {"ema", 0.5}},
                     20);
}

TEST_CASE(
    "one worker's step is forward and backward passes, factors, inverses and preconditioning, by hand") {
  const Totals totals = simulated([] { return timed_job(1, "kfac", Json::object()); });
  const double rate = 0.5e12;  // 1 Tflop/s at the default efficiency
  double factors = 0, inverses = 0, products = 0;
  for (const auto& [a, g] : {std::pair{27.0, 64.0}, {576.0, 96.0}, {97.0, 10.0}}) {
    factors += 2 * 16 * 4 * (a * a + g * g);  // 16 samples, 4 positions
    inverses += a * a * a + g * g * g;
    products += 2 * a * g * (a + g);
  }
  CHECK(of(totals, Activity::compute) == doctest::Approx(4 * 3e-3).epsilon(1e-12));
  CHECK(of(totals, Activity::factor) == doctest::Approx((factors + products) / rate).epsilon(1e-12));
  CHECK(of(totals, Activity::inverse) == doctest::Approx(inverses / rate).epsilon(1e-12));
  CHECK(totals.step_s == doctest::Approx(4 * 3e-3 + (factors + products + inverses) / rate).epsilon(1e-12));
}

TEST_CASE("factors cost nothing in the steps between their updates, inverses neither") {
  const auto run = [](const Json& parameters) {
    return simulated([&] {
      Job job = timed_job(4, "spd_kfac", parameters);
      job.stop.steps = 4;
      return job;
    });
  };
  const Totals always = run(Json::object());
  const Totals rarely = run({{"factor_interval", 2}, {"inverse_interval", 4}});
  CHECK(rarely.factor_bytes == doctest::Approx(always.factor_bytes / 2));
  CHECK(rarely.inverse_bytes == doctest::Approx(always.inverse_bytes / 4));
  CHECK(of(rarely, Activity::inverse) == doctest::Approx(of(always, Activity::inverse) / 4));
  CHECK(rarely.gradient_bytes == doctest::Approx(always.gradient_bytes));
}

TEST_CASE("factors travel as upper triangles: by a ring 2 (P-1)/P times 4 bytes for each number") {
  for (const System& system : systems()) {
    CAPTURE(system.name);
    CAPTURE(system.parameters);
    const Totals totals = simulated([&] { return timed_job(4, system.name, system.parameters); });
    CHECK(totals.factor_bytes == doctest::Approx(1.5 * 4 * kElements).epsilon(1e-12));
  }
}

TEST_CASE("every inverse that has an owner is broadcast as its triangle: 3 of 4 workers receive it") {
  const auto bytes = [](const std::string& name, const Json& parameters) {
    return simulated([&] { return timed_job(4, name, parameters); }).inverse_bytes;
  };
  CHECK(bytes("d_kfac", Json::object()) == 0);
  CHECK(bytes("spd_kfac", {{"placement", "everywhere"}}) == 0);
  CHECK(bytes("mpd_kfac", Json::object()) == doctest::Approx(3.0 / 4 * 4 * kElements).epsilon(1e-12));
  const Json from_97 = {{"placement_rule", "threshold"}, {"placement_threshold", 97}};  // 576 and 97
  CHECK(bytes("spd_kfac", from_97) == doctest::Approx(3.0 / 4 * 4 * (166176 + 4753)).epsilon(1e-12));
}

TEST_CASE(
    "with pipelining, factors travel while the network is computed; without it, none of that is hidden") {
  const auto hidden = [](const char* pipelining) {
    return simulated([&] { return timed_job(4, "spd_kfac", {{"pipelining", pipelining}}); }).factor_hidden_s;
  };
  CHECK(hidden("none") == doctest::Approx(0));
  for (const char* pipelining : {"layer_wise", "threshold", "dynamic"}) CHECK(hidden(pipelining) > 1e-4);
}

TEST_CASE("a factor that stays singular ends the run with a sentence") {
  Job job = kfac_workload(2);
  DataSet data = testing::random_classes(256, 5, 3, 6);
  for (std::size_t n = 0; n < 256; ++n) data.floats[5 * n + 2] = 0;  // an input that is always 0
  LearnerSpec spec;
  spec.train = std::make_shared<const DataSet>(data);
  spec.model = testing::model_plugin("mlp").make(Json{{"hidden", {4}}}, data);
  spec.workers = 2;
  job.learner = std::make_unique<Learner>(std::move(spec));
  use_algorithm(job, "spd_kfac", {{"ema", 0}, {"damping", 1e-40}});  // 1e40 is not a float
  job.stop.steps = 5;
  const std::string error = refusal_of<std::exception>([&] { simulate_job(job); });
  CHECK(
      error ==
      "K-FAC cannot invert the factor A of the layer \"linear1\" (6 x 6) in step 1: with a damping of 1e-40 on its diagonal it is not positive definite. Use a larger damping.");
}

TEST_CASE("a training that diverges ends with a sentence") {
  Job job = kfac_workload(2);
  add_perceptron(job, 32, 1e38);
  use_algorithm(job, "d_kfac", {{"kl_clip", 0}});
  job.stop.steps = 5;
  const std::string error = refusal_of<std::exception>([&] { simulate_job(job); });
  CAPTURE(error);
  CHECK(error.find(" at step 2: training diverged. Lower the learning rate, or check the data.") !=
        std::string::npos);
}

TEST_CASE("the timeline shows each factor inside the passes, each inverse, and the messages beside them") {
  Job job = timed_job(2, "spd_kfac", {{"placement", "round_robin"}});
  job.record.timeline_events = 100000;
  const TemporaryFolder folder;
  SimulationOptions options;
  options.timeline = true;
  write_timeline(simulate(job, options).timeline, folder.root());
  const std::string text = contents(folder.path("timeline.json"));
  std::vector<double> found;
  for (const char* name : {"\"factor A conv2\"", "\"factor G conv2\"", "\"inverse A fc\"",
                           "\"preconditioning\"", "\"traffic\":\"factor\"", "\"traffic\":\"inverse\""}) {
    int count = 0;
    for (std::size_t at = text.find(name); at != std::string::npos; at = text.find(name, at + 1)) ++count;
    found.push_back(count);
  }
  CHECK(found[0] == 2 * 3);  // two ranks, three steps
  CHECK(found[1] == 2 * 3);
  CHECK(found[2] == 1 * 3);  // by its owner
  CHECK(found[3] == 2 * 3);
  CHECK(found[4] > 0);
  CHECK(found[5] == 2 * 3 * 6);  // six inverses
}

// What K-FAC takes on a device, by hand.

namespace {

Device one_teraflops() {
  Device device;
  device.peak_flops = 1e12;
  device.efficiency = 0.5;
  return device;
}

}  // namespace

TEST_CASE("a factor takes 2 B HW n^2 flop at the efficiency of products, and its overhead") {
  Device device = one_teraflops();
  const WorkloadFactor factor{0, true, 100, 49};
  // 2 x 32 x 49 x 10^4 = 31.36 Mflop at 0.5 Tflop/s
  CHECK(factor_time_s(device, 32, factor) == doctest::Approx(62.72e-6).epsilon(1e-12));
  device.gemm.efficiency = 0.25;
  device.gemm.gather_s = 1e-3;
  CHECK(factor_time_s(device, 32, factor) == doctest::Approx(125.44e-6 + 1e-3).epsilon(1e-12));
  CHECK(factor.elements() == 5050);  // 100 x 101 / 2
}

TEST_CASE("preconditioning takes the flop of two products for each layer, and slow nodes take longer") {
  Job job = kfac_workload(2);
  job.cluster.device = one_teraflops();
  job.cluster.nodes = 2;
  job.cluster.node_speed = {1, 0.5};
  const KfacCosts costs = kfac_costs(&job.cluster, job.workload, kfac_layers(job.workload));
  // 2 a g (a + g): (27, 64), (576, 96), (97, 10)
  const double flop = 2.0 * 27 * 64 * 91 + 2.0 * 576 * 96 * 672 + 2.0 * 97 * 10 * 107;
  CHECK(costs.precondition_s == doctest::Approx(flop / 0.5e12).epsilon(1e-12));
  CHECK(costs.slower(0) == 1);
  CHECK(costs.slower(1) == 2);
}

TEST_CASE("the workload's factors are in forward order, and become ready with their layer's gradient") {
  const KfacLayers layers = kfac_layers(kfac_workload(1).workload);
  REQUIRE(layers.count() == 3);
  CHECK(layers.a(0).dim == 27);
  CHECK(layers.g(1).dim == 96);
  CHECK(layers.a(2).layer == 3);  // the norm has none
  // Tensors become ready last layer first: fc, conv2, norm, conv1.
  CHECK(layers.ready_at == std::vector<std::size_t>{3, 1, 0});
}

TEST_CASE("dimensions of factors are those of the matrix, and one more of A beside a bias") {
  Workload workload;
  const auto add = [&workload](Layer::Kind kind, std::vector<TensorShape> tensors) {
    Layer layer;
    layer.kind = kind;
    layer.tensors = std::move(tensors);
    workload.layers.push_back(std::move(layer));
  };
  add(Layer::Kind::conv, {{64, 147}});
  add(Layer::Kind::fc, {{1000, 2048}, 1000});
  add(Layer::Kind::fc, {2048000, 1000});                // sizes without shape
  add(Layer::Kind::embedding, {{33708, 512}});          // no product
  add(Layer::Kind::other, {{2048, 576}, {2048, 512}});  // not one product
  add(Layer::Kind::bn, {64, 64});
  add(Layer::Kind::fc, {});
  const KfacLayers layers = kfac_layers(workload);
  REQUIRE(layers.count() == 2);
  CHECK(layers.a(0).dim == 147);
  CHECK(layers.g(0).dim == 64);
  CHECK(layers.a(1).dim == 2049);
  CHECK(layers.g(1).dim == 1000);
}

TEST_CASE("a learner's layers travel with the workload's of the same place, as shares of all") {
  Job job = kfac_workload(1);
  add_perceptron(job, 16);
  using Which = std::vector<std::vector<std::size_t>>;
  CHECK(learned_layers(job.learner.get(), 3).of == Which{{0}, {1}, {2}});
  CHECK(learned_layers(job.learner.get(), 1).of == Which{{0, 1, 2}});
  CHECK(learned_layers(job.learner.get(), 6).of == Which{{}, {0}, {}, {1}, {}, {2}});
  CHECK(learned_layers(nullptr, 2).of == Which{{}, {}});
}

// Which factors travel together, by hand; tests/algorithms/synchronous.cpp compares what that takes.

TEST_CASE("without fusion every factor is a group") { CHECK(separate_groups(3) == GroupSizes{1, 1, 1}); }

TEST_CASE("by threshold, a group is complete as soon as it holds so many numbers") {
  const std::vector<ReadyPart> factors = {{0, 4}, {1, 5}, {2, 1}, {3, 12}, {4, 3}};
  CHECK(groups_by_threshold(factors, 10) == GroupSizes{3, 1, 1});  // 4 + 5 + 1, 12, 3
  CHECK(groups_by_threshold(factors, 1) == GroupSizes{1, 1, 1, 1, 1});
  CHECK(groups_by_threshold(factors, 1000) == GroupSizes{5});
  CHECK(groups_by_threshold({}, 10).empty());
}

TEST_CASE(
    "dynamic: a factor joins if it is ready before the group could start, or within a latency of its start") {
  const FusionCost cost{.latency_s = 2, .per_element_s = 1};
  // The first could start at 0 and would end at 2 + 4 = 6: one that is ready at 1 joins (within 2 s), at 3
  // not.
  CHECK(merged_groups({{0, 4}, {1, 4}}, cost) == GroupSizes{2});
  CHECK(merged_groups({{0, 4}, {3, 4}}, cost) == GroupSizes{1, 1});
  // The second starts when the first is through, at 6: the third is ready before that and joins it.
  CHECK(merged_groups({{0, 4}, {3, 4}, {5, 4}}, cost) == GroupSizes{1, 2});
  // One that joins moves the start to its own ready time, 1.5: another at 3.4 is within 2 s of that.
  CHECK(merged_groups({{0, 4}, {1.5, 4}, {3.4, 4}}, cost) == GroupSizes{3});
  // Ready only after the message would have ended: never, even if that is within the latency.
  CHECK(merged_groups({{0, 0}, {2, 4}}, cost) == GroupSizes{1, 1});
}

// Who inverts what, by hand.

namespace {

using Owners = std::vector<int>;
using Order = std::vector<std::size_t>;

// Dimensions, and inversions that take 1 s for each row.
std::vector<InverseTask> tasks(const std::vector<int>& dims, double broadcast_s) {
  std::vector<InverseTask> all;
  for (const int dim : dims) all.push_back({dim, static_cast<double>(dim), broadcast_s});
  return all;
}

}  // namespace

TEST_CASE("everywhere: nobody owns a factor, and nothing is sent") {
  const InversePlacement placement = place_everywhere(3);
  CHECK(placement.owner == Owners{kEverybody, kEverybody, kEverybody});
  CHECK(placement.order.empty());
}

TEST_CASE(
    "round-robin with more workers than layers: layer i's A to rank 2i, its G to rank 2i + 1, modulo P") {
  const InversePlacement placement = place_round_robin(6, 4);  // 3 layers
  CHECK(placement.owner == Owners{0, 1, 2, 3, 0, 1});
  CHECK(placement.order == Order{0, 1, 2, 3, 4, 5});
}

TEST_CASE("round-robin with no more workers than layers: both of layer i to rank i, modulo P") {
  CHECK(place_round_robin(6, 3).owner == Owners{0, 0, 1, 1, 2, 2});
  CHECK(place_round_robin(6, 2).owner == Owners{0, 0, 1, 1, 0, 0});
  CHECK(place_round_robin(6, 1).owner == Owners{0, 0, 0, 0, 0, 0});
}

TEST_CASE(
    "balanced: what is cheaper to broadcast than to invert goes, largest first, to whoever has least to do") {
  // A broadcast takes 3 s: 2 is inverted by everybody. 9 -> rank 0, 8 -> rank 1, 5 -> rank 1 (8 < 9),
  // 4 -> rank 0 (9 < 13), 3 -> rank 0 and 1 have 13 each: the first.
  const InversePlacement placement = place_balanced(tasks({4, 9, 2, 8, 3, 5}, 3), 2);
  CHECK(placement.order == Order{1, 3, 5, 0, 4});
  CHECK(placement.owner == Owners{0, 0, kEverybody, 1, 0, 1});
}

TEST_CASE("balanced by a threshold: sent from that dimension on, whatever the broadcast costs") {
  const InversePlacement placement = place_balanced_from(tasks({4, 9, 2, 8}, 1e9), 8, 4);
  CHECK(placement.order == Order{1, 3, 0});
  CHECK(placement.owner == Owners{2, 0, kEverybody, 1});
}

TEST_CASE("equal factors are placed in the order of the layers") {
  CHECK(place_balanced(tasks({5, 5, 5}, 1), 2).owner == Owners{0, 1, 0});
}

TEST_CASE("no worker has more than the least loaded one and its own last factor") {
  std::vector<int> dims;
  for (int i = 0; i < 100; ++i) dims.push_back(1 + (i * 37) % 64);
  const std::vector<InverseTask> all = tasks(dims, 0);
  const InversePlacement placement = place_balanced(all, 7);
  std::vector<double> load(7, 0.0), last(7, 0.0);
  for (const std::size_t f : placement.order) {
    const auto owner = static_cast<std::size_t>(placement.owner[f]);
    load[owner] += last[owner] = all[f].invert_s;
  }
  for (std::size_t a = 0; a < 7; ++a)
    for (std::size_t b = 0; b < 7; ++b) CHECK(load[a] - last[a] <= load[b]);
}

}  // namespace simsgd::test::algorithms_kfac_systems
