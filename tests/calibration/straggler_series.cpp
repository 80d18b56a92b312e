// What a straggler fit is made of, against the same by matrices.
#include <doctest/doctest.h>

#include <Eigen/Dense>
#include <cmath>
#include <stdexcept>
#include <string>
#include <vector>

#include "analysis/calibration/straggler_series.hpp"
#include "sim/base/random.hpp"

namespace simsgd::test::calibration_straggler_series {

namespace {

using namespace simsgd::calibration;
using Eigen::MatrixXd;
using Eigen::VectorXd;

MatrixXd covariance(const Chain& chain, int n) {
  MatrixXd all(n, n);
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j) all(i, j) = chain.variance * std::pow(chain.rho, std::abs(i - j));
  return all;
}

std::string refusal(const std::vector<WorkerStep>& rows) {
  try {
    step_table(rows);
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("the covariance that few steps have is the kernel between two centring matrices") {
  const int n = 17;
  for (const double rho : {0.0, 0.5, 0.95}) {
    const MatrixXd centre = MatrixXd::Identity(n, n) - MatrixXd::Constant(n, n, 1.0 / n);
    const MatrixXd centred = centre * covariance({1, rho}, n) * centre;
    const std::vector<double> expected = expected_covariance(rho, n, 10);
    for (int lag = 0; lag <= 10; ++lag) {
      CAPTURE(lag);
      const double mean = centred.diagonal(lag).mean();
      CHECK(expected[static_cast<std::size_t>(lag)] == doctest::Approx(mean).epsilon(1e-10));
    }
    CHECK(mean_variance(rho, n) == doctest::Approx(covariance({1, rho}, n).mean()).epsilon(1e-12));
  }
}

TEST_CASE("smoothing is the conditional mean of a Gaussian vector") {
  const int n = 30;
  const Chain wanted{0.7, 0.3}, other{1.3, 0.9};
  Stream stream({1, Purpose::algorithm, 0, 0});
  std::vector<double> sum;
  for (int i = 0; i < n; ++i) sum.push_back(stream.normal());
  const VectorXd seen = VectorXd::Map(sum.data(), n);
  const VectorXd expected =
      covariance(wanted, n) * (covariance(wanted, n) + covariance(other, n)).ldlt().solve(seen);
  const std::vector<double> got = smoothed(sum, wanted, other);
  for (int i = 0; i < n; ++i)
    CHECK(got[static_cast<std::size_t>(i)] == doctest::Approx(expected[i]).epsilon(1e-9));
}

TEST_CASE("covariances: own and between workers, by hand") {
  // Centred: -1 1 -1 1 and 1 -1 1 -1. Own at lag 0: 1, at lag 1: -1; between them the opposite.
  const Covariances of = covariances({{0, 2, 0, 2}, {3, 1, 3, 1}}, 1);
  CHECK(of.own[0] == std::vector<double>{1, -1});
  CHECK(of.cross == std::vector<double>{-1, 1});
  CHECK(covariances({{0, 2, 0, 2}}, 1).cross == std::vector<double>{0, 0});
}

TEST_CASE("a table has the steps of all workers, in order; rows of others are counted") {
  const StepTable table =
      step_table(std::vector<WorkerStep>{{4, 9, 0.5}, {2, 9, 0.25}, {2, 7, 1}, {4, 7, 2}, {4, 8, 3}});
  CHECK(table.workers == std::vector<int>{2, 4});
  CHECK(table.steps == std::vector<std::uint64_t>{7, 9});
  CHECK(table.times_s == std::vector<std::vector<double>>{{1, 0.25}, {2, 0.5}});
  CHECK(table.dropped == 1);
  CHECK(part(table, 1, 1).times_s == std::vector<std::vector<double>>{{0.25}, {0.5}});
  CHECK(step_table({}).workers.empty());
  CHECK(refusal({{1, 2, 0.0}}) == "worker 1 has a time of 0 s in step 2: times must be above 0");
  CHECK(refusal({{1, 2, -1.5}}) == "worker 1 has a time of -1.5 s in step 2: times must be above 0");
  CHECK(refusal({{1, 2, NAN}}) == "worker 1 has a time of nan s in step 2: times must be above 0");
  CHECK(refusal({{1, 2, 1}, {1, 2, 1}}) == "worker 1 has step 2 twice");
}

}  // namespace simsgd::test::calibration_straggler_series
