// Statistics against published examples, against how often they hold, and against models of their own.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "analysis/frame/cell.hpp"
#include "analysis/statistics/contest.hpp"
#include "analysis/statistics/intervals.hpp"
#include "sim/base/random.hpp"
#include "tests/scenarios/support.hpp"

namespace simsgd::test::analysis_statistics {

using namespace simsgd::statistics;
using doctest::Approx;
using Draw = std::function<double(Stream&)>;

namespace {

// The trials whose interval holds `truth`, of 2,000.
template <class Interval_of>
double coverage(double truth, std::size_t n, const Draw& draw, Interval_of interval_of) {
  constexpr int kTrials = 2000;
  int held = 0;
  for (int trial = 0; trial < kTrials; ++trial) {
    Stream stream({.seed = 20261122,
                   .purpose = Purpose::resampling,
                   .entity = static_cast<std::uint32_t>(n),
                   .step = static_cast<std::uint64_t>(trial)});
    std::vector<double> values(n);
    for (double& value : values) value = draw(stream);
    const std::optional<statistics::Interval> interval = interval_of(values);
    REQUIRE(interval);
    held += interval->holds(truth) ? 1 : 0;
  }
  return static_cast<double>(held) / kTrials;
}

double normal_10(Stream& stream) { return 10 + 3 * stream.normal(); }
double exponential_1(Stream& stream) { return -std::log(stream.uniform()); }

// Hours of sleep gained with two drugs, ten patients: Student, Biometrika 6 (1908) 1, as R's `sleep`.
const std::vector<double> kSleep1 = {0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0};
const std::vector<double> kSleep2 = {1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4};

std::vector<Pair> pairs_of(const std::vector<double>& baseline, const std::vector<double>& values) {
  std::vector<Pair> pairs;
  for (std::size_t i = 0; i < values.size(); ++i)
    pairs.push_back({.baseline = baseline[i], .value = values[i]});
  return pairs;
}

// Weeks in remission with 6-mercaptopurine and with a placebo, 21 patients each: Freireich et al., Blood 21
// (1963) 699, as in Kleinbaum and Klein, Survival Analysis, 3rd ed. (2012), chapter 2.
std::vector<Observation> treated() {
  std::vector<Observation> all;
  for (const double week : {6, 6, 6, 7, 10, 13, 16, 22, 23}) all.push_back({week, true});
  for (const double week : {6, 9, 10, 11, 17, 19, 20, 25, 32, 32, 34, 35}) all.push_back({week, false});
  return all;
}
std::vector<Observation> placebo() {
  std::vector<Observation> all;
  for (const double week : {1, 1, 2, 2, 3, 4, 4, 5, 5, 8, 8, 8, 8, 11, 11, 12, 12, 15, 17, 22, 23})
    all.push_back({week, true});
  return all;
}

}  // namespace

TEST_CASE("Student's sleep data: paired t = 4.0621, p = 0.002833, interval [0.7001142, 2.4598858]") {
  const Difference paired = paired_difference(pairs_of(kSleep1, kSleep2));
  CHECK(paired.value == Approx(1.58).epsilon(1e-12));
  CHECK(paired.p == Approx(0.002833).epsilon(1e-3));
  CHECK(paired.interval->low == Approx(0.7001142).epsilon(1e-6));
  CHECK(paired.interval->high == Approx(2.4598858).epsilon(1e-6));
}

TEST_CASE("a mean of two: 1 and 3 give 2 -+ 12.706; of one no interval, of equal ones a width of 0") {
  // s / sqrt(n) = sqrt(2) / sqrt(2) = 1, and t(0.975, 1) = tan(0.475 pi).
  const Estimate two = student_mean({1, 3});
  CHECK(two.interval->high - 2 == Approx(std::tan(0.475 * std::acos(-1))).epsilon(1e-12));
  CHECK(!student_mean({5}).interval);
  const Estimate equal = student_mean({0.1, 0.1, 0.1});
  CHECK(equal.value == 0.1);
  CHECK(equal.interval->low == 0.1);
  CHECK(equal.interval->high == 0.1);
}

TEST_CASE("Student's intervals hold in 93 to 97 % of 2,000 trials, from five normal draws on") {
  for (const std::size_t n : {std::size_t{5}, std::size_t{10}, std::size_t{30}}) {
    const double held = coverage(
        10, n, normal_10, [](const std::vector<double>& values) { return student_mean(values).interval; });
    MESSAGE("Student, ", n, " normal draws: ", held);
    CHECK(held > 0.93);
    CHECK(held < 0.97);
  }
}

TEST_CASE("bootstrap intervals hold in 93 to 97 % of 2,000 trials from 30 draws, normal and exponential") {
  const auto interval_of = [](const std::vector<double>& values) {
    return bootstrap_mean(values, kUsualLevel, {.seed = 7, .resamples = 1000}).interval;
  };
  const double normal = coverage(10, 30, normal_10, interval_of);
  const double exponential = coverage(1, 30, exponential_1, interval_of);
  MESSAGE("bootstrap, 30 draws: normal ", normal, ", exponential ", exponential);
  for (const double held : {normal, exponential}) {
    CHECK(held > 0.93);
    CHECK(held < 0.97);
  }
  CHECK(!bootstrap_mean(std::vector<double>(29, 1.0)).interval);
  CHECK(bootstrap_mean(std::vector<double>(30, 1.0)).interval->half_width() == 0);
}

TEST_CASE("a bootstrap is the same for the same seed, and another for another") {
  Stream stream({.seed = 3, .purpose = Purpose::resampling, .entity = 0, .step = 0});
  std::vector<double> values(40);
  for (double& value : values) value = exponential_1(stream);
  const statistics::Interval once = *bootstrap_mean(values).interval,
                             again = *bootstrap_mean(values).interval;
  CHECK(once.low == again.low);
  CHECK(once.high == again.high);
  CHECK(bootstrap_mean(values, kUsualLevel, {.seed = 2, .resamples = 2000}).interval->low != once.low);
  // Skewed to the right, the upper arm is the longer one, as Student's never is.
  CHECK(once.high - mean(values) > mean(values) - once.low);
}

TEST_CASE("order statistics hold the median of any distribution: exactly as often as a coin says") {
  // n = 10: [x(2), x(9)] misses if at most one of ten coins shows a side, 2 (1 + 10) / 1024: 97.85 %.
  const Estimate ten = order_median({10, 1, 9, 2, 8, 3, 7, 4, 6, 5});
  CHECK(ten.value == 5.5);
  CHECK(ten.interval->low == 2);
  CHECK(ten.interval->high == 9);
  CHECK(!order_median({1, 2, 3, 4, 5}).interval);  // 1 - 2 / 32 = 93.75 % at most
  CHECK(order_median({1, 2, 3, 4, 5, 6}).interval->high == 6);
  const double held = coverage(std::log(2.0), 9, exponential_1, [](const std::vector<double>& values) {
    return order_median(values).interval;
  });
  CHECK(held == Approx(1 - 2 * (1 + 9) / 512.0).epsilon(0.01));
}

TEST_CASE("Holm: a worked example, and why the order counts") {
  // Abdi, "Holm's sequential Bonferroni procedure", Encyclopedia of Research Design (2010), table 1.
  const std::vector<double> abdi = holm({0.000040, 0.016100, 0.612300});
  CHECK(abdi[0] == Approx(0.000120));
  CHECK(abdi[1] == Approx(0.032200));
  CHECK(abdi[2] == Approx(0.612300));
  // 4 x 0.005, 3 x 0.01, 2 x 0.03; then 1 x 0.04, which may not be less than the one before.
  const std::vector<double> four = holm({0.01, 0.04, 0.03, 0.005});
  CHECK(four[3] == Approx(0.02));
  CHECK(four[0] == Approx(0.03));
  CHECK(four[2] == Approx(0.06));
  CHECK(four[1] == Approx(0.06));
  CHECK(holm({0.9, 0.8}) == std::vector<double>{1, 1});
  CHECK(holm({}).empty());
}

TEST_CASE(
    "twenty equal algorithms: without Holm's correction one is often found faster, with it in 5 % of studies") {
  int found = 0, corrected = 0;
  constexpr int kStudies = 400;
  for (int study = 0; study < kStudies; ++study) {
    std::vector<double> p;
    Stream stream(
        {.seed = 5, .purpose = Purpose::resampling, .entity = 1, .step = static_cast<std::uint64_t>(study)});
    for (int algorithm = 0; algorithm < 20; ++algorithm) {
      std::vector<Pair> pairs(5);
      for (Pair& pair : pairs) pair = {.baseline = normal_10(stream), .value = normal_10(stream)};
      p.push_back(paired_difference(pairs).p);
    }
    found += *std::min_element(p.begin(), p.end()) <= 0.05 ? 1 : 0;
    const std::vector<double> adjusted = holm(p);
    corrected += *std::min_element(adjusted.begin(), adjusted.end()) <= 0.05 ? 1 : 0;
  }
  CHECK(found > 0.55 * kStudies);  // 1 - 0.95^20 = 64 %
  CHECK(corrected < 0.09 * kStudies);
}

TEST_CASE(
    "ratios and speed-ups are geometric: what is twice as fast takes half as long, interval for interval") {
  const std::vector<Pair> pairs = pairs_of({2, 8, 4.5}, {1, 2, 1.5});  // ratios 1/2, 1/4, 1/3
  const Estimate ratio = *paired_ratio(pairs), speed_up = *paired_speed_up(pairs, Better::less);
  CHECK(ratio.value == Approx(std::cbrt(1.0 / 24)).epsilon(1e-12));
  CHECK(speed_up.value == Approx(1 / ratio.value).epsilon(1e-12));
  CHECK(speed_up.interval->low == Approx(1 / ratio.interval->high).epsilon(1e-12));
  CHECK(paired_speed_up(pairs, Better::more)->value == ratio.value);
  CHECK(!paired_speed_up(pairs, Better::neither));
  CHECK(!paired_ratio(pairs_of({1, 0}, {1, 1})));
  const Estimate share = efficiency(speed_up, 4);
  CHECK(share.value == Approx(speed_up.value / 4));
  CHECK(share.interval->high == Approx(speed_up.interval->high / 4));
}

TEST_CASE("verdicts: rounding is not a difference, a constant one is certain, one seed says nothing") {
  const auto compared = [](const std::vector<Pair>& pairs) {
    Comparison comparison;
    comparison.difference = paired_difference(pairs);
    return comparison;
  };
  const auto verdict_of = [&](const std::vector<Pair>& pairs) {
    const Comparison comparison = compared(pairs);
    return verdict(comparison, comparison.difference->p);
  };
  CHECK(verdict_of(pairs_of({0.3, 0.3}, {0.1 + 0.2, 0.1 + 0.2})) == Verdict::tie);
  CHECK(verdict_of(pairs_of({1, 1, 1}, {0.9, 0.9, 0.9})) == Verdict::less);
  CHECK(verdict_of(pairs_of({1}, {0.5})) == Verdict::unknown);
  CHECK(verdict_of(pairs_of({1, 2, 3}, {2, 1, 4})) == Verdict::tie);
  // An interval without 0, but too many comparisons to believe it.
  const Comparison comparison = compared(pairs_of(kSleep1, kSleep2));
  CHECK(verdict(comparison, comparison.difference->p) == Verdict::more);
  CHECK(verdict(comparison, 20 * comparison.difference->p) == Verdict::tie);
}

TEST_CASE("Kaplan and Meier: the leukaemia trial as published") {
  const std::vector<SurvivalStep> steps = kaplan_meier(treated());
  const std::vector<std::array<double, 5>> published = {
      // week, at risk, relapses, S, its standard error
      {6, 21, 3, 0.857, 0.0764},  {7, 17, 1, 0.807, 0.0869},  {10, 15, 1, 0.753, 0.0963},
      {13, 12, 1, 0.690, 0.1068}, {16, 11, 1, 0.627, 0.1141}, {22, 7, 1, 0.538, 0.1282},
      {23, 6, 1, 0.448, 0.1346}};
  REQUIRE(steps.size() == published.size());
  for (std::size_t i = 0; i < steps.size(); ++i) {
    CAPTURE(i);
    CHECK(steps[i].time == published[i][0]);
    CHECK(static_cast<double>(steps[i].at_risk) == published[i][1]);
    CHECK(static_cast<double>(steps[i].arrived) == published[i][2]);
    CHECK(std::fabs(steps[i].share - published[i][3]) < 0.0006);
    CHECK(std::fabs(steps[i].standard_error - published[i][4]) < 0.00006);
  }
  const SurvivalMedian median = survival_median(treated());
  CHECK(median.value == 23);
  CHECK(median.interval->low == 13);  // as SAS's LIFETEST, whose usual transform this is
  CHECK(median.interval->high == std::numeric_limits<double>::infinity());
  CHECK(median.arrived == 9);
  CHECK(survival_median(placebo()).value == 8);
  const RestrictedMean restricted = restricted_mean(treated());
  CHECK(restricted.until == 35);
  CHECK(restricted.value == Approx(23.287).epsilon(1e-4));  // R's survfit: rmean 23.29, se(rmean) 2.83
  CHECK(std::fabs(restricted.standard_error - 2.83) < 0.005);
}

TEST_CASE("where everybody arrives, survival's mean and median are the usual ones, with Student's interval") {
  const std::vector<double> values = {5, 1, 4, 2, 7, 11};
  std::vector<Observation> all;
  for (const double value : values) all.push_back({value, true});
  CHECK(*survival_median(all).value == Approx(median(values)));
  const RestrictedMean restricted = restricted_mean(all);
  const Estimate student = student_mean(values);
  CHECK(restricted.value == Approx(student.value).epsilon(1e-12));
  CHECK(restricted.interval->low == Approx(student.interval->low).epsilon(1e-12));
  CHECK(restricted.interval->high == Approx(student.interval->high).epsilon(1e-12));
  // Never beyond tau, where Student's of 1 and 11 ends at 6 + 12.7 * 5.
  CHECK(restricted_mean({{1, true}, {11, true}}).interval->high == 11);
  CHECK(restricted_mean(all, 4.5).value == Approx((4.5 + 1 + 4 + 2 + 4.5 + 4.5) / 6).epsilon(1e-12));
}

TEST_CASE("nobody, one, half and fewer than half arrive") {
  const auto of = [](const std::vector<double>& arrive, int others) {
    std::vector<Observation> all;
    for (const double time : arrive) all.push_back({time, true});
    for (int i = 0; i < others; ++i) all.push_back({100, false});
    return all;
  };
  CHECK(!survival_median(of({}, 5)).value);
  CHECK(!survival_median(of({}, 5)).interval);  // as any median's, from six on
  CHECK(survival_median(of({}, 6)).interval->low == 100);
  CHECK(restricted_mean(of({}, 5)).value == 100);
  CHECK(restricted_mean(of({}, 5)).interval->half_width() == 0);
  CHECK(!survival_median(of({10, 20}, 3)).value);
  CHECK(survival_median(of({10, 20, 30}, 2)).value == 30);
  CHECK(survival_median(of({10, 20}, 2)).value == 20);
  CHECK(!survival_median(of({}, 1)).interval);
  CHECK(restricted_mean(of({10}, 1)).value == 55);
}

TEST_CASE(
    "restricted means of censored times hold in 93 to 97 % of 2,000 trials of 20; dropping them does not") {
  // Exponential times of mean 1, seen until 1: E min(T, 1) = 1 - 1/e.
  const auto seen = [](const std::vector<double>& values) {
    std::vector<Observation> all;
    for (const double value : values) all.push_back({std::min(value, 1.0), value <= 1});
    return all;
  };
  const double truth = 1 - std::exp(-1.0);
  const double restricted = coverage(truth, 20, exponential_1, [&](const std::vector<double>& values) {
    return restricted_mean(seen(values), 1.0).interval;
  });
  const double dropped = coverage(truth, 20, exponential_1, [](const std::vector<double>& values) {
    std::vector<double> arrived;
    for (const double value : values)
      if (value <= 1) arrived.push_back(value);
    while (arrived.size() < 2) arrived.push_back(1);
    return student_mean(arrived).interval;
  });
  const double median = coverage(std::log(2.0), 20, exponential_1, [&](const std::vector<double>& values) {
    return survival_median(seen(values)).interval;
  });
  MESSAGE("20 times, 37 % censored: restricted mean ", restricted, ", censored ones dropped ", dropped,
          ", Kaplan-Meier median ", median);
  CHECK(restricted > 0.93);
  CHECK(restricted < 0.97);
  CHECK(dropped < 0.5);
  CHECK(median > 0.92);
}

// Runs without chance, and what the model may be off by where two of them differ, by hand.

using frame::is_deterministic;
using frame::off_by;

namespace {

ResultPoint point_of(const std::map<std::string, double>& metrics) {
  ResultPoint point;
  point.key = "key";
  point.metrics = metrics;
  return point;
}

frame::ScenarioOf always(const Json& resolved) {
  return [text = resolved.dump()](const std::string&) { return nlohmann::ordered_json::parse(text); };
}

bool is_fixed(const std::string& pointer, const Json& value) {
  Json scenario = small_scenario();
  scenario["learner"] = nullptr;
  if (!pointer.empty()) scenario[Json::json_pointer(pointer)] = value;
  const ResultPoint point = point_of({{"simulated_time_s", 1}});
  return is_deterministic(always(load(scenario).resolved), "simulated_time_s", {&point});
}

}  // namespace

TEST_CASE("a single run is deterministic where nothing in its scenario is drawn") {
  CHECK(is_fixed("", {}));
  CHECK(!is_fixed("/learner", small_learner()));
  CHECK(!is_fixed("/stragglers", Json::array({{{"name", "exponential"}, {"mean", "1 ms"}}})));
  CHECK(!is_fixed("/network", {{"jitter", 0.1}}));
  CHECK(!is_fixed("/workload/compute_factor", {{"name", "lognormal"}, {"mean", 1}, {"sigma", 0.1}}));
  CHECK(!is_fixed("/algorithm", {{"name", "d_psgd"}}));
  CHECK(!is_fixed("/failures", {{"mean_time_between", "1 h"}}));
}

TEST_CASE("several runs are deterministic in a metric of time that is equal in all of them") {
  const auto run = [](double straggle_s, double wait_s, double time_s) {
    return point_of({{"straggle_s", straggle_s}, {"wait_s", wait_s}, {"simulated_time_s", time_s}});
  };
  // Two slow nodes, drawn once: who waits for them differs, how long the run takes does not.
  const ResultPoint one = run(0.1, 0.02, 1), same = one, other = run(0.1, 0.03, 1);
  const frame::ScenarioOf none = always(Json::object());
  CHECK(is_deterministic(none, "simulated_time_s", {&one, &same}));
  CHECK(is_deterministic(none, "simulated_time_s", {&one, &other}));
  CHECK(!is_deterministic(none, "wait_s", {&one, &other}));
  const ResultPoint longer = run(0.1, 0.02, 1.1), chance = run(0.2, 0.02, 1);
  CHECK(!is_deterministic(none, "simulated_time_s", {&one, &longer}));
  CHECK(!is_deterministic(none, "simulated_time_s", {&one, &chance}));
  CHECK(!is_deterministic(none, "simulated_time_s", {&one}));  // its scenario is not known
}

TEST_CASE("what is learned or counted, and equal over seeds, is deterministic only if all else is equal") {
  const auto run = [](double loss) {
    return point_of(
        {{"crashes", 0}, {"test_accuracy_final", 0.5}, {"time_to_target_s", 3}, {"test_loss_final", loss}});
  };
  const ResultPoint one = run(0.7), same = one, other = run(0.8);
  const frame::ScenarioOf none = always(Json::object());
  for (const char* metric : {"crashes", "test_accuracy_final", "time_to_target_s"}) {
    CHECK(is_deterministic(none, metric, {&one, &same}));
    CHECK(!is_deterministic(none, metric, {&one, &other}));
  }
}

TEST_CASE("from data sheets: what half of the published steps were longer or shorter by") {
  // 1 s of communication less, 0.5 s of selecting more. Of half of the published steps computing took at
  // most 1.216, modelled kernels 1.743 times as long as predicted: more than the 0.26 + 0.1 s that the slow
  // one may be shorter.
  const ResultPoint dense = point_of(
                        {{"compute_s", 0.1}, {"communication_exposed_s", 1}, {"iteration_time_mean_s", 1.1}}),
                    sparse =
                        point_of({{"compute_s", 0.1}, {"selection_s", 0.5}, {"iteration_time_mean_s", 0.6}});
  Json scenario = small_scenario();
  scenario["learner"] = nullptr;
  const frame::ScenarioOf scenario_of = always(load(scenario).resolved);
  CHECK(*off_by(scenario_of, "iteration_time_mean_s", {&dense}, {&sparse}) ==
        doctest::Approx(std::hypot(0.1 * 0.216, 0.5 * 0.743)).epsilon(1e-9));
  CHECK(*off_by(scenario_of, "events", {&dense}, {&sparse}) == 0);
  // 0.2 s of communication less is within what the other 0.8 s may be longer by: undecided.
  const ResultPoint less =
      point_of({{"compute_s", 0.1}, {"communication_exposed_s", 0.8}, {"iteration_time_mean_s", 0.9}});
  CHECK(*off_by(scenario_of, "iteration_time_mean_s", {&dense}, {&less}) ==
        doctest::Approx(std::hypot(0.1 * 0.216, 0.8 * 0.985)).epsilon(1e-9));
  scenario = load(scenario).resolved;
  scenario["cluster"]["calibration"]["left_out"]["half"] = 0.1;
  CHECK(*off_by(always(scenario), "iteration_time_mean_s", {&dense}, {&less}) ==
        doctest::Approx(1.1 * std::expm1(0.1)).epsilon(1e-9));
  scenario["stragglers"] = {{{"name", "exponential"}}};
  CHECK(!off_by(always(scenario), "iteration_time_mean_s", {&dense}, {&less}));
}

}  // namespace simsgd::test::analysis_statistics
