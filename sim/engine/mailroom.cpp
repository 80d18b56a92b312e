#include "sim/engine/mailroom.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace simsgd {

namespace {
constexpr std::uint32_t kJitterChannel = 0x8000;  // apart from the channels of collectives
}  // namespace

Mailroom::Mailroom(const Job& job, Transport& transport, const Observers& observers)
    : job_(job), transport_(transport), observers_(observers) {
  if (job.network.has_jitter()) jitter_ = std::make_unique<JitterTable>(job.network.jitter);
}

Handle<Nothing> Mailroom::send(int from, int to, int tag, Message message) {
  message.from = from;
  Box& box = boxes_[{from, to, tag}];
  const Handle<Nothing> handle = Handle<Nothing>::make();
  handle.pending()->channel = kMessageChannel;
  box.sends.push_back({transport_.now(), handle, std::move(message)});
  match({from, to, tag}, box);
  return handle;
}

Handle<Message> Mailroom::receive(int from, int to, int tag) {
  Box& box = boxes_[{from, to, tag}];
  const Handle<Message> handle = Handle<Message>::make();
  handle.pending()->channel = kMessageChannel;
  box.receives.push_back({transport_.now(), handle});
  match({from, to, tag}, box);
  return handle;
}

void Mailroom::arrived(const Transfer& transfer, double end_s) const {
  const double go_s = std::max(transfer.send_posted_s, transfer.receive_posted_s);
  observers_.tell(Topic::time, &Observer::operation, transfer.from, kMessageChannel,
                  OperationSpan{transfer.send_posted_s, go_s, end_s, 0, 0, transfer.traffic});
  observers_.tell(Topic::time, &Observer::operation, transfer.to, kMessageChannel,
                  OperationSpan{transfer.receive_posted_s, go_s, end_s, 0, 0, transfer.traffic});
  observers_.tell(Topic::drawing, &Observer::message, transfer.from, transfer.to, go_s, end_s,
                  transfer.bytes);
}

// Its alpha is from the start of a message to its first byte on the way: host, latency, jitter.
PathCost Mailroom::way(int from, int to, const Message& message) {
  PathCost path = transport_.path(from, to, message.bytes);
  path.alpha_s +=
      message.times.before_s + job_.cluster.host.before_s(message.bytes) + job_.cluster.host.message_s;
  if (jitter_) {
    const JitterDraws draws{jitter_.get(), job_.seed, kJitterChannel, sent_[{from, to}]++};
    path.alpha_s +=
        draws.at(static_cast<std::uint32_t>(to), static_cast<std::uint32_t>(from)) * path.jitter_factor;
  }
  return path;
}

void Mailroom::post(int from, int to, Message message, std::function<void(const Message&)> handle) {
  const double bytes = message.bytes, posted_s = transport_.now();
  const auto shared = std::make_shared<Message>(std::move(message));
  const PathCost path = way(from, to, *shared);
  transport_.message(from, to, path.wire_bytes, path.alpha_s,
                     [this, from, to, shared, bytes, posted_s, handle = std::move(handle)] {
                       const double end_s =
                           transport_.now() + job_.cluster.host.after_s(bytes) + shared->times.after_s;
                       const auto deliver = [this, from, to, shared, bytes, posted_s, end_s, handle] {
                         // Signals without bytes are not communication, and there are very many.
                         if (bytes > 0)
                           arrived({from, to, posted_s, posted_s, bytes, shared->traffic}, end_s);
                         handle(*shared);
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
  auto send = std::make_shared<Sent>(std::move(box.sends.front()));
  auto receive = std::make_shared<Expected>(std::move(box.receives.front()));
  box.sends.pop_front();
  box.receives.pop_front();
  const double bytes = send->message.bytes;
  const PathCost path = way(from, to, send->message);
  transport_.message(
      from, to, path.wire_bytes, path.alpha_s, [this, from = from, to = to, bytes, send, receive] {
        const double end_s =
            transport_.now() + job_.cluster.host.after_s(bytes) + send->message.times.after_s;
        const auto deliver = [this, from, to, bytes, end_s, send, receive] {
          arrived({from, to, send->time_s, receive->time_s, bytes, send->message.traffic}, end_s);
          receive->handle.pending()->result = std::move(send->message);
          send->handle.pending()->complete(end_s);
          receive->handle.pending()->complete(end_s);
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
  if (count > 8) text += fmt::format(" And {} more messages have no partner.", count - 8);
  return text;
}

}  // namespace simsgd
