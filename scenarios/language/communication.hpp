// How a cluster communicates, as it is written: "gpu_link" and "nic", the "stack" (the communication library,
// sim/stacks/stack.hpp), and how collectives are done, which the section "network" may say otherwise.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "scenarios/language/reader.hpp"
#include "sim/base/fields.hpp"
#include "sim/cluster/network.hpp"
#include "sim/stacks/policy.hpp"
#include "sim/stacks/stack.hpp"

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
  std::optional<double> goodput, shaper_loss_Bps;
  double latency_s = 0;
  int count = 1;
  std::optional<LinkBurst> burst;
  std::vector<LinkSegment> segments;

  /// Bytes of payload per second.
  double payload_Bps() const;

  void fields(Fields& f);
};

/// Throws what is wrong with a link's segments, below the pointer `link`.
void check_link(const std::string& link, const GpuLink& of);
void check_link(const std::string& link, const Nic& of);

MessageSegments segments_of(const GpuLink& link);
/// With its burst.
MessageSegments segments_of(const Nic& nic);

/// One policy for each operation, of those that say one.
struct PolicySection {
  std::map<CollectiveOp, RawValue> of_op;

  /// `otherwise`: what holds where the file says nothing, in words, before ", else" and the default schedule;
  /// may be empty.
  void fields(Fields& f, const std::string& otherwise);
  void fields(Fields& f) { fields(f, ""); }
};

/// Those of the stack and of the cluster, replaced by those of the network. What a schema cannot say is
/// reported.
CollectivePolicies build_policies(const Reader& reader, const std::optional<Stack>& stack);

/// What holds of each operation, by name, where the section "network" says nothing. `collectives`: read from
/// the section "cluster".
Json standing_policies(const PolicySection& collectives, const std::optional<Stack>& stack);

}  // namespace simsgd
