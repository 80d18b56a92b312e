// Point-to-point messages of one rank over MPI: MPI_Isend, and MPI_Improbe with MPI_Imrecv, because a
// receiver learns the length from the message. Matched by (from, to, tag) in the order sent. MPI may take a
// small message from its sender before the receiver asks for it.
#pragma once

#include <mpi.h>

#include <deque>
#include <list>
#include <map>
#include <memory>
#include <utility>

#include "measure/mpi_pending.hpp"
#include "measure/packing.hpp"
#include "measure/run_clock.hpp"

namespace simsgd {

class MpiMailroom {
 public:
  MpiMailroom(MPI_Comm world, Executor& executor, const RunClock& clock, Ledger& ledger);
  /// What nobody has received is left to MPI, which may still read its memory.
  ~MpiMailroom();
  MpiMailroom(const MpiMailroom&) = delete;
  MpiMailroom& operator=(const MpiMailroom&) = delete;

  std::shared_ptr<MpiPending> send(int to, int tag, const Message& message);
  std::shared_ptr<MpiPending> receive(int from, int tag);
  /// Does whatever can be done now.
  void progress();
  /// Nothing is under way.
  bool idle() const { return moving_.empty() && expected_.empty(); }

 private:
  struct Moving {
    Bytes bytes;
    MPI_Request request = MPI_REQUEST_NULL;
    std::shared_ptr<MpiPending> pending;  // shared with the algorithm, which waits for it
    int from = -1;                        // of a receive
  };
  using Sender = std::pair<int, int>;  // rank, tag
  bool match(const Sender& sender, const std::shared_ptr<MpiPending>& pending);
  bool finished(Moving& moving);

  MPI_Comm world_ = MPI_COMM_NULL;
  Executor& executor_;
  const RunClock& clock_;
  Ledger& ledger_;
  std::list<Moving> moving_;
  std::map<Sender, std::deque<std::shared_ptr<MpiPending>>> expected_;  // receives without a message yet
};

}  // namespace simsgd
