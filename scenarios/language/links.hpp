// How a cluster's GPUs and nodes are attached: "gpu_link" and "nic" of the section "cluster".
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/base/fields.hpp"
#include "sim/cluster/network.hpp"

namespace simsgd {

struct LinkSegment {
  std::optional<double> up_to_bytes;
  double latency_s = 0;
  double bandwidth_Bps = 0;

  void fields(Fields& f);
};

/// A token bucket, as traffic shapers and clouds have them.
struct LinkBurst {
  double bytes = 0;
  double bandwidth_Bps = 0;

  void fields(Fields& f);
};

struct GpuLink {
  double bandwidth_Bps = 0;
  double latency_s = 0;
  std::optional<double> host_memory_Bps;
  std::vector<LinkSegment> segments;

  void fields(Fields& f);
};

struct Nic {
  double bandwidth_Bps = 0;
  std::optional<double> goodput;
  double latency_s = 0;
  int count = 1;
  std::optional<LinkBurst> burst;
  std::vector<LinkSegment> segments;

  /// Bytes of payload per second.
  double payload_Bps() const { return bandwidth_Bps * goodput.value_or(1); }

  void fields(Fields& f);
};

/// Throws what is wrong with a link's segments, below the pointer `link`.
void check_link(const std::string& link, const GpuLink& of);
void check_link(const std::string& link, const Nic& of);

MessageSegments segments_of(const GpuLink& link);
/// With its burst.
MessageSegments segments_of(const Nic& nic);

}  // namespace simsgd
