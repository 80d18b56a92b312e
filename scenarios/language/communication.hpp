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

/// The stack of the section "cluster"; nothing where there is none. What contradicts it there is reported.
/// `given`: the section's host costs as they are written. `right` becomes false where anything is wrong.
std::optional<Stack> build_stack(const Reader& reader, const HostCosts& given, bool& right);

/// What the stack of a section "cluster" says of operations, by name; {} without one, or where it is wrong.
Json stack_collectives(const Json& cluster);

/// Writes the stack's defaults.
void complete_stack(Json& cluster);

/// One policy for each operation, of those that say one.
struct PolicySection {
  std::map<CollectiveOp, RawValue> of_op;

  /// `otherwise`: what holds where the file says nothing, in words, before ", else" and the default schedule;
  /// may be empty.
  void fields(Fields& f, const std::string& otherwise);
  void fields(Fields& f) { fields(f, ""); }
};

/// Those of the cluster and of its stack, replaced by those of the network. What a schema cannot say is
/// reported.
CollectivePolicies build_policies(const Reader& reader);

/// Writes into the section "network" what the cluster or its stack says, or the default.
void complete_network(Json& network, const Json& cluster);

}  // namespace simsgd
