// Concurrent schedules: exchanges between neighbours, all of whose messages are posted when a rank arrives.
//   message k between i and j:  ready at b_k = max(t_i, t_j) + alpha_k (+ jitter)
//   port of i, each direction:  the messages that are ready take turns, so that the last of them ends at
//                               max_k (b_k + sum over l ready no earlier than k of bytes_l beta_l)
//   end of i:                   the later of its two directions, + reduction arithmetic for each received one
// That is when any port that never idles while a message is ready has done its work, fair sharing included.
// Exact where i's own port is what its messages wait for: on equal links where every rank has as many
// messages and all arrive together (tests/engine/exchange.cpp). Where a partner's port is busier the end is
// too early, by less than the time of the messages of that partner.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/collectives/recurrence.hpp"

namespace simsgd {

/// Messages that `rank` sends and receives in all stages.
int messages_of(const Schedule& schedule, std::int32_t rank);

/// A message at one port: when it is ready, and how long it occupies the port.
struct PortMessage {
  double ready_s = 0, transfer_s = 0;
};
/// When a port that is free from `free_s` on has transferred all of `messages`, which it sorts.
double port_end(std::vector<PortMessage>& messages, double free_s);

/// When the messages of `rank` have ended and been added up, if every rank posts its messages at
/// `ready_s(rank)`, which is asked of `rank` and its partners only.
template <class Ready>
double concurrent_end(const std::vector<StageCosts>& stages, const JitterDraws* jitter, std::int32_t rank,
                      Ready ready_s) {
  thread_local std::vector<PortMessage> out, in;
  out.clear();
  in.clear();
  const auto i = static_cast<std::size_t>(rank);
  const double own_s = ready_s(rank);
  double reduce_s = 0;
  const auto add = [&](std::vector<PortMessage>& port, std::size_t s, std::int32_t sender, double partner_s) {
    const auto from = static_cast<std::size_t>(sender);
    double ready = (own_s < partner_s ? partner_s : own_s) + stages[s].alpha_s[from];
    if (jitter)
      ready += jitter->at(static_cast<std::uint32_t>(s), static_cast<std::uint32_t>(sender)) *
               stages[s].jitter_factor(from);
    port.push_back({ready, stages[s].transfer_s[from]});
  };
  for (std::size_t s = 0; s < stages.size(); ++s) {
    const std::int32_t to = stages[s].stage->to[i], from = stages[s].stage->from[i];
    if (to >= 0) add(out, s, rank, ready_s(to));
    if (from < 0) continue;
    add(in, s, from, ready_s(from));
    reduce_s += stages[s].reduce_s;
  }
  const double sent = port_end(out, own_s), received = port_end(in, own_s);
  return (sent < received ? received : sent) + reduce_s;
}

}  // namespace simsgd
