// A plan: a schedule placed on a cluster. It knows the cost of each message, which links carry what, and
// therefore how exactly each fidelity can cost it. Made once per (group, schedule, bytes, root) and used for
// every such operation.
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "sim/cluster/cluster.hpp"
#include "sim/collectives/operation.hpp"
#include "sim/collectives/recurrence.hpp"
#include "sim/collectives/schedule.hpp"

namespace simsgd {

/// How many consecutive members of a group share a node; 0 if that differs between nodes.
int ranks_per_node(const Cluster& cluster, const std::vector<int>& ranks);

/// Whether flows of one operation meet on a link, which decides what is exact.
struct SharingAnalysis {
  /// No link can ever carry two messages of this operation at once; of a concurrent schedule: no link carries
  /// messages of two senders to two receivers, so that ranks share no link but their own.
  bool dedicated = true;
  bool equal_links = true;  ///< in each stage all messages cost the same
  bool equal_shares =
      true;            ///< in each stage all messages get the same max-min share of their narrowest link
  int most_flows = 1;  ///< on the busiest link, in one stage
};

/// What a communication library adds to the messages of a schedule.
struct LibraryCosts {
  double launch_s = 0;           ///< per operation and worker, beside the host's
  double step_latency_s = 0;     ///< to each message
  double between_latency_s = 0;  ///< to each message between nodes, beside that
  /// A block that travels around a ring meets each hop's latency once; else a step takes its longest.
  bool pipelined = false;
  double bandwidth_share = 1;     ///< payload's part of the bytes on the links
  double between_share = 1;       ///< the same between nodes
  double payload_s_per_byte = 0;  ///< of the whole vector, once per operation and worker
  double part_s_per_byte = 0;     ///< of one worker's part of it, beside that
  /// What a block's threads take of a message that fills them (`filled_bytes`), and of a larger one: its
  /// links take no less. Of a smaller one in proportion, as is what an operation takes once
  /// (`filled_launch_s`).
  double filled_message_s = 0, filled_launch_s = 0, filled_bytes = 0;
  double rank_s = 0;  ///< per worker that takes part
  int nics =
      1;  ///< of a node, over which a message between nodes is spread: as many as have a GPU of the group
  double piece_bytes = 0;  ///< that a network passes on at once, of schedules that pipeline
  double floor_s = 0;      ///< the least time of an operation: one that would take less begins so much later
  /// The whole operation as it was measured: then the schedule only says who sends how much.
  std::optional<double> measured_s;
};

/// Whether the ranks of an operation compute while it is on its way.
enum class Beside : std::uint8_t { nothing, computing };

struct FidelityChoice {
  Fidelity fidelity = Fidelity::closed;
  bool exact = true;
  std::string reason;
  bool if_together = false;  ///< then it is exact only where all ranks arrive at once
};

class Plan {
 public:
  /// `ranks` are the members of the group, in order; the schedule is for as many.
  /// The payload is gathered from `tensors` (host costs).
  Plan(Schedule schedule, const Cluster& cluster, const std::vector<int>& ranks, double payload_bytes,
       int tensors = 1, const LibraryCosts& library = {}, const CodingTimes& coding = {});

  const Schedule& schedule() const { return schedule_; }
  int ranks() const { return schedule_.ranks; }
  const StageCosts& stage(std::size_t s) const { return stages_[s]; }
  std::size_t stages() const { return stages_.size(); }
  const std::vector<StageCosts>& stage_costs() const { return stages_; }
  const SharingAnalysis& sharing() const { return sharing_; }

  /// Host time of each rank before its first and after its last stage.
  double host_before_s() const { return host_before_s_; }
  double host_after_s() const { return host_after_s_; }
  /// Between the two, from the last arrival on, where the operation was measured as a whole.
  const std::optional<double>& measured_s() const { return library_.measured_s; }

  /// Time from a common arrival to the last end without contention, host time included: the closed form.
  double dedicated_time_s() const { return dedicated_time_s_; }
  /// Time from a common arrival to each rank's end, likewise.
  const std::vector<double>& dedicated_ends_s() const { return dedicated_ends_s_; }
  /// An estimate that shares each link evenly among the messages of a stage: for predictions, not for
  /// results.
  double contended_time_s() const { return contended_time_s_; }

  /// Bytes that each link carries in one operation, as (link, bytes); and what each rank sends.
  const std::vector<std::pair<LinkId, double>>& link_bytes() const { return link_bytes_; }
  const std::vector<double>& bytes_sent() const { return bytes_sent_; }

  /// The fastest fidelity that is exact here, or what can be said of the one asked for.
  FidelityChoice choose(Fidelity asked, bool jitter, Beside beside = Beside::nothing) const;

  /// End of every rank from its arrival, host time included. `jitter` may be null. `steps` fidelity.
  void ends_by_steps(const std::vector<double>& arrivals, const JitterDraws* jitter,
                     std::vector<double>& ends) const;
  /// The same by the closed form; for schedules in which all wait for all.
  void ends_by_closed_form(const std::vector<double>& arrivals, std::vector<double>& ends) const;

 private:
  static constexpr std::int64_t kFewMessages = 256;  // are simulated one by one

  double wire_bytes(double bytes, bool between) const {
    return bytes / (between ? library_.between_share * nics_ : library_.bandwidth_share);
  }
  double filled(double bytes) const {
    return library_.filled_bytes > 0 ? std::min(1.0, bytes / library_.filled_bytes) : 0;
  }
  void keep_floor();
  void cost_stages(const Cluster& cluster, const std::vector<int>& ranks);
  void find_buckets(const Cluster& cluster, const std::vector<int>& ranks);
  void analyse_links(const Cluster& cluster, const std::vector<int>& ranks);
  void analyse_concurrent_links(const Cluster& cluster, const std::vector<int>& ranks);
  FidelityChoice choose_automatically(bool jitter) const;
  FidelityChoice choose_for_concurrent(bool jitter) const;
  FidelityChoice choose_beside_computing(Fidelity asked) const;
  FidelityChoice choose_with_buckets(Fidelity asked) const;
  bool aggregates() const;  ///< at `flows`
  std::string doubt_about_ports() const;
  /// Whether workers outside the group, on its nodes, may use its links at once: each operation is timed by
  /// itself at `closed` and `steps`.
  bool crossed_by_others(const Cluster& cluster, const std::vector<int>& ranks) const;
  bool is_alone() const { return sharing_.dedicated && !meets_others_; }
  std::string who_shares() const;

  Schedule schedule_;
  LibraryCosts library_;
  int nics_ = 1;  ///< that a message between nodes is spread over
  std::vector<StageCosts> stages_;
  SharingAnalysis sharing_;
  bool meets_others_ = false;  // crossed_by_others()
  bool interferes_ = false;    // computing slows links that it uses
  TokenBucket bucket_;         // of NICs that it sends through
  int buckets_ = 0;
  double host_before_s_ = 0, host_after_s_ = 0;
  double dedicated_time_s_ = 0, contended_time_s_ = 0;
  std::vector<double> dedicated_ends_s_;
  std::vector<std::pair<LinkId, double>> link_bytes_;
  std::vector<double> bytes_sent_;
};

/// What a plan is for, beside ranks and machines: the operation, its schedule, bytes, root and tensors, and
/// what coding takes.
using PlanKey = std::tuple<CollectiveOp, std::string, double, int, int, CodingTimes>;
/// Of all ranks of the same machines.
using KnownPlans = std::map<PlanKey, std::shared_ptr<const Plan>>;

}  // namespace simsgd
