// gTop-k: in every step a worker computes, chooses entries and merges them with those of others, in a tree to
// worker 0 and back. Where no two messages meet, a step is a pass over its merges.
#include <algorithm>

#include "bench/bare_merges.hpp"
#include "bench/bare_programs.hpp"
#include "bench/bare_steps.hpp"

namespace simsgd::bench {

namespace {

double before_merges_s(const Job& job, const BareMerges& all, std::uint32_t worker, std::uint64_t step) {
  const BareStep cost = bare_step(job, worker, step);
  return cost.delay_s + cost.work_s + all.before_s[worker];
}

double end_where_none_meet_s(const Job& job, const BareMerges& all) {
  std::vector<double> time_s(all.before_s.size(), 0.0);
  for (std::uint64_t step = 1; step <= job.stop.steps; ++step) {
    for (std::uint32_t w = 0; w < time_s.size(); ++w) time_s[w] += before_merges_s(job, all, w, step);
    for (const auto& [from, to, message_s, merge_s] : all.merges) {
      time_s[from] = std::max(time_s[from], time_s[to]) + message_s;
      time_s[to] = time_s[from] + merge_s;
    }
    for (double& each : time_s) each += all.after_s;
  }
  return *std::max_element(time_s.begin(), time_s.end());
}

double end_where_they_meet_s(const Job& job, const BareMerges& all) {
  enum Kind : std::uint32_t { kReady, kMessage };
  struct Member {
    std::uint64_t step = 0;
    std::vector<std::uint32_t> merges;
    std::size_t next = 0;  // of these
  };
  BareLoop loop(job.cluster.network, all.message_bytes);
  const std::vector<int>& endpoint = job.cluster.endpoint_of_rank;
  std::vector<Member> members(all.before_s.size());
  std::vector<std::uint32_t> paths;  // by merge
  for (const BareMerge& merge : all.merges) {
    for (const std::uint32_t w : {merge.from, merge.to})
      members[w].merges.push_back(static_cast<std::uint32_t>(paths.size()));
    paths.push_back(loop.path(endpoint[merge.from], endpoint[merge.to]));
  }
  std::vector<bool> one_is_there(all.merges.size());
  double last_s = 0;
  const auto begin_step = [&](std::uint32_t w, double now_s) {
    last_s = std::max(last_s, now_s);
    members[w].next = 0;
    if (members[w].step++ == job.stop.steps) return;
    loop.at({now_s + before_merges_s(job, all, w, members[w].step), kReady, w});
  };
  const auto go_on = [&](std::uint32_t w) {
    Member& member = members[w];
    if (member.next == member.merges.size()) return begin_step(w, loop.now_s() + all.after_s);
    const std::uint32_t merge = member.merges[member.next++], path = paths[merge];
    one_is_there[merge] = !one_is_there[merge];
    if (!one_is_there[merge])
      loop.send(path, loop.latency_s(path) + job.cluster.host.message_s, {0, kMessage, merge});
  };
  for (std::uint32_t w = 0; w < members.size(); ++w) begin_step(w, 0);
  for (BareEvent event; loop.next(event);) {
    if (event.kind == kReady) {
      go_on(event.a);
    } else {
      const BareMerge& merge = all.merges[event.a];
      go_on(merge.from);
      loop.at({loop.now_s() + merge.merge_s, kReady, merge.to});
    }
  }
  return last_s;
}

}  // namespace

double bare_gtopk_s(const Job& job) {
  const BareMerges all = bare_merges(job);
  return all.any_meet ? end_where_they_meet_s(job, all) : end_where_none_meet_s(job, all);
}

}  // namespace simsgd::bench
