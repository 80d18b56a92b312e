#include "sim/engine/abreast.hpp"

#include <algorithm>
#include <limits>
#include <map>

#include "sim/base/units.hpp"
#include "sim/engine/transport.hpp"

namespace simsgd {

/// The links that operations use which each rank does one after another.
class AbreastLinks {
 public:
  explicit AbreastLinks(const Cluster& cluster) : cluster_(cluster), uses_(cluster.network.links.size()) {}

  /// What each sender's message gets of its links in that stage. Nothing where groups get unequal shares, or
  /// where messages of several places can meet on a link, of this operation or of one before it.
  std::optional<std::vector<double>> shares_Bps(const OfGroups& operation, const Stage& stage);

 private:
  struct Use {
    std::int32_t sender = -1, receiver = -1;
    bool one_sender = true, one_receiver = true;
    int flows = 0;  // in a stage
  };
  const Cluster& cluster_;
  std::vector<Use> uses_;  // of links
};

namespace {

bool costs_the_same(const Plan& a, const Plan& b) {
  const auto same = [](const StageCosts& one, const StageCosts& other) {
    return one.stage->to == other.stage->to && one.stage->repeat == other.stage->repeat &&
           one.stage->bytes == other.stage->bytes && one.alpha_s == other.alpha_s &&
           one.wire_bytes == other.wire_bytes && one.reduce_s == other.reduce_s;
  };
  return a.ranks() == b.ranks() && a.host_before_s() == b.host_before_s() &&
         a.host_after_s() == b.host_after_s() &&
         std::equal(a.stage_costs().begin(), a.stage_costs().end(), b.stage_costs().begin(),
                    b.stage_costs().end(), same);
}

/// Whether the members of each place come to an operation together who start it at their end of `before`.
bool come_together(const OfGroups& before, const OfGroups& operation) {
  if (!before.ends_at_once()) return false;
  std::map<int, std::size_t> group_before;  // by rank
  for (std::size_t g = 0; g < before.ranks.size(); ++g)
    for (const int rank : *before.ranks[g]) group_before[rank] = g;
  const std::vector<int>& first = *operation.ranks.front();
  return std::all_of(operation.ranks.begin(), operation.ranks.end(), [&](const std::vector<int>* ranks) {
    return std::equal(ranks->begin(), ranks->end(), first.begin(), first.end(),
                      [&](int a, int b) { return group_before.at(a) == group_before.at(b); });
  });
}

}  // namespace

std::optional<std::vector<double>> AbreastLinks::shares_Bps(const OfGroups& operation, const Stage& stage) {
  const std::vector<std::int32_t>& to = stage.to;
  std::vector<std::vector<LinkId>> paths;  // by group and sender
  for (const std::vector<int>* ranks : operation.ranks)
    for (std::size_t i = 0; i < to.size(); ++i) {
      std::vector<LinkId>& path = paths.emplace_back();
      if (to[i] < 0) continue;
      const auto endpoint_of = [&](std::size_t place) {
        return cluster_.endpoint_of_rank[static_cast<std::size_t>((*ranks)[place])];
      };
      cluster_.network.route(endpoint_of(i), endpoint_of(static_cast<std::size_t>(to[i])), path);
      for (const LinkId id : path) {
        Use& use = uses_[static_cast<std::size_t>(id)];
        use.one_sender = use.one_sender && (use.sender < 0 || use.sender == static_cast<std::int32_t>(i));
        use.one_receiver = use.one_receiver && (use.receiver < 0 || use.receiver == to[i]);
        use.sender = static_cast<std::int32_t>(i);
        use.receiver = to[i];
        if (!use.one_sender && !use.one_receiver) return std::nullopt;
        ++use.flows;
      }
    }
  std::vector<double> shares(to.size(), 0.0);
  bool even = true;
  for (std::size_t each = 0; each < paths.size(); ++each) {
    double share = std::numeric_limits<double>::infinity();
    for (const LinkId id : paths[each])
      share = std::min(share, cluster_.network.links[static_cast<std::size_t>(id)].bandwidth_Bps /
                                  uses_[static_cast<std::size_t>(id)].flows);
    double& of_place = shares[each % to.size()];
    if (each < to.size()) of_place = share;
    even = even && of_place == share;
  }
  for (const std::vector<LinkId>& path : paths)
    for (const LinkId id : path) uses_[static_cast<std::size_t>(id)].flows = 0;
  return even ? std::optional(shares) : std::nullopt;
}

bool OfGroups::are_recurrences() const {
  return std::all_of(fidelities.begin(), fidelities.end(),
                     [](Fidelity each) { return each == Fidelity::closed || each == Fidelity::steps; }) &&
         std::all_of(plans.begin(), plans.end(),
                     [](const Plan* each) { return each->schedule().all_wait_for_all; });
}

bool OfGroups::ends_at_once() const {
  const auto at_once = [](const Plan* each) {
    const std::vector<double>& ends_s = each->dedicated_ends_s();
    return std::adjacent_find(ends_s.begin(), ends_s.end(), std::not_equal_to<>()) == ends_s.end();
  };
  return are_recurrences() && std::count(fidelities.begin(), fidelities.end(), Fidelity::steps) == 0 &&
         std::all_of(plans.begin(), plans.end(), at_once);
}

void AbreastTiming::ends(const std::vector<double>& arrivals_s, std::vector<double>& ends_s) const {
  ends_s = arrivals_s;
  for (double& time_s : ends_s) time_s += plan_->host_before_s();
  std::uint32_t step = 0;
  for (const Phase& phase : phases_) {
    const StageCosts& costs = phase.costs;
    if (phase.repeats == 0) advance_stage(costs, nullptr, step, ends_s);
    for (std::size_t c = 0; c < phase.cycles_s.size(); ++c) {
      const auto begin = costs.order.begin() + costs.cycle_begin[c],
                 end = costs.order.begin() + costs.cycle_begin[c + 1];
      double last_s = 0;
      for (auto rank = begin; rank != end; ++rank)
        last_s = std::max(last_s, ends_s[static_cast<std::size_t>(*rank)]);
      for (auto rank = begin; rank != end; ++rank)
        ends_s[static_cast<std::size_t>(*rank)] = last_s + phase.cycles_s[c];
    }
  }
  for (double& time_s : ends_s) time_s += plan_->host_after_s();
}

// And counts the events of one group's messages, as ScheduleRun puts them on the agenda.
void AbreastTiming::make_phases(Fidelity fidelity) {
  const auto ranks = static_cast<std::uint64_t>(plan_->ranks());
  events_ = 1 + ranks * (1U + (plan_->host_before_s() > 0 ? 1U : 0U) + (plan_->host_after_s() > 0 ? 1U : 0U));
  const auto count = [this](std::uint64_t messages, double bytes, double reduce_s) {
    events_ += messages * ((bytes > 0 ? 2U : 1U) + (reduce_s > 0 ? 1U : 0U));
  };
  for (const StageCosts& costs : plan_->stage_costs()) {
    const Stage& stage = *costs.stage;
    if (fidelity != Fidelity::flows || stage.repeat == 1 || !costs.permutation) {
      phases_.push_back({.costs = costs});
      const auto messages = stage.to.size() - static_cast<std::size_t>(std::count(
                                                  stage.to.begin(), stage.to.end(), std::int32_t{-1}));
      count(messages * static_cast<std::uint64_t>(stage.repeat), stage.bytes, costs.reduce_s);
      continue;
    }
    if (phases_.empty() || phases_.back().repeats == 0 || phases_.back().costs.stage->to != stage.to)
      phases_.push_back({.costs = costs});
    phases_.back().bytes += stage.bytes * stage.repeat;
    phases_.back().repeats += stage.repeat;
    phases_.back().reduce_s += costs.reduce_s * stage.repeat;
  }
  for (const Phase& phase : phases_) {
    if (phase.repeats == 0) continue;
    count(ranks, phase.bytes, phase.reduce_s);
    events_ += ranks;  // the latencies behind each flow
  }
}

// False: a message is too large.
bool AbreastTiming::share(Phase& phase, const std::vector<double>& shares_Bps) {
  StageCosts& costs = phase.costs;
  std::vector<double> transfer_s(costs.alpha_s.size(), 0.0);
  for (std::size_t i = 0; i < transfer_s.size(); ++i) {
    if (costs.stage->to[i] < 0) continue;
    double bytes = costs.wire(i);
    if (phase.repeats > 0 && costs.stage->bytes > 0) bytes *= phase.bytes / costs.stage->bytes;
    if (bytes > kLargestFlow_bytes) return false;
    transfer_s[i] = Transport::whole_units(std::max(0.0, bytes)) / shares_Bps[i];
  }
  costs = make_stage_costs(*costs.stage, costs.alpha_s, std::move(transfer_s), costs.reduce_s);
  for (std::size_t c = 0; phase.repeats > 0 && c + 1 < costs.cycle_begin.size(); ++c) {
    double& longest_s = phase.cycles_s.emplace_back(0.0);
    for (std::int32_t k = costs.cycle_begin[c]; k < costs.cycle_begin[c + 1]; ++k) {
      const auto sender = static_cast<std::size_t>(costs.order[static_cast<std::size_t>(k)]);
      longest_s =
          std::max(longest_s, costs.message_s(sender) + (phase.repeats - 1) * costs.latency_s(sender));
    }
    longest_s += phase.reduce_s;
  }
  return true;
}

std::optional<AbreastTiming> AbreastTiming::make(AbreastLinks& links, const OfGroups& operation) {
  const Plan& first = *operation.plans.front();
  const Fidelity fidelity = operation.fidelities.front();
  if (first.schedule().concurrent || first.schedule().together || !first.schedule().all_wait_for_all ||
      first.measured_s() || (fidelity != Fidelity::messages && fidelity != Fidelity::flows))
    return std::nullopt;
  for (std::size_t g = 0; g < operation.plans.size(); ++g)
    if (operation.fidelities[g] != fidelity || !costs_the_same(*operation.plans[g], first))
      return std::nullopt;
  AbreastTiming timing;
  timing.plan_ = &first;
  timing.make_phases(fidelity);
  for (Phase& phase : timing.phases_) {
    const std::optional<std::vector<double>> shares = links.shares_Bps(operation, *phase.costs.stage);
    if (!shares || !share(phase, *shares)) return std::nullopt;
  }
  return timing;
}

std::optional<AbreastTimings> time_abreast(const Cluster& cluster, const StepTrace& trace,
                                           const std::vector<OfGroups>& operations) {
  AbreastTimings timings(operations.size());
  AbreastLinks links(cluster);
  std::optional<std::pair<GroupId, ChannelId>> one_after_another;
  for (const StepTrace::Actions* actions : {&trace.steps.first, &trace.steps.others, &trace.steps.after}) {
    std::vector<std::size_t> started;
    for (const StepTrace::Action& action : *actions) {
      if (!action.starts()) continue;
      const OfGroups& operation = operations[action.index];
      if (!operation.are_recurrences()) {
        const CollectiveOptions& options = options_of(trace.operations[action.index]);
        const std::pair channel(options.group, options.channel);
        if (cluster.network.between.burst_bytes > 0 || one_after_another.value_or(channel) != channel ||
            action.kind != StepTrace::Action::Kind::start_after ||
            !come_together(operations[started[started.size() - action.index2]], operation))
          return std::nullopt;
        one_after_another = channel;
        if (!timings[action.index]) timings[action.index] = AbreastTiming::make(links, operation);
        if (!timings[action.index]) return std::nullopt;
      }
      started.push_back(action.index);
    }
  }
  return timings;
}

}  // namespace simsgd
