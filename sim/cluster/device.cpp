#include "sim/cluster/device.hpp"

namespace simsgd {

namespace {

/// Numbers that an fp32 vector's pass reads and writes, per entry: 4 bytes each.
constexpr double kCopyPasses = 2;        // read, write
constexpr double kAccumulatePasses = 5;  // copy into one vector; read it and the other, write the sum
constexpr double kBytesPerEntry = 4;

/// What a kernel takes per byte of a vector that it passes over so often; unknown where its rate is.
Cost passes_s_per_byte(const Device& device, double passes) {
  return device.vector_pass.efficiency.known() && device.memory_Bps > 0 ? Cost(passes / device.vector_Bps())
                                                                        : Cost();
}

}  // namespace

void Device::complete() {
  if (!accumulate_s.known()) accumulate_s = passes_s_per_byte(*this, kAccumulatePasses * kBytesPerEntry);
}

void HostCosts::complete(const Device& device) {
  if (!pack_s_per_byte.known()) pack_s_per_byte = passes_s_per_byte(device, kCopyPasses);
  if (!scale_s_per_byte.known()) scale_s_per_byte = passes_s_per_byte(device, kCopyPasses);
  if (!staging_Bps.known() && staged) staging_Bps = *staged ? device.copy_Bps : Cost(0);
}

}  // namespace simsgd
