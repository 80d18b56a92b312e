// PowerSGD against a model of its own, in double, with another orthogonalisation; what it sends and holds.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "algorithms/low_communication/low_rank.hpp"
#include "tests/algorithms/model_workers.hpp"

namespace simsgd::test::algorithms_powersgd {

namespace {

using doctest::Approx;
using Dense = Eigen::MatrixXd;

/// Softmax regression of 8 features and 4 classes: a matrix of 4 x 8 and a bias of 4. SGD without momentum.
Job learning_job(int workers, int batch, const std::string& algorithm, const Json& parameters,
                 std::uint64_t steps) {
  Job job = scripted_job(star(workers, 0, 1e9), nullptr);
  job.workload.layers.front().tensors = {TensorShape(4, 8), 4};
  add_learner(job, batch);
  job.optimizer.learning_rate.base = kRate;
  job.optimizer.rule = sgd_rule();
  use_algorithm(job, algorithm, parameters);
  job.stop.steps = steps;
  return job;
}

Dense orthonormal_columns(Dense p) {  // modified Gram-Schmidt
  for (Eigen::Index i = 0; i < p.cols(); ++i) {
    for (Eigen::Index j = 0; j < i; ++j) p.col(i) -= p.col(j).dot(p.col(i)) * p.col(j);
    p.col(i).normalize();
  }
  return p;
}

/// Algorithms 1 and 2 of the paper on the one matrix of the learner: what is summed up and what is kept back.
struct Reference {
  Dense sum_of_gradients, mean_residual;
};
Reference reference_of(const Job& job, Workers& workers, int rank) {
  const LowRankLayout layout = low_rank_layout(rank, job.workload, job.learner.get());
  REQUIRE(layout.learned.size() == 1);
  const LearnedMatrix& of = layout.learned.front();
  const auto at = [&of](auto& flat) {
    return Eigen::Map<Dense>(flat.data() + of.offset, of.rows, of.columns);
  };
  const double count = job.workers();
  Executor executor(1);
  const Tensor first = random_right(executor, layout, job.seed);
  Dense q =
      Eigen::Map<const Eigen::MatrixXf>(executor.get(first).values.data(), of.columns, rank).cast<double>();
  std::vector<Dense> residuals(workers.size(), Dense::Zero(of.rows, of.columns));
  Reference all{residuals[0], residuals[0]};
  for (std::uint64_t step = 1; step <= job.stop.steps; ++step) {
    Vector mean = Vector::Zero(workers[0].size());
    Dense sum = Dense::Zero(of.rows, of.columns);
    for (std::size_t i = 0; i < workers.size(); ++i) {
      Vector gradient = workers.gradient(i, step);
      mean += gradient / count;
      residuals[i] += at(gradient);
      sum += residuals[i] / count;
    }
    all.sum_of_gradients += at(mean);
    const Dense p = orthonormal_columns(sum * q);
    q = sum.transpose() * p;
    at(mean) = p * q.transpose();
    for (std::size_t i = 0; i < workers.size(); ++i) {
      residuals[i] -= at(mean);
      workers[i] -= kRate * mean;
    }
    all.mean_residual = sum - at(mean);
  }
  return all;
}

}  // namespace

TEST_CASE("PowerSGD is its paper's algorithm, and residuals and updates add up to the mean gradients") {
  for (const int rank : {1, 2, 3}) {
    CAPTURE(rank);
    const Job job = learning_job(3, 8, "powersgd", {{"rank", rank}}, 15);
    Workers workers(job);
    const Vector start = workers[0];
    const Reference reference = reference_of(job, workers, rank);
    const FakeResult result = run_fake(job);
    CHECK(result.models[0] == result.models[2]);
    workers.check_against(result);
    // What the run has added to its matrix, in units of gradients.
    const Vector end =
        Eigen::Map<const Eigen::VectorXf>(result.models[0].data(), start.size()).cast<double>();
    const Vector updates = (start - end) / kRate;
    const Dense missing = reference.sum_of_gradients - Eigen::Map<const Dense>(updates.data(), 4, 8);
    CHECK((missing - reference.mean_residual).norm() < 1e-3);
    const bool all_sent = missing.norm() < 1e-4;
    CHECK(all_sent == (rank == 3));  // columns of a softmax's gradient sum to 0: its rank is 3 at most
  }
}

TEST_CASE("a mean gradient of rank at most r is sent without loss") {
  // Columns of a softmax's gradient over 4 classes sum to 0, whatever the samples: its rank is 3 at most.
  const auto model = [](const std::string& algorithm, const Json& parameters) {
    return run_fake(learning_job(5, 16, algorithm, parameters, 20)).models[0];
  };
  const std::vector<float> exact = model("allreduce_sgd", Json::object());
  CHECK(worst_difference(model("powersgd", {{"rank", 3}}), exact) < 1e-5);
  CHECK(worst_difference(model("powersgd", {{"rank", 4}}), exact) < 1e-5);
  CHECK(worst_difference(model("powersgd", {{"rank", 2}}), exact) > 1e-4);
}

TEST_CASE("PowerSGD sends r (rows + columns) numbers of each matrix, and the vectors") {
  // 3 (100 + 40) + 3 (20 + 500) + 60 = 2,040 numbers of 4 bytes, by rings of 5: 2 (4/5) * 8,160 = 13,056.
  Job job = scripted_job(star(5, 0, 1e9), nullptr);
  Layer layer;
  layer.tensors = {TensorShape(100, 40), 60};
  job.workload.layers = {layer, layer};
  job.workload.layers[1].tensors = {TensorShape(20, 500)};
  use_rings(job);
  use_algorithm(job, "powersgd", {{"rank", 3}});
  job.stop.steps = 2;
  CHECK(sent_bytes(simulate_job(job).workers[0], Traffic::gradient) == Approx(2 * 13'056).epsilon(1e-12));
}

TEST_CASE("a rank is at most a matrix's rows and columns, each matrix's own") {
  // 20 (100 + 40) + 7 (7 + 500) + 3 (60 + 3) = 6,538 numbers at rank 20, and a vector of 60; by rings of 2, 4
  // bytes of each.
  Job job = scripted_job(star(2, 0, 1e9), nullptr);
  job.workload.layers.front().tensors = {TensorShape(100, 40), 60, TensorShape(7, 500), TensorShape(60, 3)};
  use_algorithm(job, "powersgd", {{"rank", 20}});
  CHECK(sent_bytes(simulate_job(job).workers[0], Traffic::gradient) ==
        Approx(4 * (6538 + 60)).epsilon(1e-12));
  // A perceptron of 8 inputs, 6 hidden ones and 4 classes: matrices of 6 x 8 and 4 x 6. Of as many columns as
  // a matrix has rows nothing is lost, however large the rank is.
  const auto model = [](const std::string& algorithm, const Json& parameters) {
    Job learning = scripted_job(star(3, 0, 1e9), nullptr);
    learning.workload.layers.front().tensors = {TensorShape(6, 8), 6, TensorShape(4, 6), 4};
    give_learner(learning, {.data = "gaussian_mixture",
                            .model = "mlp",
                            .data_parameters = {{"features", 8}, {"classes", 4}, {"samples", 512}},
                            .model_parameters = {{"hidden", {6}}},
                            .batch = 8,
                            .learning_rate = kRate});
    use_algorithm(learning, algorithm, parameters);
    learning.stop.steps = 20;
    return run_fake(learning).models[0];
  };
  const std::vector<float> exact = model("allreduce_sgd", Json::object());
  CHECK(worst_difference(model("powersgd", {{"rank", 6}}), exact) < 1e-5);
  CHECK(model("powersgd", {{"rank", 1000}}) == model("powersgd", {{"rank", 6}}));
  CHECK(worst_difference(model("powersgd", {{"rank", 4}}), exact) > 1e-5);  // 4 of the first one's 6
}

TEST_CASE("the kernels of a slow node take as much longer as its passes") {
  // One worker: products, orthogonalisation and residual alone, nothing to wait for.
  const auto kernels_s = [](double speed) {
    Job job = scripted_job(star(1, 0, 1e12), nullptr);
    Device& device = job.cluster.device;
    device.peak_flops = 1e12;
    device.memory_Bps = 1e12;
    device.qr.overhead_s = 1e-3;
    job.workload.layers.front().tensors = {TensorShape(1000, 1000)};
    job.cluster.node_speed = {speed};
    use_algorithm(job, "powersgd", {{"rank", 4}});
    job.stop.steps = 3;
    return simulate_job(job).end_s / 3;
  };
  // At 0.5 Tflop/s three products of 8 Mflop (16 us each, 4 us of memory), a QR of 2 1000 16 - 2/3 64 flop
  // and 1 ms, a pass over 12 MB.
  const double nominal_s = 3 * 16e-6 + (32e3 - 128.0 / 3) / 0.5e12 + 1e-3 + 12e-6;
  CHECK(kernels_s(1) == Approx(nominal_s).epsilon(1e-9));
  CHECK(kernels_s(0.25) == Approx(4 * nominal_s).epsilon(1e-9));
}

TEST_CASE("a measured thin product takes what was measured, one beyond the table at least its pass") {
  Job job = scripted_job(star(1, 0, 1e12), nullptr);
  Device& device = job.cluster.device;
  device.name = "D";
  device.peak_flops = 1e12;
  device.memory_Bps = 1e12;
  job.workload.layers.front().tensors = {TensorShape(1000, 1000)};
  std::vector<Note> notes;
  AlgorithmContext context;
  context.workload = &job.workload;
  context.cluster = &job.cluster;
  context.notes = &notes;
  device.gemm.times = {{1000, 4, 1000, 1e-6}};  // faster than its matrix is read, in 4 us: from a cache
  CHECK(low_rank_costs(4, context).product_s == Approx(1e-6).epsilon(1e-12));
  CHECK(notes.empty());
  CHECK(low_rank_costs(2, context).product_s == Approx(4e-6).epsilon(1e-12));
  CHECK(notes.size() == 1);
  CHECK(notes[0].about == "extrapolated-kernel");
}

}  // namespace simsgd::test::algorithms_powersgd
