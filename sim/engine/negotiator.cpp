#include "sim/engine/negotiator.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/base/check.hpp"
#include "sim/base/errors.hpp"
#include "sim/base/instants.hpp"
#include "sim/engine/ticks.hpp"

namespace simsgd {

namespace {

/// Negotiated operations have channels of their own: they begin in another order than messages beside them.
constexpr ChannelId kNegotiatedChannels = ChannelId{1} << 20;

auto identity_of(const AnyCollective& collective) {
  return std::tuple(op_of(collective), options_of(collective).bytes, root_of(collective));
}

}  // namespace

/// One operation that is handed over, by group rank.
struct Negotiator::Request {
  std::vector<AnyCollective> given;  // of those who have; else as made
  std::vector<CollectiveSlot> slots;
  std::size_t posted = 0;
  double ready_s = 0;  // its last member's time
  CollectiveResults results;

  const AnyCollective& what() const { return given.front(); }
  double bytes() const { return options_of(what()).bytes; }
};

struct Negotiator::Queue {
  GroupId group = kWorld;
  ChannelId channel = 0;
  std::uint64_t first = 0;  // number of requests.front()
  std::deque<std::unique_ptr<Request>> requests;
  std::vector<std::uint64_t> next;  // by group rank: number of its next request
  double armed_s = -1;              // the last tick that it waits for, or that was

