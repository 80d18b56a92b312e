// Collectives of one rank over MPI. Operations of one channel run one after another, as on one NCCL stream:
// each begins when the one before is complete, so all members make the same MPI calls in the same order.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <list>
#include <map>
#include <utility>
#include <vector>

#include "measure/exchanges.hpp"
#include "measure/mpi_progress.hpp"
#include "measure/scheduled_exchange.hpp"
#include "sim/base/check.hpp"
#include "sim/observer.hpp"
#include "sim/roles/messages.hpp"

namespace simsgd {

class MpiCollectives final : public Collectives, public MpiProgress::Part {
 public:
  /// `need` waits until a value is there. `by_scenario`: the scenario's schedules, message by message.
  MpiCollectives(const RealRank& self, Communicators& communicators, Completion& completion, bool by_scenario,
                 std::function<void(const Tensor&)> need)
      : Collectives(completion),
        of_(self),
        communicators_(communicators),
        by_scenario_(by_scenario),
        need_(std::move(need)) {}
  /// What is not complete is left to MPI, which may still use its memory.
  ~MpiCollectives() override {
    // Left behind: MPI may still write there. NOLINTNEXTLINE(bugprone-unhandled-exception-at-new)
    if (!idle()) new auto(std::move(channels_));
  }
  MpiCollectives(const MpiCollectives&) = delete;
  MpiCollectives& operator=(const MpiCollectives&) = delete;

  GroupId group(const std::vector<int>& ranks) override { return communicators_.group(ranks); }
  /// When this rank began its latest operation of that channel of the ledger; before all time if none.
  double begun_s(std::int32_t channel) const {
    const auto begun = begun_s_.find(channel);
    return begun == begun_s_.end() ? -INFINITY : begun->second;
  }

  void progress() override {
    for (auto& [key, channel] : channels_) progress(channel);
    std::erase_if(left_behind_, [](MPI_Request& request) { return is_complete(request); });
  }
  bool idle() const override {
    return std::all_of(channels_.begin(), channels_.end(),
                       [](const auto& entry) { return entry.second.operations.empty(); });
  }
  /// What this rank has taken part in.
  std::vector<FidelityRecord> record() const {
    std::vector<FidelityRecord> records;
    for (const auto& [operation, count] : counts_)
      records.push_back({operation.first, "real",
                         !operation.second ? "run over MPI, which chooses the schedule"
                         : by_scenario_    ? "run over MPI by the scenario's schedules, message by message"
                                           : "run over MPI by a schedule of its own, message by message",
                         true, count});
    return records;
  }

 protected:
  /// By the scenario's cluster, not by this one: the same on all ranks.
  double predicted(const AnyCollective& collective) override {
    return predicted_s(of_.job, collective, communicators_.ranks(options_of(collective).group));
  }
  std::size_t members(GroupId group) const override { return communicators_.ranks(group).size(); }

 private:
  struct Operation {
    AnyCollective what;
    CollectiveSlot slot;
    Ongoing ongoing;
    Exchange exchange{};
  };
  struct Channel {
    ExchangeContext context;
    std::list<Operation> operations{};  // a list: exchanges do not move
  };

  void begin(AnyCollective&& collective, CollectiveSlot slot) override {
    CollectiveOptions& options = options_of(collective);
    options.contribution = contribution_of(of_.executor, collective);
    if (auto* all_reduce = std::get_if<AllReduce>(&collective))
      all_reduce->entries.reset();  // they are cut out
    if (options.contribution) need_(options.contribution);
    Channel& channel = channel_of(options);
    const ChannelSite& site = channel.context.site;
    const int root = root_of(collective);
    CHECK(root >= 0 && root < site.members(), "the root is not a member of the group");
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

  Channel& channel_of(const CollectiveOptions& options) {
    const std::pair key{options.group, options.channel};
    if (const auto known = channels_.find(key); known != channels_.end()) return known->second;
    // Waits for the other members, and progress() looks at the channels meanwhile: entered when it is made.
    ChannelSite& site = communicators_.site(options.group, options.channel);
    return channels_.try_emplace(key, Channel{{of_.job, of_.executor, of_.clock, site, of_.sizes}})
        .first->second;
  }

  void progress(Channel& channel) {
    while (!channel.operations.empty() && advance(channel, channel.operations.front())) {
      finish(channel, channel.operations.front());
      channel.operations.pop_front();
    }
  }
  bool advance(Channel& channel, Operation& operation) {
    if (operation.exchange.index() == 0) {
      operation.ongoing.span.start_s = channel.context.came_s = of_.clock.now();
      simsgd::begin(operation.exchange, channel.context, operation.what, by_scenario_);
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

  void finish(Channel& channel, Operation& operation) {
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

  RealRank of_;
  Communicators& communicators_;
  bool by_scenario_;
  std::function<void(const Tensor&)> need_;
  std::map<std::pair<GroupId, ChannelId>, Channel> channels_;
  std::vector<MPI_Request> left_behind_;
  std::map<std::pair<std::string, bool>, std::uint64_t> counts_;  // whether message by message
  std::map<std::int32_t, double> begun_s_;
  std::uint64_t sequence_ = 0;
};

}  // namespace simsgd
