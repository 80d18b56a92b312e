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

#include "measure/mpi_progress.hpp"
#include "measure/packing.hpp"
#include "sim/job.hpp"
#include "sim/roles/messages.hpp"

namespace simsgd {

class MpiMessages final : public Messages, public MpiProgress::Part {
 public:
  struct Setup {
    const Job& job;
    Executor& executor;
    const Observers& observers;
    const RunClock& clock;
    Completion& completion;
    PackedSizes sizes = PackedSizes::values;
  };
  MpiMessages(MPI_Comm world, const Setup& setup);
  /// What nobody has received is left to MPI, which may still read its memory.
  ~MpiMessages() override;
  MpiMessages(const MpiMessages&) = delete;
  MpiMessages& operator=(const MpiMessages&) = delete;

  Handle<Nothing> start_send(int to, int tag, Message message) override;
  Handle<Message> start_receive(int from, int tag) override;

  void progress() override;
  bool idle() const override { return moving_.empty() && expected_.empty(); }

 private:
  struct Receive {
    Ongoing ongoing;
    std::shared_ptr<PendingOf<Message>> arrives{};  // shared with the algorithm's handle
  };
  struct Moving : Receive {  // a send has nothing that arrives
    Bytes bytes{};
    MPI_Request request = MPI_REQUEST_NULL;
    int from = -1;  // of a receive
  };
  using Sender = std::pair<int, int>;  // rank, tag
  void check(int other, int tag) const;
  bool match(const Sender& sender, const Receive& receive);
  bool finished(Moving& moving);

  Setup of_;
  MPI_Comm world_ = MPI_COMM_NULL;
  int rank_ = 0;
  std::list<Moving> moving_;
  std::map<Sender, std::deque<Receive>> expected_;  // receives without a message yet
};

}  // namespace simsgd
