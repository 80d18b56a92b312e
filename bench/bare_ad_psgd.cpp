// AD-PSGD on a ring: while a worker of an even number computes, it exchanges models with a neighbour, which
// answers at once.
#include "bench/bare_programs.hpp"
#include "bench/bare_steps.hpp"
#include "sim/base/random.hpp"

namespace simsgd::bench {

double bare_ad_psgd_s(const Job& job) {
  enum Kind : std::uint32_t { kComputed, kOffered, kAnswers, kAnswered, kHandled };
  const HostCosts& host = job.cluster.host;
  const double bytes = job.workload.model_bytes();
  const std::vector<int>& endpoint = job.cluster.endpoint_of_rank;
  BareLoop loop(job.cluster.network, bytes);
  const auto workers = static_cast<std::uint32_t>(job.workers());
  std::vector<std::uint32_t> step(workers, 0), open(workers, 0);
  const auto send = [&](std::uint32_t kind, std::uint32_t from, std::uint32_t to) {
    const std::uint32_t path = loop.path(endpoint[from], endpoint[to]);
    loop.send(path, loop.latency_s(path) + host.before_s(bytes) + host.message_s, {0, kind, to, from});
  };
  const auto begin_step = [&](std::uint32_t w) {
    const BareStep cost = bare_step(job, w, ++step[w]);
    loop.at({loop.now_s() + cost.delay_s + cost.work_s, kComputed, w});
    open[w] = w % 2 == 0 ? 2 : 1;
    if (w % 2 != 0) return;
    const std::vector<int>& neighbours = job.graph.neighbours[w];
    Stream draws({job.seed, Purpose::algorithm, w, step[w]});
    const std::uint32_t choice = draws.below(static_cast<std::uint32_t>(neighbours.size()));
    send(kOffered, w, static_cast<std::uint32_t>(neighbours[choice]));
  };
  for (std::uint32_t w = 0; w < workers; ++w) begin_step(w);
  std::uint64_t left = job.stop.steps * workers;
  for (BareEvent event; loop.next(event);) {
    const auto [time_s, kind, to, from] = event;
    if (kind == kOffered || kind == kAnswered) {
      loop.at({time_s + host.after_s(bytes), kind + 1, to, from});
    } else if (kind == kAnswers) {
      send(kAnswered, to, from);
    } else if (--open[to] == 0) {
      if (--left == 0) return time_s;
      begin_step(to);
    }
  }
  return loop.now_s();
}

}  // namespace simsgd::bench
