#include "sim/collectives/plan.hpp"

#include <fmt/format.h>

#include <map>

#include "sim/base/check.hpp"
#include "sim/collectives/concurrent.hpp"
#include "sim/collectives/plan_turns.hpp"

namespace simsgd {

namespace {

// What is known of one link while the messages of a schedule are gone through.
struct LinkUse {
  std::int32_t sender = -1, receiver = -1;  // of all messages so far
  bool one_sender = true, one_receiver = true;
  int flows_now = 0;  // in the stage being gone through
  int most_flows = 0;
  double bytes = 0;
};

const char* const kOthers = "other GPUs of its nodes may send over the same links at once";

// Of a ring whose ranks do not wait for its slowest hop: over the steps a block meets the latency of every
// hop but one, of which each step takes its share. The hop left out is the longest: NCCL's tuning model
// counts N - 1 of N hops between nodes in a round (ncclTopoTuneModel: nInterSteps), and its latencies go with
// that.
void share_latencies(const Stage& stage, std::vector<double>& alpha) {
  std::vector<char> seen(alpha.size(), 0);
  for (std::size_t start = 0; start < alpha.size(); ++start) {
    double sum_s = 0, longest_s = 0;
    std::vector<std::size_t> cycle;
    for (std::size_t at = start; !seen[at]; at = static_cast<std::size_t>(stage.to[at])) {
      seen[at] = 1;
      cycle.push_back(at);
      sum_s += alpha[at];
      longest_s = std::max(longest_s, alpha[at]);
    }
    for (const std::size_t at : cycle)
      alpha[at] = (sum_s - longest_s) / static_cast<double>(cycle.size() - 1);
  }
}

}  // namespace

int ranks_per_node(const Cluster& cluster, const std::vector<int>& ranks) {
  int first_run = 0, run = 0;
  for (std::size_t i = 0; i <= ranks.size(); ++i) {
    const bool continues =
        i > 0 && i < ranks.size() && cluster.node_of_rank(ranks[i]) == cluster.node_of_rank(ranks[i - 1]);
    if (i == 0 || continues) {
      ++run;
      continue;
    }
    if (first_run == 0) first_run = run;
    if (run != first_run) return 0;
    run = 1;
  }
  return first_run;
}

Plan::Plan(Schedule schedule, const Cluster& cluster, const std::vector<int>& ranks, double payload_bytes,
           int tensors, const LibraryCosts& library, const CodingTimes& coding)
    : schedule_(std::move(schedule)), library_(library) {
  CHECK(schedule_.ranks == static_cast<int>(ranks.size()), "a schedule was made for another number of ranks");
  const auto ranks_of_group = static_cast<double>(ranks.size());
  const bool moves = ranks.size() > 1 && schedule_.messages() > 0;
  host_before_s_ = moves ? cluster.host.before_s(payload_bytes, tensors) : 0;
  host_after_s_ = moves ? cluster.host.after_s(payload_bytes, tensors) : 0;
  if (library_.measured_s) {
    // Its launch is in what was measured; nobody was late then.
    if (moves) host_before_s_ -= cluster.host.launch_s;
    schedule_.together = schedule_.all_wait_for_all = schedule_.ends_together = true;
  } else if (moves) {
    host_before_s_ += library_.launch_s + library_.rank_s * ranks_of_group;
    host_after_s_ += payload_bytes * library_.payload_s_per_byte +
                     payload_bytes / ranks_of_group * library_.part_s_per_byte;
  }
  if (moves) host_before_s_ += coding.before_s;
  if (moves) host_after_s_ += coding.after_s;
  if (library_.nics > 1) nics_ = std::clamp(ranks_per_node(cluster, ranks), 1, library_.nics);
  cost_stages(cluster, ranks);
  if (cluster.network.between.burst_bytes > 0) find_buckets(cluster, ranks);
  if (schedule_.concurrent)
    analyse_concurrent_links(cluster, ranks);
  else
    analyse_links(cluster, ranks);
  meets_others_ = crossed_by_others(cluster, ranks);
  const double left = cluster.device.communication_share.value_or(1);
  interferes_ = left < 1 && std::any_of(link_bytes_.begin(), link_bytes_.end(), [&](const auto& used) {
                  const Network& network = cluster.network;
                  const Link& link = network.links[static_cast<std::size_t>(used.first)];
                  return network.gpu_beside(link) >= 0 && network.share_beside(link, left) < 1;
                });
  dedicated_ends_s_.assign(ranks.size(), 0.0);
  ends_by_steps(std::vector<double>(ranks.size(), 0.0), nullptr, dedicated_ends_s_);
  dedicated_time_s_ =
      ranks.empty() ? 0 : *std::max_element(dedicated_ends_s_.begin(), dedicated_ends_s_.end());
  keep_floor();
}

void Plan::keep_floor() {
  const double predicted = sharing_.dedicated ? dedicated_time_s_ : contended_time_s_;
  const double extra = library_.floor_s - predicted;
  if (library_.measured_s || ranks() < 2 || !(extra > 0)) return;
  host_before_s_ += extra;
  dedicated_time_s_ += extra;
  contended_time_s_ += extra;
  for (double& end : dedicated_ends_s_) end += extra;
}

void Plan::cost_stages(const Cluster& cluster, const std::vector<int>& ranks) {
  bytes_sent_.assign(ranks.size(), 0.0);
  if (schedule_.sent_bytes.size() == ranks.size()) bytes_sent_ = schedule_.sent_bytes;
  double fullest = 0;
  for (const Stage& stage : schedule_.stages) {
    std::vector<double> alpha(ranks.size(), 0.0), transfer(ranks.size(), 0.0), jitter(ranks.size(), 1.0),
        wire(ranks.size(), stage.bytes);
    for (std::size_t i = 0; i < ranks.size(); ++i) {
      if (stage.to[i] < 0) continue;
      const auto receiver = static_cast<std::size_t>(ranks[static_cast<std::size_t>(stage.to[i])]);
      const int from = cluster.endpoint_of_rank[static_cast<std::size_t>(ranks[i])],
                to = cluster.endpoint_of_rank[receiver];
      const bool between = !cluster.network.same_node(from, to);
      const PathCost path = cluster.network.sized_cost(from, to, wire_bytes(stage.bytes, between));
      alpha[i] = path.alpha_s + library_.step_latency_s + (between ? library_.between_latency_s : 0) +
                 cluster.host.message_s;
      if (!stage.pays_latency)  // only what its size adds
        alpha[i] = std::max(0.0, path.alpha_s - cluster.network.sized_cost(from, to, 0).alpha_s);
      wire[i] = path.wire_bytes;
      transfer[i] = path.wire_bytes * path.beta_s_per_byte;
      jitter[i] = stage.pays_latency ? path.jitter_factor : 0;
      if (schedule_.sent_bytes.empty()) bytes_sent_[i] += (stage.bytes + stage.beside_bytes) * stage.repeat;
    }
    if (stage.pays_latency) {
      const double links_s = *std::max_element(transfer.begin(), transfer.end()),
                   block_s = library_.filled_message_s * filled(stage.bytes);
      host_after_s_ += static_cast<double>(stage.repeat) * std::max(0.0, block_s - links_s);
      fullest = std::max(fullest, filled(stage.bytes));
    }
    if (library_.pipelined && stage.repeat > 1 &&
        std::find(stage.to.begin(), stage.to.end(), -1) == stage.to.end())
      share_latencies(stage, alpha);
    stages_.push_back(
        make_stage_costs(stage, std::move(alpha), std::move(transfer),
                         stage.reduce_bytes * cluster.host.reduce_s_per_byte + stage.receive_s));
    if (std::any_of(wire.begin(), wire.end(), [&stage](double bytes) { return bytes != stage.bytes; }))
      stages_.back().wire_bytes = std::move(wire);
    if (std::any_of(jitter.begin(), jitter.end(), [](double factor) { return factor != 1; }))
      stages_.back().jitter_factors = std::move(jitter);
    sharing_.equal_links = sharing_.equal_links && stages_.back().uniform;
  }
  host_before_s_ += library_.filled_launch_s * fullest;
}

void Plan::analyse_links(const Cluster& cluster, const std::vector<int>& ranks) {
  std::vector<LinkUse> uses(cluster.network.links.size());
  std::vector<std::vector<LinkId>> paths(ranks.size());
  double contended = 0;
  for (std::size_t s = 0; s < stages_.size(); ++s) {
    const Stage& stage = schedule_.stages[s];
    for (std::size_t i = 0; i < ranks.size(); ++i) {
      paths[i].clear();
      if (stage.to[i] < 0) continue;
      const int receiver = ranks[static_cast<std::size_t>(stage.to[i])];
      cluster.network.route(cluster.endpoint_of_rank[static_cast<std::size_t>(ranks[i])],
                            cluster.endpoint_of_rank[static_cast<std::size_t>(receiver)], paths[i]);
      for (const LinkId id : paths[i]) {
        LinkUse& use = uses[static_cast<std::size_t>(id)];
        use.one_sender = use.one_sender && (use.sender < 0 || use.sender == static_cast<std::int32_t>(i));
        use.one_receiver = use.one_receiver && (use.receiver < 0 || use.receiver == stage.to[i]);
        use.sender = static_cast<std::int32_t>(i);
        use.receiver = stage.to[i];
        use.most_flows = std::max(use.most_flows, ++use.flows_now);
        use.bytes += (stages_[s].wire(i) + wire_bytes(stage.beside_bytes, false)) * stage.repeat;
      }
    }
    // Even shares: what each message gets if the messages on a link divide it.
    double least = std::numeric_limits<double>::infinity(), most = 0, slowest = 0;
    for (std::size_t i = 0; i < ranks.size(); ++i) {
      if (paths[i].empty()) continue;
      double share = std::numeric_limits<double>::infinity();
      for (const LinkId id : paths[i])
        share = std::min(share, cluster.network.links[static_cast<std::size_t>(id)].bandwidth_Bps /
                                    uses[static_cast<std::size_t>(id)].flows_now);
      least = std::min(least, share);
      most = std::max(most, share);
      slowest = std::max(slowest, stages_[s].shared_message_s(i, share));
    }
    if (most > least * (1 + 1e-12))
      sharing_.equal_shares = false;
    else if (buckets_ == 0 && stages_[s].is_alike())
      stages_[s].even_share_Bps = least;
    contended += stage.repeat * (slowest + stages_[s].reduce_s);
    for (const std::vector<LinkId>& path : paths)
      for (const LinkId id : path) uses[static_cast<std::size_t>(id)].flows_now = 0;
  }
  contended_time_s_ = host_before_s_ + library_.measured_s.value_or(contended) + host_after_s_;
  std::vector<LinkId> handed_on;
  for (std::size_t id = 0; id < uses.size(); ++id) {
    const LinkUse& use = uses[id];
    if (use.sender < 0) continue;
    sharing_.most_flows = std::max(sharing_.most_flows, use.most_flows);
    // One sender, or one receiver, does its messages one after another; anything else can meet, unless it
    // waits for the other.
    if (use.most_flows > 1 || (!use.one_sender && !use.one_receiver)) sharing_.dedicated = false;
    link_bytes_.emplace_back(static_cast<LinkId>(id), use.bytes);
    if (!use.one_sender && !use.one_receiver) handed_on.push_back(static_cast<LinkId>(id));
  }
  if (!sharing_.dedicated && sharing_.most_flows == 1)
    sharing_.dedicated = take_turns(schedule_, cluster, ranks, handed_on);
}

bool Plan::crossed_by_others(const Cluster& cluster, const std::vector<int>& ranks) const {
  if (static_cast<int>(ranks.size()) == cluster.workers() || schedule_.messages() == 0) return false;
  std::vector<std::vector<int>> others(static_cast<std::size_t>(cluster.nodes));  // ranks of each node
  std::vector<char> is_member(cluster.endpoint_of_rank.size(), 0), has_members(others.size(), 0);
  for (const int rank : ranks) {
    is_member[static_cast<std::size_t>(rank)] = 1;
    has_members[static_cast<std::size_t>(cluster.node_of_rank(rank))] = 1;
  }
  for (int rank = 0; rank < cluster.workers(); ++rank)
    if (is_member[static_cast<std::size_t>(rank)] == 0)
      others[static_cast<std::size_t>(cluster.node_of_rank(rank))].push_back(rank);
  std::vector<LinkId> crossed;
  const auto both_ways = [&](int a, int b) {
    const int from = cluster.endpoint_of_rank[static_cast<std::size_t>(a)],
              to = cluster.endpoint_of_rank[static_cast<std::size_t>(b)];
    cluster.network.route(from, to, crossed);
    cluster.network.route(to, from, crossed);
  };
  const auto on_another = [&](std::size_t node) {
    for (std::size_t n = 0; n < others.size(); ++n)
      if (n != node && !others[n].empty()) return others[n].front();
    return -1;
  };
  for (std::size_t node = 0; node < others.size(); ++node) {
    if (has_members[node] == 0) continue;
    const int far = others[node].empty() ? -1 : on_another(node);
    for (std::size_t i = 0; i < others[node].size(); ++i) {
      if (i > 0) both_ways(others[node][i - 1], others[node][i]);
      if (far >= 0) both_ways(others[node][i], far);
    }
  }
  std::sort(crossed.begin(), crossed.end());
  return std::any_of(link_bytes_.begin(), link_bytes_.end(), [&crossed](const auto& used) {
    return std::binary_search(crossed.begin(), crossed.end(), used.first);
  });
}

FidelityChoice Plan::choose(Fidelity asked, bool jitter, Beside beside) const {
  if (interferes_ && beside == Beside::computing) return choose_beside_computing(asked);
  if (buckets_ > 0 && !library_.measured_s) return choose_with_buckets(asked);
  if (library_.measured_s) return {Fidelity::closed, true, "measured: one time at every fidelity"};
  if (asked == Fidelity::automatic) return choose_automatically(jitter);
  FidelityChoice choice{asked, true, "asked for"};
  const auto inexact = [&choice](const std::string& why) {
    choice.exact = false;
    choice.reason = "asked for, but approximate: " + why;
  };
  const auto if_together = [&choice] {
    choice.if_together = true;
    choice.reason = "asked for; exact when all arrive together";
  };
  const std::string sharing = fmt::format("up to {} messages share a link", sharing_.most_flows);
  switch (asked) {
    case Fidelity::closed:
      if (!sharing_.dedicated)
        inexact(sharing);
      else if (meets_others_)
        inexact(kOthers);
      else if (jitter)
        inexact("latencies jitter");
      else if (schedule_.together) {
        if (const std::string doubt = doubt_about_ports(); !doubt.empty()) inexact(doubt);
      } else if (!sharing_.equal_links)
        inexact("links are unequal");
      else if (!schedule_.ends_together)
        if_together();
      break;
    case Fidelity::steps:
      if (!sharing_.dedicated)
        inexact(sharing);
      else if (meets_others_)
        inexact(kOthers);
      else if (const std::string doubt = doubt_about_ports(); !doubt.empty())
        inexact(doubt);
      break;
    case Fidelity::flows:
      if (jitter)
        inexact("latencies jitter");
      else if (aggregates() && !sharing_.equal_shares)
        inexact("links or shares are unequal");
      else if (aggregates() && !sharing_.dedicated)
        if_together();
      break;
    default:
      break;
  }
  return choice;
}

FidelityChoice Plan::choose_automatically(bool jitter) const {
  if (schedule_.ranks == 1) return {Fidelity::closed, true, "one rank"};
  if (schedule_.concurrent) return choose_for_concurrent(jitter);
  if (is_alone() && schedule_.together && !jitter)
    return {Fidelity::closed, true, "no link carries two messages at once; all begin together"};
  if (is_alone() && sharing_.equal_links && schedule_.ends_together && !jitter)
    return {Fidelity::closed, true, "dedicated, equal links: the closed form holds for any arrival"};
  if (is_alone())
    return {Fidelity::steps, true,
            jitter                  ? "no link carries two messages at once; latencies jitter"
            : !sharing_.equal_links ? "no link carries two messages at once; links are unequal"
                                    : "no link carries two messages at once; ends depend on arrivals"};
  const std::string shared = who_shares();
  if (schedule_.messages() <= kFewMessages) return {Fidelity::messages, true, shared};
  if (!aggregates() && !jitter) return {Fidelity::flows, true, shared + "; every stage happens once"};
  return {
      Fidelity::flows, false,
      shared +
          fmt::format(
              "; {} messages are too many one by one, so each ring's are aggregated: exact when all arrive together{}",
              schedule_.messages(), sharing_.equal_shares ? "" : " and one link is the bottleneck")};
}

std::string Plan::who_shares() const {
  return sharing_.dedicated ? kOthers : fmt::format("up to {} messages share a link", sharing_.most_flows);
}

bool Plan::aggregates() const {
  return std::any_of(schedule_.stages.begin(), schedule_.stages.end(),
                     [](const Stage& stage) { return stage.repeat > 1; });
}

// Its links are slower while their GPUs compute: only what SimGrid carries sees that.
FidelityChoice Plan::choose_beside_computing(Fidelity asked) const {
  const std::string why = "GPU links are slower while their GPUs compute";
  if (library_.measured_s)
    return {Fidelity::closed, false,
            "measured without computing at the same time, which is assumed to cost nothing"};
  if (asked == Fidelity::messages) return {asked, true, "asked for"};
  if (asked == Fidelity::closed || asked == Fidelity::steps)
    return {asked, false, "asked for, but approximate: " + why};
  const bool by_itself = asked == Fidelity::automatic;
  if (by_itself && schedule_.messages() <= kFewMessages) return {Fidelity::messages, true, why};
  if (!aggregates())
    return {Fidelity::flows, true, (by_itself ? why : "asked for") + "; every stage happens once"};
  return {
      Fidelity::flows, false,
      fmt::format(
          "{}; {} messages are aggregated: exact when all arrive together and one link is the bottleneck all the time",
          (by_itself ? "" : "asked for, but approximate: ") + why, schedule_.messages())};
}

void Plan::ends_by_steps(const std::vector<double>& arrivals, const JitterDraws* jitter,
                         std::vector<double>& ends) const {
  ends = arrivals;
  if (schedule_.together && !ends.empty())
    std::fill(ends.begin(), ends.end(), *std::max_element(arrivals.begin(), arrivals.end()));
  for (double& time : ends) time += host_before_s_ + library_.measured_s.value_or(0);
  if (library_.measured_s) {
    // No message of its schedule is timed.
  } else if (schedule_.concurrent) {
    const std::vector<double> ready = ends;
    for (std::size_t i = 0; i < ends.size(); ++i)
      ends[i] = concurrent_end(stages_, jitter, static_cast<std::int32_t>(i),
                               [&ready](std::int32_t rank) { return ready[static_cast<std::size_t>(rank)]; });
  } else {
    std::uint32_t step = 0;
    std::vector<BucketLevel> levels(static_cast<std::size_t>(buckets_), BucketLevel(bucket_));
    for (const StageCosts& costs : stages_) advance_stage(costs, jitter, step, ends, levels);
  }
  for (double& time : ends) time += host_after_s_;
}

void Plan::ends_by_closed_form(const std::vector<double>& arrivals, std::vector<double>& ends) const {
  const double last = *std::max_element(arrivals.begin(), arrivals.end());
  ends.resize(arrivals.size());
  for (std::size_t i = 0; i < ends.size(); ++i) ends[i] = last + dedicated_ends_s_[i];
}

// What a plan knows of the token buckets of the NICs that it sends through.

void Plan::find_buckets(const Cluster& cluster, const std::vector<int>& ranks) {
  bucket_ = cluster.network.between.bucket();
  std::map<LinkId, std::int32_t> found;
  for (std::size_t s = 0; s < stages_.size(); ++s) {
    std::vector<std::int32_t> of_sender(ranks.size(), -1);
    for (std::size_t i = 0; i < ranks.size(); ++i) {
      const std::int32_t receiver = schedule_.stages[s].to[i];
      if (receiver < 0) continue;
      const int from = cluster.endpoint_of_rank[static_cast<std::size_t>(ranks[i])];
      const auto to_rank = static_cast<std::size_t>(ranks[static_cast<std::size_t>(receiver)]);
      const int to = cluster.endpoint_of_rank[to_rank];
      if (cluster.network.has_bucket(from, to))
        of_sender[i] =
            found.try_emplace(cluster.network.bucket_link(from, to), std::ssize(found)).first->second;
    }
    if (std::all_of(of_sender.begin(), of_sender.end(), [](std::int32_t each) { return each < 0; })) continue;
    stages_[s].buckets = std::move(of_sender);
    stages_[s].bucket = bucket_;
  }
  buckets_ = static_cast<int>(found.size());
}

// What they hold when an operation begins depends on what was sent before it: only messages one by one see
// that.
FidelityChoice Plan::choose_with_buckets(Fidelity asked) const {
  const std::string why = "NICs have token buckets";
  const std::string full = ", taken to be full when an operation begins";
  const std::string doubt = asked == Fidelity::automatic ? "" : "asked for, but approximate: ";
  if (asked == Fidelity::messages) return {asked, true, "asked for"};
  if (asked == Fidelity::automatic && schedule_.messages() <= kFewMessages)
    return {Fidelity::messages, true, why};
  if (asked == Fidelity::automatic && sharing_.dedicated) return {Fidelity::steps, false, why + full};
  if (asked == Fidelity::closed || asked == Fidelity::steps) return {asked, false, doubt + why + full};
  if (!aggregates()) return {Fidelity::flows, true, why + "; every stage happens once"};
  return {Fidelity::flows, false, doubt + why + ", and a ring's messages are aggregated"};
}

}  // namespace simsgd
