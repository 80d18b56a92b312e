// What goes on beside a rank's main thread, over MPI. Values are computed on the executor's thread, so the
// main thread has time to look after messages while it computes, sleeps or waits: it alone calls MPI and runs
// handlers and actions (MPI_THREAD_FUNNELED is enough), one at a time, which makes them atomic.
#pragma once

#include <mpi.h>

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "measure/mpi_progress.hpp"
#include "sim/base/check.hpp"
#include "sim/observer.hpp"
#include "sim/roles/messages.hpp"

namespace simsgd {

class MpiBackground final : public Background, public MpiProgress::Part {
 public:
  explicit MpiBackground(const RealRank& self) : of_(self) { MPI_Comm_dup(self.world, &world_); }
  /// What nobody has received is left to MPI, which may still read its memory.
  ~MpiBackground() override {
    if (!leaving_.empty() || !arriving_.empty())
      // Left behind: MPI may still read there. NOLINTNEXTLINE(bugprone-unhandled-exception-at-new)
      new auto(std::pair(std::move(leaving_), std::move(arriving_)));
  }
  MpiBackground(const MpiBackground&) = delete;
  MpiBackground& operator=(const MpiBackground&) = delete;

  void serve(int tag, std::function<void(const Message&)> handler) override {
    handlers_[tag] = std::move(handler);
    for (Message& message : early_[tag])
      due_.emplace_back([this, tag, message = std::move(message)] { handlers_.at(tag)(message); });
    early_.erase(tag);
  }
  // When it was sent travels with it: a receiver that computes sees late that a message has come.
  void begin_post(int to, int tag, Message message) override {
    CHECK(to >= 0 && to < of_.job.workers() && to != of_.rank, "a message to or from nobody, or oneself");
    const double now_s = of_.clock.now();
    message.numbers.push_back(now_s);
    Bytes bytes = pack(of_.executor, message, of_.sizes);
    Moving& moving =
        leaving_.emplace_back(Moving{std::move(bytes), MPI_REQUEST_NULL, to, tag, now_s, message.traffic});
    of_.observers.tell(Topic::time, &Observer::sent, of_.rank, message.traffic,
                       message.bytes > 0 ? static_cast<double>(moving.bytes.size()) : 0.0);
    MPI_Isend(moving.bytes.data(), mpi_count(moving.bytes.size()), MPI_BYTE, to, tag, world_,
              &moving.request);
  }

  void then(Awaited handle, std::function<void()> action) override {
    CHECK(handle.pending() != nullptr, "an action after nothing");
    if (handle.pending()->known())
      due_.push_back(std::move(action));
    else
      handle.pending()->on_known.emplace_back(
          [this, action = std::move(action)](double) { due_.push_back(action); });
  }

  /// False: there is no shorter way than posting the messages.
  bool hear(int, std::function<void(std::uint64_t)>) override { return false; }
  void flood(int, std::uint64_t) override { CHECK(false, "a number was flooded where nobody hears"); }
  Handle<Nothing> make_event() override {
    Handle<Nothing> event = Handle<Nothing>::make();
    event.pending()->what = "an event of its own";
    return event;
  }
  void signal(const Handle<Nothing>& event) override {
    if (!event.pending()->known()) event.pending()->complete(of_.clock.now());
  }
  Handle<Nothing> start_timer(double seconds) override {
    Handle<Nothing> timer = Handle<Nothing>::make();
    timer.pending()->what = "a timer";
    timers_.push_back(timer);
    timer_ends_s_.push_back(of_.clock.now() + seconds);
    return timer;
  }

  /// Handlers are not called from within handlers, wherever those wait.
  void progress() override {
    std::erase_if(leaving_, [](Moving& moving) { return is_complete(moving.request); });
    look_for_messages();
    end_timers();
    run_due();
  }
  bool idle() const override {
    return handlers_.empty() && timers_.empty() && leaving_.empty() && arriving_.empty() && due_.empty();
  }

