// Collectives of one rank over MPI. Operations of one channel run one after another, as on one NCCL stream:
// each begins when the one before is complete, so all members make the same MPI calls in the same order.
#pragma once

#include <deque>
#include <list>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "measure/exchanges.hpp"

namespace simsgd {

class MpiCollectives {
 public:
  MpiCollectives(const Job& job, Executor& executor, const RunClock& clock, Communicators& communicators,
                 Ledger& ledger);
  /// What is not complete is left to MPI, which may still use its memory.
  ~MpiCollectives();
  MpiCollectives(const MpiCollectives&) = delete;
  MpiCollectives& operator=(const MpiCollectives&) = delete;

  std::shared_ptr<MpiPending> start(Collective collective);
  /// Does whatever can be done now.
  void progress();
  /// Nothing is under way.
  bool idle() const;
  /// What this rank has taken part in.
  std::vector<FidelityRecord> record() const;

 private:
  struct Operation {
    Collective what;
    std::shared_ptr<MpiPending> pending;  // shared with the algorithm, which waits for it
    Exchange exchange{};
  };
  struct Channel {
    ExchangeContext context;
    std::list<Operation> operations{};  // a list: exchanges do not move
  };

  Channel& channel_of(const Collective& collective);
  void progress(Channel& channel);
  bool advance(Channel& channel, Operation& operation);
  void finish(Channel& channel, Operation& operation);

  const Job& job_;
  Executor& executor_;
  const RunClock& clock_;
  Communicators& communicators_;
  Ledger& ledger_;
  std::map<std::pair<GroupId, ChannelId>, Channel> channels_;
  std::vector<MPI_Request> left_behind_;
  std::map<std::string, std::uint64_t> counts_;
};

}  // namespace simsgd
