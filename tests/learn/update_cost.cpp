// What an update takes beyond the step times of a workload.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "sim/cluster/device.hpp"
#include "sim/learn/optimizer.hpp"
#include "sim/learn/optimizers/registry.hpp"
#include "sim/roles/compute.hpp"

namespace simsgd::test::learn_update_cost {

TEST_CASE("beyond 20 bytes per parameter an update is charged as passes over vectors") {
  // 100 GB/s at 80 %: 80 GB/s; 1e9 parameters.
  Device device;
  device.memory_Bps = 100e9;
  device.vector_pass.efficiency = 0.8;
  OptimizerSpec plain, momentum, adamw;
  momentum.rule = sgd_rule(0.9);
  adamw.rule = make_optimizer({{"name", "adamw"}}).rule;
  CHECK(update_s(device, plain, 1e9) == 0);                     // 12 bytes
  CHECK(update_s(device, momentum, 1e9) == 0);                  // 20
  CHECK(update_s(device, adamw, 1e9) == doctest::Approx(0.1));  // 28: 8 GB
  plain.clip_norm = momentum.clip_norm = adamw.clip_norm = 1;   // 4 bytes more
  CHECK(update_s(device, plain, 1e9) == 0);
  CHECK(update_s(device, momentum, 1e9) == doctest::Approx(0.05));
  CHECK(update_s(device, adamw, 1e9) == doctest::Approx(0.15));
}

TEST_CASE("where the rate of vector passes is unknown an update takes nothing more") {
  OptimizerSpec adamw;
  adamw.rule = make_optimizer({{"name", "adamw"}}).rule;
  Device device;
  CHECK(update_s(device, adamw, 1e9) == 0);
  device.memory_Bps = 100e9;
  CHECK(update_s(device, adamw, 1e9) == 0);  // its efficiency is not known
  device.memory_Bps = 0;
  device.vector_pass.efficiency = 0.8;
  CHECK(update_s(device, adamw, 1e9) == 0);
}

}  // namespace simsgd::test::learn_update_cost
