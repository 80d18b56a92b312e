// Collectives of one rank over MPI. Operations of one channel run one after another, as on one NCCL stream:
// each begins when the one before is complete, so all members make the same MPI calls in the same order.
#pragma once

#include <list>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "measure/exchanges.hpp"
#include "measure/mpi_progress.hpp"
#include "sim/observer.hpp"

namespace simsgd {

class MpiCollectives final : public Collectives, public MpiProgress::Part {
 public:
  struct Setup {
    int rank = 0;
    const Job& job;
    Executor& executor;
    const Observers& observers;
    const RunClock& clock;
    Communicators& communicators;
    Completion& completion;
    PackedSizes sizes = PackedSizes::values;
    bool by_scenario = false;                   ///< the scenario's schedules, message by message
    std::function<void(const Tensor&)> need{};  ///< waits until a value is there
  };
  explicit MpiCollectives(const Setup& setup) : Collectives(setup.completion), of_(setup) {}
  /// What is not complete is left to MPI, which may still use its memory.
  ~MpiCollectives() override;
  MpiCollectives(const MpiCollectives&) = delete;
  MpiCollectives& operator=(const MpiCollectives&) = delete;

  GroupId group(const std::vector<int>& ranks) override { return of_.communicators.group(ranks); }
  /// By the scenario's cluster, not by this one: the same on all ranks.
  double predict(const AnyCollective& collective) override;

  /// When this rank began its latest operation of that channel of the ledger; before all time if none.
  double begun_s(std::int32_t channel) const;

  void progress() override;
  bool idle() const override;
  /// What this rank has taken part in.
  std::vector<FidelityRecord> record() const;

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

  void begin(AnyCollective&& collective, CollectiveSlot slot) override;
  Channel& channel_of(const CollectiveOptions& options);
  void progress(Channel& channel);
  bool advance(Channel& channel, Operation& operation);
  void finish(Channel& channel, Operation& operation);

  Setup of_;
  std::map<std::pair<GroupId, ChannelId>, Channel> channels_;
  std::vector<MPI_Request> left_behind_;
  std::map<std::pair<std::string, bool>, std::uint64_t> counts_;  // whether message by message
  std::map<std::int32_t, double> begun_s_;
  std::uint64_t sequence_ = 0;
};

}  // namespace simsgd
