// PowerSGD against a model of its own, in double, with another orthogonalisation; what it sends and holds.
#include <doctest/doctest.h>

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "algorithms/low_communication/low_rank.hpp"
#include "tests/support/fake_world.hpp"
#include "tests/support/jobs.hpp"
#include "tests/support/numbers.hpp"

namespace simsgd::test::algorithms_powersgd {

namespace {

using doctest::Approx;
using Dense = Eigen::MatrixXd;

constexpr double kRate = 0.05;

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

Dense mean_of(const std::vector<Dense>& all) {
  Dense sum = all.front();
  for (std::size_t i = 1; i < all.size(); ++i) sum += all[i];
  return sum / static_cast<double>(all.size());
}

/// The flat numbers `from` on as a matrix.
Dense matrix_at(const std::vector<float>& flat, std::size_t from, Eigen::Index rows, Eigen::Index columns) {
  return Eigen::Map<const Eigen::MatrixXf>(flat.data() + from, rows, columns).cast<double>();
}

/// Algorithms 1 and 2 of the paper, for all workers at once, on the one matrix of the learner.
class Reference {
 public:
  Reference(const Job& job, int rank)
      : job_(job), layout_(low_rank_layout(rank, job.workload, job.learner.get())) {
    REQUIRE(layout_.learned.size() == 1);
    Executor executor(1);
    const Tensor first = random_right(executor, layout_, job.seed);
    q_ = matrix_at(executor.get(first).values, 0, matrix().columns, rank);
    model_ = job.learner->initial_parameters();
    residuals_.assign(static_cast<std::size_t>(job.workers()), Dense::Zero(matrix().rows, matrix().columns));
    sum_of_gradients_ = 0 * residuals_.front();
  }

  void step(std::uint64_t step) {
    std::vector<float> mean(model_.size(), 0.0F);
    std::vector<Dense> sums, thin;
    for (int rank = 0; rank < job_.workers(); ++rank) {
      std::vector<float> gradient(model_.size());
      job_.learner->gradient(model_, job_.learner->samples(rank, step), gradient);
      for (std::size_t i = 0; i < mean.size(); ++i)
        mean[i] += gradient[i] / static_cast<float>(job_.workers());
      sums.push_back(of(gradient) + residuals_[static_cast<std::size_t>(rank)]);
      thin.push_back(sums.back() * q_);
    }
    sum_of_gradients_ += of(mean);
    const Dense p = orthonormal_columns(mean_of(thin));
    q_ = mean_of(sums).transpose() * p;
    const Dense update = p * q_.transpose();
    for (std::size_t rank = 0; rank < sums.size(); ++rank) residuals_[rank] = sums[rank] - update;
    Eigen::Map<Eigen::MatrixXf>(mean.data() + matrix().offset, matrix().rows, matrix().columns) =
        update.cast<float>();
    for (std::size_t i = 0; i < mean.size(); ++i) model_[i] -= static_cast<float>(kRate) * mean[i];
  }

  const std::vector<float>& model() const { return model_; }
  Dense mean_residual() const { return mean_of(residuals_); }
  const Dense& sum_of_gradients() const { return sum_of_gradients_; }  ///< of their means
  Dense of(const std::vector<float>& flat) const {
    return matrix_at(flat, matrix().offset, matrix().rows, matrix().columns);
  }

 private:
  const LearnedMatrix& matrix() const { return layout_.learned.front(); }

  const Job& job_;
  LowRankLayout layout_;
  Dense q_, sum_of_gradients_;
  std::vector<Dense> residuals_;
  std::vector<float> model_;
};

}  // namespace

TEST_CASE("PowerSGD is its paper's algorithm, and residuals and updates add up to the mean gradients") {
  for (const int rank : {1, 2, 3}) {
    CAPTURE(rank);
    constexpr std::uint64_t kSteps = 15;
    const Job job = learning_job(3, 8, "powersgd", {{"rank", rank}}, kSteps);
    Reference reference(job, rank);
    for (std::uint64_t step = 1; step <= kSteps; ++step) reference.step(step);
    const FakeResult result = run_fake(job);
    CHECK(result.models[0] == result.models[2]);
    CHECK(worst_difference(result.models[0], reference.model()) < 1e-5);
    // What the run has added to its model, in units of gradients.
    const Dense updates =
        (reference.of(job.learner->initial_parameters()) - reference.of(result.models[0])) / kRate;
    const Dense missing = reference.sum_of_gradients() - updates;
    CHECK((missing - reference.mean_residual()).norm() < 1e-3);
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
