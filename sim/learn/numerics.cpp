#include "sim/learn/numerics.hpp"
#include "sim/learn/model.hpp"

#include <Eigen/Core>

namespace simsgd {

void fix_numerics() {
  constexpr std::ptrdiff_t kKiB = 1024;
  Eigen::setCpuCacheSizes(32 * kKiB, 512 * kKiB, 16 * kKiB * kKiB);
}

}  // namespace simsgd
