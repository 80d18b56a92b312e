// How a communication library does a collective of a size: by which schedule, and what it adds to the
// schedule's messages; or the time that was measured.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "sim/base/fields.hpp"
#include "sim/cluster/cluster.hpp"
#include "sim/collectives/operation.hpp"
#include "sim/collectives/plan.hpp"
#include "sim/stacks/nccl_estimate.hpp"

namespace simsgd {

/// One way of doing an operation.
struct CollectiveWay {
  std::optional<double> up_to_bytes;  ///< none: any size
  std::optional<int> workers;         ///< only among so many; none: among any number
  std::string schedule;
  LibraryCosts costs;
  std::optional<int> up_to_workers{};        ///< only among at most so many
  std::optional<double> up_to_part_bytes{};  ///< largest part of one worker: bytes / workers
  std::optional<NcclProtocol> protocol{};    ///< by which a library estimates it

  bool takes(int ranks, double bytes) const {
    return (!workers || ranks == *workers) && (!up_to_workers || ranks <= *up_to_workers) &&
           (!up_to_bytes || bytes <= *up_to_bytes) &&
           (!up_to_part_bytes || bytes / ranks <= *up_to_part_bytes);
  }
};

/// Times of whole operations, as a benchmark measures them.
struct MeasuredCollective {
  int workers = 1;
  double bytes = 0;
  double time_s = 0;

  void fields(Fields& f) {
    f.whole("workers", workers, "This many workers take part").required().at_least(1);
    f.bytes("bytes", bytes, "The whole vector has this size").required();
    f.time("time", time_s,
           "The operation takes this long, from a common start to the last end, with the library's launch")
        .required();
  }
};

struct CollectivePolicy {
  enum class Kind { by_size, fastest, chosen, measured } kind = Kind::by_size;
  /// by_size: the first that takes the size; fastest: any that does; chosen: the one that the library
  /// estimates to take least, whatever it takes.
  std::vector<CollectiveWay> ways;
  NcclMachine estimated{};                   ///< chosen: by NCCL, which knows this
  std::vector<MeasuredCollective> measured;  ///< by ascending workers, then bytes

  /// One schedule for all sizes, and nothing added to it.
  static CollectivePolicy of(std::string schedule);
};

using CollectivePolicies = std::map<CollectiveOp, CollectivePolicy>;

/// The JSON schema of a policy for `op`; and a policy from JSON that meets it. Throws ParameterError for what
/// a schema cannot say.
Json policy_schema(CollectiveOp op);
CollectivePolicy read_policy(CollectiveOp op, const Json& json);

/// An operation among `ranks`.
struct PolicyRequest {
  CollectiveOp op = CollectiveOp::all_reduce;
  double bytes = 0;
  int root = 0;
  int tensors = 1;
  std::string schedule{};  ///< asked for by the algorithm; "": the policy decides
  CodingTimes coding{};
};

/// The plan of an operation as `policies` do it; without a policy for it by its default schedule. Throws
/// RunError where it cannot be done: a schedule that does not fit the group, a size outside what was
/// measured.
Plan plan_by_policy(const CollectivePolicies& policies, const Cluster& cluster, const std::vector<int>& ranks,
                    const PolicyRequest& request);

/// When the last member ends after a common arrival, as far as can be said without simulating.
double predicted_s(const Plan& plan);

/// The time of an operation of `bytes` among `workers`, interpolated on logarithmic scales between the
/// measured ones; nothing outside their range.
std::optional<double> interpolated_s(const std::vector<MeasuredCollective>& measured, int workers,
                                     double bytes);

/// Says which schedule, or which rule, for a heading.
std::string policy_text(const CollectivePolicies& policies, CollectiveOp op);

}  // namespace simsgd
