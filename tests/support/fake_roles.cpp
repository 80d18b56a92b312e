#include "tests/support/fake_roles.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "sim/base/check.hpp"
#include "sim/roles/messages.hpp"

namespace simsgd::test {

FakeShared::FakeShared(const Job& job_in) : job(job_in), turns(job.workers(), job.algorithm->needs_others()) {
  groups.emplace_back(static_cast<std::size_t>(job.workers()));
  std::iota(groups.front().begin(), groups.front().end(), 0);
  backgrounds.resize(groups.front().size());
}

// Messages
// ---------------------------------------------------------------------------------------------------------

Handle<Nothing> FakeMessages::begin_send(int to, int tag, Message message) {
  CHECK(to >= 0 && to < shared_.job.workers() && to != rank_, "a message to nobody, or to oneself");
  message.from = rank_;
  const auto sent = Handle<Nothing>::make();
  sent.pending()->what = fmt::format("rank {} to receive (tag {})", to, tag);
  FakeShared::Box& box = shared_.mail[{rank_, to, tag}];
  box.sent.emplace_back(sent, std::move(message));
  match(box);
  return sent;
}

Handle<Message> FakeMessages::start_receive(int from, int tag) {
  CHECK(from >= 0 && from < shared_.job.workers() && from != rank_, "a message from nobody, or from oneself");
  const auto received = Handle<Message>::make();
  received.pending()->what = fmt::format("a message from rank {} (tag {})", from, tag);
  FakeShared::Box& box = shared_.mail[{from, rank_, tag}];
  box.expected.push_back(received);
  match(box);
  return received;
}

// Both sides have asked for it.
void FakeMessages::match(FakeShared::Box& box) {
  while (!box.sent.empty() && !box.expected.empty()) {
    auto [sent, message] = std::move(box.sent.front());
    const Handle<Message> received = box.expected.front();
    box.sent.pop_front();
    box.expected.pop_front();
    received.pending()->result = std::move(message);
    sent.pending()->complete(shared_.turns.now());
    received.pending()->complete(shared_.turns.now());
  }
}

// Collectives
// ---------------------------------------------------------------------------------------------------------

GroupId FakeCollectives::group(const std::vector<int>& ranks) {
  const auto known = std::find(shared_.groups.begin(), shared_.groups.end(), ranks);
  const auto id = static_cast<GroupId>(known - shared_.groups.begin());
  if (known == shared_.groups.end()) shared_.groups.push_back(ranks);
  return id;
}

void FakeCollectives::begin(AnyCollective&& collective, CollectiveSlot slot) {
  CollectiveOptions& options = options_of(collective);
  options.contribution = contribution_of(shared_.executor, collective);
  if (auto* all_reduce = std::get_if<AllReduce>(&collective))
    all_reduce->entries.reset();  // they are cut out
  const std::vector<int>& members = shared_.groups[static_cast<std::size_t>(options.group)];
  const auto self =
      static_cast<std::size_t>(std::find(members.begin(), members.end(), rank_) - members.begin());
  CHECK(self < members.size(), "a rank takes part in an operation of a group that it is not a member of");
  const std::uint64_t sequence = begun_[{options.group, options.channel}]++;
  const std::tuple key{options.group, options.channel, sequence};
  FakeOperation& operation = shared_.operations[key];
  operation.contributions.resize(members.size());
  operation.slots.resize(members.size());
  operation.contributions[self] = options.contribution;
  slot.pending->what = fmt::format("{} among {}", op_name(op_of(collective)), members.size());
  operation.slots[self] = std::move(slot);
  operation.what = std::move(collective);
  if (++operation.come < members.size()) return;
  FakeOperation whole = std::move(operation);
  shared_.operations.erase(key);
  complete(whole);
}

void FakeCollectives::complete(FakeOperation& operation) {
  CollectiveResults results;
  for (std::size_t member = 0; member < operation.slots.size(); ++member)
    results.deliver(shared_.executor, operation.what, operation.contributions, true,
                    static_cast<std::int32_t>(member), operation.slots[member]);
  for (const CollectiveSlot& slot : operation.slots) slot.pending->complete(shared_.turns.now());
}

// Background
// ---------------------------------------------------------------------------------------------------------

void FakeBackground::serve(int tag, std::function<void(const Message&)> handler) {
  handlers_[tag] = std::move(handler);
  for (Message& message : std::exchange(early_[tag], {}))
    shared_.turns.later([this, tag, message = std::move(message)] { deliver(tag, message); });
}

void FakeBackground::begin_post(int to, int tag, Message message) {
  CHECK(to >= 0 && to < shared_.job.workers() && to != rank_, "a message to nobody, or to oneself");
  message.from = rank_;
  FakeBackground* receiver = shared_.backgrounds[static_cast<std::size_t>(to)];
  shared_.turns.later([receiver, tag, message = std::move(message)] { receiver->deliver(tag, message); });
}

// Handlers of a rank whose algorithm has returned refer to what is no more.
void FakeBackground::deliver(int tag, const Message& message) {
  if (shared_.turns.ended(rank_)) return;
  if (const auto handler = handlers_.find(tag); handler != handlers_.end())
    handler->second(message);
  else
    early_[tag].push_back(message);
}

void FakeBackground::then(Awaited handle, std::function<void()> action) {
  const auto soon = [this, action = std::move(action)](double) {
    shared_.turns.later([this, action] {
      if (!shared_.turns.ended(rank_)) action();
    });
  };
  if (handle.pending()->known())
    soon(handle.pending()->end_s);
  else
    handle.pending()->on_known.emplace_back(soon);
}

bool FakeBackground::hear(int tag, std::function<void(std::uint64_t number)> heard) {
  hearers_[tag] = std::move(heard);
  return true;
}

void FakeBackground::flood(int tag, std::uint64_t number) {
  shared_.told.insert({tag, number, rank_});
  for (FakeBackground* other : shared_.backgrounds)
    if (other != this) shared_.turns.later([other, tag, number] { other->tell(tag, number); });
}

void FakeBackground::tell(int tag, std::uint64_t number) {
  const auto hearer = hearers_.find(tag);
  if (shared_.turns.ended(rank_) || hearer == hearers_.end()) return;
  if (shared_.told.insert({tag, number, rank_}).second) hearer->second(number);
}

Handle<Nothing> FakeBackground::make_event() {
  const auto event = Handle<Nothing>::make();
  event.pending()->what = "an event of its own";
  return event;
}

void FakeBackground::signal(const Handle<Nothing>& event) {
  if (!event.pending()->known()) event.pending()->complete(shared_.turns.now());
}

// Preemption
// ---------------------------------------------------------------------------------------------------------

Handle<RunningGradient> FakePreemption::start(const GradientOptions& options) {
  CHECK(!running_, "a worker computes one gradient at a time");
  running_ = Handle<RunningGradient>::make();
  part_ = options.part;
  running_.pending()->result.gradient = compute_.submit(options, replica_.parameters());
  running_.pending()->complete(shared_.turns.now());
  return running_;
}

void FakePreemption::cancel(const Handle<RunningGradient>& gradient) {
  CHECK(running_ && gradient == running_, "only a running gradient can be cancelled");
  running_ = {};
}

Tensor FakePreemption::take(const Handle<RunningGradient>& gradient) {
  CHECK(running_ && gradient == running_, "only a running gradient can be taken");
  compute_.use(part_, gradient.result().gradient);
  running_ = {};
  return gradient.result().gradient;
}

}  // namespace simsgd::test