  bool all_posted(const Request& request) const { return request.posted == next.size(); }
};

Negotiator::Negotiator(const Job& job, Transport& transport, Groups& groups, Executor& executor,
                       CollectiveEngine& collectives)
    : job_(job), transport_(transport), groups_(groups), executor_(executor), collectives_(collectives) {}

Negotiator::~Negotiator() = default;

bool Negotiator::negotiates(const AnyCollective& collective) const {
  return job_.cluster.handover.negotiation && op_of(collective) != CollectiveOp::custom &&
         groups_.ranks(options_of(collective).group).size() > 1;
}

ChannelId Negotiator::channel_of(const AnyCollective& collective) const {
  return options_of(collective).channel + (negotiates(collective) ? kNegotiatedChannels : 0);
}

bool Negotiator::stays_in_place(const AnyCollective& collective) const {
  return job_.cluster.handover.single_in_place && options_of(collective).tensors == 1;
}

void Negotiator::send_in_place(AnyCollective& collective) const {
  if (stays_in_place(collective)) options_of(collective).tensors = 0;
}

std::int32_t Negotiator::ledger_channel(const AnyCollective& collective) {
  return collectives_.ledger_channel(options_of(collective).group, channel_of(collective));
}

double Negotiator::predict(int rank, const AnyCollective& collective) {
  const double agreement_s = negotiates(collective) ? job_.cluster.handover.negotiation->agreement_s : 0;
  if (!stays_in_place(collective)) return agreement_s + collectives_.predict(rank, collective);
  AnyCollective in_place = collective;
  send_in_place(in_place);
  return agreement_s + collectives_.predict(rank, in_place);
}

Negotiator::Expected Negotiator::expect(int rank, double time_s, const AnyCollective& collective) {
  if (!negotiates(collective)) return {0, predict(rank, collective)};
  const Negotiation& loop = *job_.cluster.handover.negotiation;
  const double begin_s = tick_s(loop, time_s) + loop.agreement_s;
  const CollectiveOptions& options = options_of(collective);
  Buffer& buffer = expected_[{rank, options.group, options.channel}];
  AllReduce& whole = buffer.whole;
  const bool joins = op_of(collective) == CollectiveOp::all_reduce && buffer.begin_s == begin_s &&
                     whole.traffic == options.traffic && whole.schedule == options.schedule &&
                     whole.bytes + options.bytes <= loop.fusion_bytes;
  if (joins) {
    whole.bytes += options.bytes;
    whole.tensors += std::max(1, options.tensors);
    whole.times += options.times;
    const double before_s = buffer.seconds;
    buffer.seconds = collectives_.predict(rank, whole);
    return {begin_s, std::max(0.0, buffer.seconds - before_s)};
  }
  buffer = {begin_s, predict(rank, collective) - loop.agreement_s, AllReduce()};
  whole.group = options.group;
  whole.bytes = op_of(collective) == CollectiveOp::all_reduce ? options.bytes : loop.fusion_bytes + 1;
  whole.tensors = std::max(1, options.tensors);
  whole.times = options.times;
  whole.traffic = options.traffic;
  whole.schedule = options.schedule;
  return {begin_s, buffer.seconds};
}

void Negotiator::start(int rank, double time_s, AnyCollective&& collective, CollectiveSlot slot) {
  if (!negotiates(collective)) {
    send_in_place(collective);
    return collectives_.start(rank, time_s, std::move(collective), std::move(slot));
  }
  const CollectiveOptions& options = options_of(collective);
  const auto members = groups_.ranks(options.group).size();
  const auto p = static_cast<std::size_t>(groups_.rank_in(options.group, rank));
  std::unique_ptr<Queue>& queue = queues_[{options.group, options.channel}];
  if (!queue) {
    queue = std::make_unique<Queue>();
    queue->group = options.group;
    queue->channel = channel_of(collective);
    queue->next.assign(members, 0);
  }
  const std::uint64_t number = queue->next[p]++;
  if (number - queue->first == queue->requests.size()) {
    auto fresh = std::make_unique<Request>();
    fresh->given.assign(members, collective);
    fresh->slots.resize(members);
    queue->requests.push_back(std::move(fresh));
  }
  Request& request = *queue->requests[static_cast<std::size_t>(number - queue->first)];
  if (identity_of(request.what()) != identity_of(collective))
    throw RunError(fmt::format(
        "Rank {} handed over {} of {} bytes as operation {} of its channel, but another rank handed over {} of {} bytes: the algorithm's ranks disagree.",
        rank, op_name(op_of(collective)), options.bytes, number, op_name(op_of(request.what())),
        request.bytes()));
  request.given[p] = std::move(collective);
  request.slots[p] = std::move(slot);
  request.ready_s = std::max(request.ready_s, time_s);
  if (++request.posted == members) arm(*queue, request.ready_s);
}

// Members hand over in one order, so requests become ready in that order too.
void Negotiator::arm(Queue& queue, double ready_s) {
  const double at_s = std::max(tick_s(*job_.cluster.handover.negotiation, ready_s), transport_.now());
  if (at_s == queue.armed_s && before(transport_.now(), at_s)) return;
  queue.armed_s = at_s;
  transport_.at(at_s, [this, &queue, at_s] { serve(queue, at_s); });
}

void Negotiator::serve(Queue& queue, double tick_s) {
  const double begin_s = tick_s + job_.cluster.handover.negotiation->agreement_s;
  for (Batch batch = next_batch(queue, tick_s); !batch.empty(); batch = next_batch(queue, tick_s))
    begin(queue, std::move(batch), begin_s);
}

Negotiator::Batch Negotiator::next_batch(Queue& queue, double tick_s) const {
  Batch batch;
  while (!queue.requests.empty()) {
    const Request& next = *queue.requests.front();
    if (!queue.all_posted(next) || !not_after(next.ready_s, tick_s)) break;
    if (!batch.empty() && !joins(batch, next)) break;
    batch.push_back(std::move(queue.requests.front()));
    queue.requests.pop_front();
    ++queue.first;
  }
  return batch;
}

bool Negotiator::joins(const Batch& batch, const Request& next) const {
  const CollectiveOptions &first = options_of(batch.front()->what()), &options = options_of(next.what());
  const bool sums = op_of(batch.front()->what()) == CollectiveOp::all_reduce &&
                    op_of(next.what()) == CollectiveOp::all_reduce;
  if (!sums || options.traffic != first.traffic || options.schedule != first.schedule) return false;
  double bytes = next.bytes();
  for (const auto& each : batch) bytes += each->bytes();
  return bytes <= job_.cluster.handover.negotiation->fusion_bytes;
}

void Negotiator::begin(Queue& queue, Batch batch, double time_s) {
  if (batch.size() > 1) return begin_fused(queue, std::move(batch), time_s);
  const std::vector<int>& ranks = groups_.ranks(queue.group);
  Request& only = *batch.front();
  for (std::size_t p = 0; p < ranks.size(); ++p) {
    options_of(only.given[p]).channel = queue.channel;
    send_in_place(only.given[p]);
    collectives_.start(ranks[p], time_s, std::move(only.given[p]), std::move(only.slots[p]));
  }
}

// One operation costs what all of them take together; each gets its own values of it.
void Negotiator::begin_fused(Queue& queue, Batch batch, double time_s) {
  AllReduce whole;
  whole.group = queue.group;
  whole.channel = queue.channel;
  whole.traffic = options_of(batch.front()->what()).traffic;
  whole.schedule = options_of(batch.front()->what()).schedule;
  whole.tensors = 0;
  for (const auto& each : batch) {
    whole.bytes += each->bytes();
    whole.tensors += std::max(1, options_of(each->what()).tensors);
    whole.times += options_of(each->what()).times;
  }
  const std::vector<int>& ranks = groups_.ranks(queue.group);
  const auto shared = std::make_shared<Batch>(std::move(batch));  // by the members, who end one by one
  for (std::size_t p = 0; p < ranks.size(); ++p) {
    const auto pending = std::make_shared<Pending>();  // shared with the engine, which completes it
    pending->on_known.push_back([this, shared, p, ended = pending.get()](double end_s) {
      for (const std::unique_ptr<Request>& each : *shared) {
        std::vector<Tensor> contributions;
        for (const AnyCollective& given : each->given)
          contributions.push_back(options_of(given).contribution);
        each->results.deliver(executor_, each->what(), contributions, true, static_cast<std::int32_t>(p),
                              each->slots[p]);
        const std::shared_ptr<Pending> mine = std::move(each->slots[p].pending);
        mine->channel = ended->channel;
        mine->complete(end_s);
      }
    });
    collectives_.start(ranks[p], time_s, AllReduce(whole), {pending, nullptr, nullptr});
  }
}

std::string Negotiator::unfinished() const {
  std::string text;
  for (const auto& [key, queue] : queues_) {
    if (queue->requests.empty()) continue;
    std::string missing;
    int count = 0;
    for (std::size_t p = 0; p < queue->next.size(); ++p) {
      if (queue->next[p] > queue->first) continue;
      if (++count <= 8)
        missing += fmt::format("{}{}", missing.empty() ? "" : ", ", groups_.ranks(key.first)[p]);
    }
    if (count > 8) missing += fmt::format(" and {} more", count - 8);
    text += fmt::format(" {} among {} is not agreed on (not handed over by: {}).",
                        op_name(op_of(queue->requests.front()->what())), queue->next.size(),
                        count == 0 ? "none" : missing);
  }
  return text;
}

}  // namespace simsgd
