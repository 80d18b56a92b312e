#include "measure/mpi_collectives.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/base/check.hpp"

namespace simsgd {

MpiCollectives::MpiCollectives(const Job& job, Executor& executor, const RunClock& clock,
                               Communicators& communicators, Ledger& ledger)
    : job_(job), executor_(executor), clock_(clock), communicators_(communicators), ledger_(ledger) {}

MpiCollectives::~MpiCollectives() {
  // Left behind: MPI may still write there. NOLINTNEXTLINE(bugprone-unhandled-exception-at-new)
  if (!idle()) new auto(std::move(channels_));
}

MpiCollectives::Channel& MpiCollectives::channel_of(const Collective& collective) {
  const std::pair key{collective.group, collective.channel};
  if (const auto known = channels_.find(key); known != channels_.end()) return known->second;
  // Waits for the other members, and progress() looks at the channels meanwhile: entered when it is made.
  ChannelSite& site = communicators_.site(collective.group, collective.channel);
  return channels_.try_emplace(key, Channel{{job_, executor_, clock_, site}}).first->second;
}

std::shared_ptr<MpiPending> MpiCollectives::start(Collective collective) {
  Channel& channel = channel_of(collective);
  const ChannelSite& site = channel.context.site;
  CHECK(collective.root >= 0 && collective.root < site.members(), "the root is no member of the group");
  auto pending = std::make_shared<MpiPending>();
  pending->channel = site.ledger;
  pending->span.traffic = collective.traffic;
  pending->description = fmt::format("{} among {}", op_name(collective.op), site.members());
  ++counts_[pending->description];
  if (collective.contribution) executor_.get(collective.contribution);
  channel.operations.push_back({std::move(collective), pending});
  progress(channel);
  return pending;
}

void MpiCollectives::progress() {
  for (auto& [key, channel] : channels_) progress(channel);
  std::erase_if(left_behind_, [](MPI_Request& request) { return is_complete(request); });
}

void MpiCollectives::progress(Channel& channel) {
  while (!channel.operations.empty() && advance(channel, channel.operations.front())) {
    finish(channel, channel.operations.front());
    channel.operations.pop_front();
  }
}

bool MpiCollectives::advance(Channel& channel, Operation& operation) {
  if (operation.exchange.index() == 0) {
    operation.pending->span.start_s = clock_.now();
    begin(operation.exchange, channel.context, operation.what);
  }
  return std::visit(
      [&](auto& exchange) {
        if constexpr (std::is_same_v<decltype(exchange), std::monostate&>)
          return false;
        else
          return exchange.advance(channel.context, *operation.pending);
      },
      operation.exchange);
}

void MpiCollectives::finish(Channel& channel, Operation& operation) {
  operation.pending->finish(clock_.now());
  ledger_.operation(operation.pending->channel, operation.pending->span);
  std::visit(
      [&](auto& exchange) {
        if constexpr (!std::is_same_v<decltype(exchange), std::monostate&>) {
          ledger_.sent(operation.what.traffic, exchange.bytes_sent(channel.context.site));
          exchange.deliver(channel.context, operation.what, *operation.pending);
        }
      },
      operation.exchange);
  if (const auto* reduction = std::get_if<Reduction>(&operation.exchange))
    left_behind_.push_back(reduction->left_behind());
}

bool MpiCollectives::idle() const {
  return std::all_of(channels_.begin(), channels_.end(),
                     [](const auto& entry) { return entry.second.operations.empty(); });
}

std::vector<FidelityRecord> MpiCollectives::record() const {
  std::vector<FidelityRecord> records;
  for (const auto& [description, count] : counts_)
    records.push_back({description, "real", "run over MPI, which chooses the schedule", true, count});
  return records;
}

}  // namespace simsgd
