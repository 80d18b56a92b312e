// The K-FAC systems as whole algorithms: what they learn, send, and take.
#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <numeric>

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

TEST_CASE("the simulation computes the same losses as a cluster without time, with any number of threads") {
  const auto losses = [](int threads) {
    return losses_of(simulate_job(kfac_job(4, "spd_kfac", Json::object(), 20), threads));
  };
  const std::vector<double> simulated = losses(1);
  CHECK(losses(3) == simulated);
  const FakeResult fake = run_fake(kfac_job(4, "spd_kfac", Json::object(), 20));
  for (std::size_t step = 0; step < 20; ++step) {
    double mean = 0;
    for (const std::vector<double>& each : fake.losses) mean += each[step] / 4;
    CHECK(simulated[step] == doctest::Approx(mean).epsilon(1e-6));
  }
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

TEST_CASE("the parts of the breakdown sum to the step, whatever is switched on") {
  for (const System& system : systems()) {
    CAPTURE(system.name);
    CAPTURE(system.parameters);
    const Totals totals = simulated([&] { return timed_job(4, system.name, system.parameters, 0.8); });
    const double sum = std::accumulate(totals.activity_s.begin(), totals.activity_s.end(), 0.0);
    CHECK(sum == doctest::Approx(totals.step_s).epsilon(1e-12));
  }
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

}  // namespace simsgd::test::algorithms_kfac_systems
