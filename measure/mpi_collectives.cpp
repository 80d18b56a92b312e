#include "measure/mpi_collectives.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "measure/scheduled_exchange.hpp"
#include "sim/base/check.hpp"
#include "sim/roles/message_precision.hpp"

namespace simsgd {

MpiCollectives::~MpiCollectives() {
  // Left behind: MPI may still write there. NOLINTNEXTLINE(bugprone-unhandled-exception-at-new)
  if (!idle()) new auto(std::move(channels_));
}

double MpiCollectives::predict(const AnyCollective& collective) {
  return predicted_s(of_.job, collective, of_.communicators.ranks(options_of(collective).group));
}

MpiCollectives::Channel& MpiCollectives::channel_of(const CollectiveOptions& options) {
  const std::pair key{options.group, options.channel};
  if (const auto known = channels_.find(key); known != channels_.end()) return known->second;
  // Waits for the other members, and progress() looks at the channels meanwhile: entered when it is made.
  ChannelSite& site = of_.communicators.site(options.group, options.channel);
  return channels_.try_emplace(key, Channel{{of_.job, of_.executor, of_.clock, site, of_.sizes}})
      .first->second;
}

void MpiCollectives::begin(AnyCollective&& collective, CollectiveSlot slot) {
  CollectiveOptions& options = options_of(collective);
  options.contribution = contribution_of(of_.executor, collective, of_.job.network.precision);
  if (auto* all_reduce = std::get_if<AllReduce>(&collective))
    all_reduce->entries.reset();  // they are cut out
  if (options.contribution) of_.need(options.contribution);
  Channel& channel = channel_of(options);
  const ChannelSite& site = channel.context.site;
  const int root = root_of(collective);
  CHECK(root >= 0 && root < site.members(), "the root is no member of the group");
  Ongoing ongoing{slot.pending};
  ongoing.span.traffic = options.traffic;
  slot.pending->channel = site.ledger;
  begun_s_[site.ledger] = of_.clock.now();
  slot.pending->what = fmt::format("{} among {}", op_name(op_of(collective)), site.members());
  Operation& operation = channel.operations.emplace_back();
  operation.what = std::move(collective);
  operation.slot = std::move(slot);
  operation.ongoing = std::move(ongoing);
  progress(channel);
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
    operation.ongoing.span.start_s = channel.context.came_s = of_.clock.now();
    simsgd::begin(operation.exchange, channel.context, operation.what, of_.by_scenario);
  }
  return std::visit(
      [&](auto& exchange) {
        if constexpr (std::is_same_v<decltype(exchange), std::monostate&>)
          return false;
        else
          return exchange.advance(channel.context, operation.ongoing);
      },
      operation.exchange);
}

void MpiCollectives::finish(Channel& channel, Operation& operation) {
  Ongoing& ongoing = operation.ongoing;
  ongoing.ended(of_.clock.now());
  of_.observers.tell(Topic::time, &Observer::operation, of_.rank, ongoing.pending->channel, ongoing.span);
  static const std::string kSchedule = "mpi";
  of_.observers.tell(Topic::drawing, &Observer::collective,
                     CollectiveSeen{.rank = of_.rank,
                                    .op = op_of(operation.what),
                                    .options = options_of(operation.what),
                                    .schedule = kSchedule,
                                    .span = ongoing.span,
                                    .channel = ongoing.pending->channel,
                                    .sequence = ++sequence_,
                                    .members = channel.context.site.ranks,
                                    .arrival_s = {}});
  std::visit(
      [&](auto& exchange) {
        if constexpr (!std::is_same_v<decltype(exchange), std::monostate&>) {
          of_.observers.tell(Topic::time, &Observer::sent, of_.rank, options_of(operation.what).traffic,
                             exchange.bytes_sent(channel.context.site));
          exchange.deliver(channel.context, operation.what, operation.slot);
        }
      },
      operation.exchange);
  const auto* scheduled = std::get_if<ScheduledExchange>(&operation.exchange);
  if (scheduled) left_behind_.push_back(scheduled->left_behind());
  ++counts_[{ongoing.pending->what, scheduled != nullptr}];
  ongoing.pending->complete(ongoing.span.end_s);
}

double MpiCollectives::begun_s(std::int32_t channel) const {
  const auto begun = begun_s_.find(channel);
  return begun == begun_s_.end() ? -INFINITY : begun->second;
}

bool MpiCollectives::idle() const {
  return std::all_of(channels_.begin(), channels_.end(),
                     [](const auto& entry) { return entry.second.operations.empty(); });
}

std::vector<FidelityRecord> MpiCollectives::record() const {
  std::vector<FidelityRecord> records;
  for (const auto& [operation, count] : counts_)
    records.push_back({operation.first, "real",
                       !operation.second ? "run over MPI, which chooses the schedule"
                       : of_.by_scenario ? "run over MPI by the scenario's schedules, message by message"
                                         : "run over MPI by a schedule of its own, message by message",
                       true, count});
  return records;
}

}  // namespace simsgd
