// Point-to-point messages of one rank over MPI: MPI_Isend, and MPI_Improbe with MPI_Imrecv, because a
// receiver learns the length from the message. Matched by (from, to, tag) in the order sent. MPI may take a
// small message from its sender before the receiver asks for it.
#pragma once

#include <mpi.h>

#include <fmt/format.h>

#include <deque>
#include <list>
#include <map>
#include <memory>
#include <utility>

#include "measure/mpi_progress.hpp"
#include "sim/base/check.hpp"
#include "sim/observer.hpp"
#include "sim/roles/messages.hpp"

namespace simsgd {

template <class Result>
Ongoing ongoing(const Handle<Result>& handle, const std::string& what, double now_s) {
  handle.pending()->channel = kMessageChannel;
  handle.pending()->what = what;
  Ongoing begun{handle.pending()};
  begun.span.start_s = now_s;
  return begun;
}

class MpiMessages final : public Messages, public MpiProgress::Part {
 public:
  MpiMessages(const RealRank& self, Completion& completion) : Messages(completion), of_(self) {
    MPI_Comm_dup(self.world, &world_);
  }
  /// What nobody has received is left to MPI, which may still read its memory.
  ~MpiMessages() override {
    // Left behind: MPI may still read there. NOLINTNEXTLINE(bugprone-unhandled-exception-at-new)
    if (!moving_.empty()) new auto(std::move(moving_));
  }
  MpiMessages(const MpiMessages&) = delete;
  MpiMessages& operator=(const MpiMessages&) = delete;

  Handle<Nothing> begin_send(int to, int tag, Message message) override {
    check(to, tag);
    const auto handle = Handle<Nothing>::make();
    const double now_s = of_.clock.now();
    message.numbers.push_back(now_s);  // its receiver has waited for bytes alone since then
    Bytes bytes = pack(of_.executor, message, of_.sizes);
    Moving& moving = moving_.emplace_back();
    moving.ongoing = ongoing(handle, fmt::format("a message to rank {} (tag {})", to, tag), now_s);
    moving.ongoing.span.traffic = message.traffic;
    moving.ongoing.others_came(
        moving.ongoing.span.start_s);  // nobody tells the sender when the receiver came
    moving.bytes = std::move(bytes);
    of_.observers.tell(Topic::time, &Observer::sent, of_.rank, message.traffic,
                       static_cast<double>(moving.bytes.size()));
    MPI_Isend(moving.bytes.data(), mpi_count(moving.bytes.size()), MPI_BYTE, to, tag, world_,
              &moving.request);
    return handle;
  }

  Handle<Message> start_receive(int from, int tag) override {
    check(from, tag);
    const auto handle = Handle<Message>::make();
    const std::string what = fmt::format("a message from rank {} (tag {})", from, tag);
    expected_[{from, tag}].push_back({ongoing(handle, what, of_.clock.now()), handle.pending()});
    progress();
    return handle;
  }

  void progress() override {
    for (auto& [sender, receives] : expected_)
      while (!receives.empty() && match(sender, receives.front())) receives.pop_front();
    std::erase_if(expected_, [](const auto& entry) { return entry.second.empty(); });
    std::erase_if(moving_, [this](Moving& moving) { return finished(moving); });
  }
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
  void check(int other, int tag) const {
    CHECK(other >= 0 && other < of_.job.workers() && other != of_.rank,
          "a message to or from nobody, or oneself");
    CHECK(tag >= 0, "tags of messages begin at 0");
  }
  bool match(const Sender& sender, const Receive& receive) {
    int found = 0;
    MPI_Message message = MPI_MESSAGE_NULL;
    MPI_Status status;
    MPI_Improbe(sender.first, sender.second, world_, &found, &message, &status);
    if (found == 0) return false;
    int bytes = 0;
    MPI_Get_count(&status, MPI_BYTE, &bytes);
    Moving& moving = moving_.emplace_back();
    static_cast<Receive&>(moving) = receive;
    moving.bytes.resize(static_cast<std::size_t>(bytes));
    moving.from = sender.first;
    moving.ongoing.somebody_came();
    MPI_Imrecv(moving.bytes.data(), bytes, MPI_BYTE, &message, &moving.request);
    return true;
  }

  bool finished(Moving& moving) {
    if (!is_complete(moving.request)) return false;
    Ongoing& ongoing = moving.ongoing;
    if (moving.arrives) {
      moving.arrives->result = unpack(of_.executor, moving.bytes);
      std::vector<double>& numbers = moving.arrives->result.numbers;
      ongoing.others_came(numbers.back());
      numbers.pop_back();
      moving.arrives->result.from = moving.from;
      ongoing.span.traffic = moving.arrives->result.traffic;
    }
    ongoing.ended(of_.clock.now());
    if (moving.arrives)
      of_.observers.tell(Topic::drawing, &Observer::message, moving.from, of_.rank, ongoing.span.go_s,
                         ongoing.span.end_s, moving.arrives->result.bytes);
    of_.observers.tell(Topic::time, &Observer::operation, of_.rank, ongoing.pending->channel, ongoing.span);
    ongoing.pending->complete(ongoing.span.end_s);
    return true;
  }

  RealRank of_;
  MPI_Comm world_ = MPI_COMM_NULL;
  std::list<Moving> moving_;
  std::map<Sender, std::deque<Receive>> expected_;  // receives without a message yet
};

}  // namespace simsgd
