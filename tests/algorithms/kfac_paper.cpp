// The published bars of SPD-KFAC (Shi, Zhang, Li, ICDCS 2021, arXiv:2107.06533) on 64 GPUs, from the shipped
// scenario files: stages are differences of iterations. docs/papers/spd_kfac.md says what each means and
// where it came from.
#include <doctest/doctest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "scenarios/language/scenario.hpp"
#include "sim/recording/metrics.hpp"
#include "tests/support/jobs.hpp"

namespace simsgd::test::algorithms_kfac_paper {

namespace {

const std::string kPapers = std::string(SIMSGD_SOURCE_DIR) + "/scenarios/papers/spd_kfac_";

struct Net {
  std::string name;
  int batch = 0;
};

struct Step {
  double step_s = 0, factor_s = 0, inverse_s = 0, wait_s = 0;
  double sent = 0;  // inverses that have an owner, as the table of the run says
};

Step step_of(const Net& network, const std::string& system, const Json& parameters = Json::object(),
             int steps = 20) {
  Overrides overrides;
  const auto set = [&overrides](const std::string& pointer, const std::string& value) {
    overrides.set.push_back({pointer, value});
  };
  set("/workload/use", "workloads/" + network.name + ".json");
  set("/workload/batch", std::to_string(network.batch));
  set("/stop/steps", std::to_string(steps));
  for (const auto& [key, value] : parameters.items()) set("/algorithm/" + key, value.dump());
  const Job job = make_job(load_scenario(kPapers + system + ".json", overrides));
  Step step;
  const RunRecord record = simulate_job(job);
  for (const MetricValue& metric : metric_values(record, job)) {
    if (metric.name == "iteration_time_mean_s") step.step_s = metric.value;
    if (metric.name == "factor_s") step.factor_s = metric.value;
    if (metric.name == "inverse_s") step.inverse_s = metric.value;
    if (metric.name == "wait_s") step.wait_s = metric.value;
  }
  for (const RecordTable& table : record.tables)
    for (const std::vector<RecordTable::Cell>& row : table.rows)
      if (table.name == "inverse_placement" && row[3] != RecordTable::Cell("everybody")) ++step.sent;
  return {step.step_s, step.factor_s, step.inverse_s, step.wait_s, step.sent};
}

double iteration_s(const Net& network, const std::string& system, const Json& parameters = Json::object()) {
  return step_of(network, system, parameters).step_s;
}

// Enough to compare.
double few_steps_s(const Net& network, const std::string& system, const Json& parameters = Json::object()) {
  return step_of(network, system, parameters, 4).step_s;
}

struct Published {
  Net network;
  double s_sgd, d, mpd, spd;
  double factor_comp, factor_comm_naive, factor_comm_spd;
  double inverse_comp_d, inverse_comp_spd, inverse_comm_mpd, inverse_comm_spd;
  double naive, layer_wise, threshold, dynamic;  // factor stage
  double round_robin, placed;                    // inverse stage
};
const Published kPublished[] = {{{"resnet50", 32},
                                 .1968,
                                 .8525,
                                 .7635,
                                 .6755,
                                 .2115,
                                 .1700,
                                 .0981,
                                 .2742,
                                 .1050,
                                 .1340,
                                 .0641,
                                 .3814,
                                 .4174,
                                 .3401,
                                 .3096,
                                 .1852,
                                 .1691},
                                {{"inceptionv4", 16},
                                 .2669,
                                 1.1857,
                                 1.1473,
                                 .9907,
                                 .1928,
                                 .2950,
                                 .2038,
                                 .4306,
                                 .2539,
                                 .3439,
                                 .0733,
                                 .4882,
                                 .6683,
                                 .4115,
                                 .3967,
                                 .3926,
                                 .3272}};

void check_relative(const char* what, double simulated, double published, double tolerance) {
  INFO(what << ": " << simulated << ", published " << published);
  CHECK(std::abs(simulated / published - 1) < tolerance);
}

void check_remainder(const char* what, double simulated, double published, double iteration,
                     double share = 0.03) {
  INFO(what << ": " << simulated << ", published " << published);
  CHECK(std::abs(simulated - published) < share * iteration);
}

double factor_stage(const Net& network, const char* pipelining, double rest_s) {
  return iteration_s(network, "spd_kfac", {{"placement", "everywhere"}, {"pipelining", pipelining}}) - rest_s;
}

}  // namespace

TEST_CASE(
    "iteration times are within 5 %, bars within 15 %, remainders within 3 % of the iteration, one 3.5 %") {
  for (const Published& paper : kPublished) {
    CAPTURE(paper.network.name);
    const double s_sgd = iteration_s(paper.network, "allreduce_sgd");
    const Step d = step_of(paper.network, "d_kfac"), mpd = step_of(paper.network, "mpd_kfac");
    const Step spd = step_of(paper.network, "spd_kfac");
    check_relative("S-SGD", s_sgd, paper.s_sgd, 0.05);
    check_relative("D-KFAC", d.step_s, paper.d, 0.05);
    check_relative("MPD-KFAC", mpd.step_s, paper.mpd, 0.05);
    check_relative("SPD-KFAC", spd.step_s, paper.spd, 0.05);
    check_relative("FactorComp", d.factor_s, paper.factor_comp, 0.15);
    check_relative("InverseComp D", d.inverse_s, paper.inverse_comp_d, 0.15);
    const double naive = d.step_s - s_sgd - d.inverse_s;
    check_relative("factor stage, naive", naive, paper.naive, 0.15);
    check_remainder("FactorComm naive", naive - d.factor_s, paper.factor_comm_naive, paper.d);
    const double rest = s_sgd + d.inverse_s;
    check_relative("layer-wise", factor_stage(paper.network, "layer_wise", rest), paper.layer_wise, 0.15);
    check_relative("threshold", factor_stage(paper.network, "threshold", rest), paper.threshold, 0.15);
    const double dynamic = factor_stage(paper.network, "dynamic", rest);
    check_relative("dynamic", dynamic, paper.dynamic, 0.15);
    // 3.2 % on ResNet-50: its two groups slow the computing that hides them (docs/papers/spd_kfac.md).
    check_remainder("FactorComm SPD", dynamic - d.factor_s, paper.factor_comm_spd, paper.spd, 0.035);
    const double round_robin = mpd.step_s - s_sgd - naive;
    check_relative("inverse stage, round-robin", round_robin, paper.round_robin, 0.15);
    // What is not computing, nor waiting for the worker that computes longest.
    check_remainder("InverseComm MPD", round_robin - mpd.inverse_s - mpd.wait_s, paper.inverse_comm_mpd,
                    paper.mpd);
    const Step placed = step_of(paper.network, "spd_kfac", {{"pipelining", "none"}});
    const double stage = placed.step_s - s_sgd - naive;
    check_relative("inverse stage, placement", stage, paper.placed, 0.15);
    check_relative("InverseComp SPD", placed.inverse_s + placed.wait_s, paper.inverse_comp_spd, 0.15);
    check_remainder("InverseComm SPD", stage - placed.inverse_s - placed.wait_s, paper.inverse_comm_spd,
                    paper.spd);
  }
}

TEST_CASE("from a dimension of 1,400 on, 16 inverses of ResNet-50 and 48 of Inception-v4 are sent") {
  CHECK(step_of({"resnet50", 32}, "spd_kfac", Json::object(), 1).sent == 16);
  CHECK(step_of({"inceptionv4", 16}, "spd_kfac", Json::object(), 1).sent == 48);
  CHECK(step_of({"resnet50", 32}, "mpd_kfac", Json::object(), 1).sent == 108);
  CHECK(step_of({"resnet50", 32}, "spd_kfac", {{"placement", "everywhere"}}, 1).sent == 0);
}

TEST_CASE(
    "on all four networks SPD-KFAC is faster than both others, and fusion never slower than no fusion") {
  for (const Net& network :
       {Net{"resnet50", 32}, Net{"resnet152", 8}, Net{"densenet201", 16}, Net{"inceptionv4", 16}}) {
    CAPTURE(network.name);
    const double spd = few_steps_s(network, "spd_kfac");
    const double over_d = few_steps_s(network, "d_kfac") / spd;
    const double over_mpd = few_steps_s(network, "mpd_kfac") / spd;
    CHECK(over_d > 1.10);
    CHECK(over_mpd > 1.05);
    // Measured 1.262 and 1.130 on ResNet-50, 1.197 and 1.158 on Inception-v4; docs/papers/spd_kfac.md tells
    // what the simulation lacks.
    if (network.name == "resnet50") {
      CHECK(over_d == doctest::Approx(1.262).epsilon(0.03));
      CHECK(over_mpd == doctest::Approx(1.130).epsilon(0.03));
    } else if (network.name == "inceptionv4") {
      CHECK(over_d == doctest::Approx(1.197).epsilon(0.04));
      CHECK(over_mpd == doctest::Approx(1.158).epsilon(0.06));
    }
    const double separate = few_steps_s(network, "spd_kfac", {{"pipelining", "layer_wise"}});
    CHECK(few_steps_s(network, "spd_kfac", {{"pipelining", "threshold"}}) <= separate);
    CHECK(spd <= separate);
    // As this cluster predicts an all-reduce, instead of the published model of it.
    CHECK(few_steps_s(network, "spd_kfac",
                      {{"fusion_latency", "1.55 ms"}, {"fusion_per_element", "1.8 ns"}}) <= separate);
  }
}

}  // namespace simsgd::test::algorithms_kfac_paper
