#include "sim/engine/mailroom.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace simsgd {

namespace {
constexpr std::uint32_t kJitterChannel = 0x8000;  // apart from the channels of collectives
}

Mailroom::Mailroom(const Job& job, Transport& transport, Observer observer)
    : job_(job), transport_(transport), observer_(std::move(observer)) {
  if (job.network.has_jitter()) jitter_ = std::make_unique<JitterTable>(job.network.jitter);
}

std::shared_ptr<SimPending> Mailroom::send(int from, int to, int tag, Message message) {
  message.from = from;
  Box& box = boxes_[{from, to, tag}];
  box.sends.push_back({transport_.now(), std::make_shared<SimPending>(), std::move(message)});
  std::shared_ptr<SimPending> pending = box.sends.back().pending;
  match({from, to, tag}, box);
  return pending;
}

std::shared_ptr<SimPending> Mailroom::receive(int from, int to, int tag) {
  Box& box = boxes_[{from, to, tag}];
  box.receives.push_back({transport_.now(), std::make_shared<SimPending>(), {}});
  std::shared_ptr<SimPending> pending = box.receives.back().pending;
  match({from, to, tag}, box);
  return pending;
}

// From the start of a message to its first byte on the way: host, latency, jitter.
double Mailroom::delay_s(int from, int to, double bytes) {
  const PathCost path = transport_.path(from, to);
  double delay = path.alpha_s + job_.cluster.host.before_s(bytes);
  if (jitter_) {
    const JitterDraws draws{jitter_.get(), job_.seed, kJitterChannel, sent_[{from, to}]++};
    delay += draws.at(static_cast<std::uint32_t>(to), static_cast<std::uint32_t>(from)) * path.jitter_factor;
  }
  return delay;
}

void Mailroom::post(int from, int to, Message message, std::function<void(const Message&)> arrived) {
  const double bytes = message.bytes, posted_s = transport_.now();
  const auto shared = std::make_shared<Message>(std::move(message));
  transport_.message(from, to, bytes, delay_s(from, to, bytes),
                     [this, from, to, shared, bytes, posted_s, arrived = std::move(arrived)] {
                       const double end_s = transport_.now() + job_.cluster.host.after_s(bytes);
                       const auto deliver = [this, from, to, shared, bytes, posted_s, end_s, arrived] {
                         // Signals without bytes are no communication, and there are very many.
                         if (bytes > 0)
                           observer_({from, to, posted_s, posted_s, end_s, bytes, shared->traffic});
                         arrived(*shared);
                       };
                       if (end_s > transport_.now())
                         transport_.at(end_s, deliver);
                       else
                         deliver();
                     });
}

void Mailroom::match(const Address& address, Box& box) {
  if (box.sends.empty() || box.receives.empty()) return;
  const auto [from, to, tag] = address;
  auto send = std::make_shared<Posted>(std::move(box.sends.front()));
  auto receive = std::make_shared<Posted>(std::move(box.receives.front()));
  box.sends.pop_front();
  box.receives.pop_front();
  const double bytes = send->message.bytes;
  transport_.message(
      from, to, bytes, delay_s(from, to, bytes), [this, from = from, to = to, bytes, send, receive] {
        const double end_s = transport_.now() + job_.cluster.host.after_s(bytes);
        const auto deliver = [this, from, to, bytes, end_s, send, receive] {
          observer_({from, to, send->time_s, receive->time_s, end_s, bytes, send->message.traffic});
          receive->pending->message = std::move(send->message);
          send->pending->complete(end_s);
          receive->pending->complete(end_s);
        };
        if (end_s > transport_.now())
          transport_.at(end_s, deliver);
        else
          deliver();
      });
}

std::string Mailroom::unfinished() const {
  std::string text;
  int count = 0;
  for (const auto& [address, box] : boxes_) {
    if (box.sends.empty() && box.receives.empty()) continue;
    if (++count > 8) continue;
    const bool sends = !box.sends.empty();
    text +=
        fmt::format(" Rank {} waits to {} rank {} (tag {}).",
                    sends ? std::get<0>(address) : std::get<1>(address), sends ? "send to" : "receive from",
                    sends ? std::get<1>(address) : std::get<0>(address), std::get<2>(address));
  }
  if (count > 8) text += fmt::format(" And {} more messages without their other side.", count - 8);
  return text;
}

}  // namespace simsgd