  /// Handlers are not called while it lives: an operation that is being begun must not be met half begun.
  class Quiet {
   public:
    explicit Quiet(MpiBackground& background)
        : background_(background), before_(std::exchange(background.in_background_, true)) {}
    ~Quiet() { background_.in_background_ = before_; }
    Quiet(const Quiet&) = delete;
    Quiet& operator=(const Quiet&) = delete;

   private:
    MpiBackground& background_;
    bool before_;
  };

 private:
  struct Moving {  // in either direction
    Bytes bytes;
    MPI_Request request = MPI_REQUEST_NULL;
    int other = 0, tag = 0;
    double begin_s = 0;
    Traffic traffic = Traffic::control;
  };
  void look_for_messages() {
    while (true) {
      int found = 0, bytes = 0;
      MPI_Message message = MPI_MESSAGE_NULL;
      MPI_Status status;
      MPI_Improbe(MPI_ANY_SOURCE, MPI_ANY_TAG, world_, &found, &message, &status);
      if (found == 0) break;
      MPI_Get_count(&status, MPI_BYTE, &bytes);
      Moving& moving = arriving_.emplace_back();
      moving.bytes.resize(static_cast<std::size_t>(bytes));
      moving.other = status.MPI_SOURCE;
      moving.tag = status.MPI_TAG;
      moving.begin_s = of_.clock.now();
      MPI_Imrecv(moving.bytes.data(), bytes, MPI_BYTE, &message, &moving.request);
    }
    // In the order in which each rank has sent them, whichever are complete.
    std::set<int> behind;
    std::erase_if(arriving_, [&](Moving& moving) {
      if (behind.contains(moving.other) || !is_complete(moving.request)) {
        behind.insert(moving.other);
        return false;
      }
      arrived(moving);
      return true;
    });
  }

  // Earliest first: whoever waits for any of several sees them in the order of time.
  void end_timers() {
    while (!timers_.empty()) {
      const auto first = std::min_element(timer_ends_s_.begin(), timer_ends_s_.end());
      if (*first > of_.clock.now()) return;
      const auto index = first - timer_ends_s_.begin();
      const Handle<Nothing> timer = timers_[static_cast<std::size_t>(index)];
      timers_.erase(timers_.begin() + index);
      const double end_s = *first;
      timer_ends_s_.erase(first);
      timer.pending()->complete(end_s);
    }
  }

  void arrived(const Moving& moving) {
    Message message = unpack(of_.executor, moving.bytes);
    message.from = moving.other;
    const double sent_s = message.numbers.back();
    message.numbers.pop_back();
    Moving seen{{}, MPI_REQUEST_NULL, moving.other, moving.tag, moving.begin_s, message.traffic};
    // Signals without bytes are not communication, and there are very many.
    if (message.bytes > 0) {
      const double begin_s = std::min(sent_s, moving.begin_s);
      booked(seen, begin_s);
      of_.observers.tell(Topic::drawing, &Observer::message, moving.other, of_.rank, begin_s, of_.clock.now(),
                         message.bytes);
    }
    if (!handlers_.contains(moving.tag)) {
      early_[moving.tag].push_back(std::move(message));
      return;
    }
    due_.emplace_back([this, tag = moving.tag, message = std::move(message)] { handlers_.at(tag)(message); });
  }

  void booked(const Moving& moving, double begin_s) const {
    of_.observers.tell(
        Topic::time, &Observer::operation, of_.rank, kMessageChannel,
        OperationSpan{begin_s, begin_s, std::max(begin_s, of_.clock.now()), 0, 0, moving.traffic});
  }
  void run_due() {
    if (in_background_) return;
    const Quiet inside(*this);
    while (!due_.empty()) {
      const std::function<void()> action = std::move(due_.front());
      due_.pop_front();
      action();
    }
  }

  RealRank of_;
  MPI_Comm world_ = MPI_COMM_NULL;
  std::map<int, std::function<void(const Message&)>> handlers_;
  std::map<int, std::vector<Message>> early_;  // posted before this rank serves their tag
  std::list<Moving> leaving_, arriving_;
  std::vector<Handle<Nothing>> timers_;
  std::vector<double> timer_ends_s_;
  std::deque<std::function<void()>> due_;
  bool in_background_ = false;
};

}  // namespace simsgd
