// Ensembles of many members: what is dropped while cells are still unknown is what brute force would give no
// weight.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "analysis/calibration/ensemble.hpp"
#include "support.hpp"

namespace simsgd::test::calibration_ensembles {

namespace {

constexpr double kNone = std::numeric_limits<double>::infinity();
using Table = std::vector<std::vector<double>>;  // squares, by member and cell
using Asked = std::vector<std::pair<std::size_t, std::size_t>>;

struct Screened {
  std::vector<double> sums;
  std::size_t asked = 0;
};

Screened screened(const Table& table, double hopeless) {
  Screened result;
  std::vector<std::size_t> next(table.size(), 0);
  result.sums = screened_sums(table.size(), table.front().size(), hopeless, [&](const Asked& asked) {
    std::vector<double> squares;
    for (const auto& [member, cell] : asked) {
      CHECK(cell == next[member]++);  // in their order, each once
      squares.push_back(table[member][cell]);
    }
    result.asked += asked.size();
    return squares;
  });
  return result;
}

/// Some members are seldom off, some often, by 15 % and a noise of 2 %.
Table drawn_table(std::size_t members, std::size_t cells, std::uint64_t seed) {
  Stream stream({.seed = seed, .purpose = Purpose::resampling, .entity = 9, .step = 0});
  Table table(members);
  for (auto& row : table) {
    const double often = 0.1 * stream.below(10);
    for (std::size_t c = 0; c < cells; ++c) {
      const double off = (stream.uniform() < often ? 0.15 : 0) + 0.02 * stream.normal();
      row.push_back(off * off);
    }
  }
  return table;
}

/// Of all cells of all members, from the definition: L is in proportion to (mean square)^(-(n - p) / 2).
std::vector<double> posterior(const Table& table, std::size_t parameters) {
  std::vector<double> logs, weights;
  for (const auto& row : table)
    logs.push_back(-0.5 * static_cast<double>(row.size() - parameters) *
                   std::log(std::accumulate(row.begin(), row.end(), 0.0)));
  const double most = *std::max_element(logs.begin(), logs.end());
  for (const double each : logs) weights.push_back(std::exp(each - most));
  const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
  for (double& each : weights) each /= sum;
  return weights;
}

}  // namespace

TEST_CASE("screening leaves the posterior as it is, with a fraction of the cells") {
  constexpr std::size_t kMembers = 1000, kCells = 24, kParameters = 4;
  for (const std::uint64_t seed : {1U, 2U, 3U}) {
    CAPTURE(seed);
    const Table table = drawn_table(kMembers, kCells, seed);
    const Screened result = screened(table, hopeless_ratio(kMembers, kCells, kParameters));
    const std::vector<double> exact = posterior(table, kParameters);
    const std::vector<double> weights = member_weights(result.sums, kCells, kParameters);
    double dropped = 0, apart = 0;
    for (std::size_t m = 0; m < kMembers; ++m) {
      apart += std::fabs(weights[m] - exact[m]);
      if (!std::isfinite(result.sums[m]))
        dropped += exact[m];
      else
        CHECK(result.sums[m] == doctest::Approx(std::accumulate(table[m].begin(), table[m].end(), 0.0)));
    }
    CHECK(dropped <= kLeastWeight);
    CHECK(apart <= 2 * kLeastWeight);
    CHECK(std::count(result.sums.begin(), result.sums.end(), kNone) > 0);
    CHECK(result.asked < kMembers * kCells);
  }
}

TEST_CASE("hopeless members are not tried in dear cells") {
  // 5,000 of which one in a hundred is good: the others are a thousand times as far off in the first cell.
  constexpr std::size_t kMembers = 5000, kCells = 10;
  Table table(kMembers, std::vector<double>(kCells, 1e-3));
  for (std::size_t m = 0; m < kMembers; ++m)
    if (m % 100 != 7) table[m][0] = 10;
  const Screened result = screened(table, hopeless_ratio(kMembers, kCells, 2));
  CHECK(result.asked == kMembers + kMembers / 100 * (kCells - 1));
}

TEST_CASE("a member that only its last cell makes likely is not dropped before") {
  // All others explain nine cells to 1 %, and none explains the tenth; member 77 is the other way round.
  Table table(200, std::vector<double>(10, 1e-4));
  for (auto& row : table) row.back() = 100;
  table[77].assign(10, 0.09);
  const Screened result = screened(table, 5);
  CHECK(result.sums[77] == doctest::Approx(0.9));
  CHECK(std::count(result.sums.begin(), result.sums.end(), kNone) == 199);
  CHECK(member_weights(result.sums, 10, 2)[77] == 1);
}

TEST_CASE("screening of one member, of equal ones, and of perfect ones") {
  CHECK(screened({{1, 2, 3}}, 2).sums == std::vector<double>{6});
  CHECK(screened(Table(300, {0.5, 0.5}), 1.0).sums == std::vector<double>(300, 1));
  CHECK(screened({{0, 0}, {0, 1}}, 10).sums == std::vector<double>{0, kNone});
  // 12 points, 2 parameters, 100 members: r^-5 = 1e-6.
  CHECK(hopeless_ratio(100, 12, 2) == doctest::Approx(std::pow(1e6, 0.2)));
  CHECK(outcome_weights({0.1, 0.2, 0.3, 0.4}, {0, 1, 0, 1}) ==
        std::vector<double>{0.4, 0.6000000000000001, 0, 0});
}

namespace {

/// All-reduces by a ring or by recursive doubling (an eighth of the seeds), of 2 to 16 workers.
Json many_spec(const Folder& folder, int members) {
  Json values = Json::array();
  for (int i = 0; i < members; ++i) values.push_back(i % 8 == 5 ? "recursive_doubling" : "ring");
  return {{"name", "x"},
          {"data", {{{"expected", {folder.path("study.json")}}}}},
          {"models",
           {{{"name", "m"},
             {"ensemble",
              {{{"name", "schedule"}, {"pointer", "/network/all_reduce"}, {"values", std::move(values)}}}},
             {"parameters",
              {{{"name", "bandwidth"},
                {"pointers", {"/cluster/nic/bandwidth"}},
                {"low", "0.1 GB/s"},
                {"high", "10 GB/s"}}}}}}},
          {"fit", {{"leave_out", {"workers"}}, {"octaves_equal", false}, {"draws", 4}}}};
}

Json study_of(const std::vector<int>& workers, bool ring) {
  constexpr double kBytes = 4 * throughput_study::kParameters, kBandwidth_Bps = 1.5e9;
  return study_of_throughputs(workers, [ring](int each) {
    const double sent = ring ? 2.0 * (each - 1) / each * kBytes : std::log2(each) * kBytes;
    return each * throughput_study::kBatch / (throughput_study::kComputeS + sent / kBandwidth_Bps);
  });
}

std::unique_ptr<Calibration> calibrated(int members, bool ring) {
  const Folder folder;
  folder.write_json("study.json", study_of({2, 4, 8, 16}, ring));
  folder.write_json("spec.json", many_spec(folder, members));
  return calibrate(load_spec(folder.path("spec.json")), {.data = "", .jobs = 2});
}

}  // namespace

TEST_CASE("members of one outcome share the weight that it has, and its parameters") {
  const auto doubling = calibrated(80, false);
  const Fitted& best = doubling->best();
  CHECK(best.member % 8 == 5);
  CHECK(best.values.at(0) == doctest::Approx(1.5e9).epsilon(1e-3));
  double sum = 0;
  for (std::size_t m = 5; m < 80; m += 8) {
    CHECK(best.weights.at(m) == doctest::Approx(0.1).epsilon(1e-6));
    CHECK(best.member_values.at(m) == best.values);
    sum += best.weights[m];
  }
  CHECK(sum == doctest::Approx(1).epsilon(1e-6));
  for (const LeftOut& part : doubling->models[0].left_out)
    for (const double error : part.log_errors) CHECK(std::fabs(error) < 1e-3);
  // Runs: two outcomes of four cells for each place that the fit looks at, not 80.
  CHECK(doubling->models[0].memo->metrics.size() < 80 * 4);
  const auto ring = calibrated(80, true);
  CHECK(ring->best().weights.at(0) == doctest::Approx(1.0 / 70).epsilon(1e-6));
  CHECK(ring->best().weights.at(5) < 1e-6);
}

}  // namespace simsgd::test::calibration_ensembles
