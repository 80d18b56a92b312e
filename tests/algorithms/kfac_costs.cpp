// What K-FAC takes on a device, by hand.
#include "algorithms/kfac/kfac_setup.hpp"

#include <doctest/doctest.h>

#include "tests/algorithms/kfac_support.hpp"

namespace simsgd::test::algorithms_kfac_costs {

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

}  // namespace simsgd::test::algorithms_kfac_costs
