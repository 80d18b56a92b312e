#include "measure/mpi_background.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "measure/exchanges.hpp"
#include "sim/base/check.hpp"
#include "sim/roles/message_precision.hpp"

namespace simsgd {

namespace {
constexpr std::int32_t kPostedChannel = 0;  // of the ledger, as of messages; collectives follow
}

MpiBackground::MpiBackground(MPI_Comm world, const Setup& setup) : of_(setup) {
  MPI_Comm_dup(world, &world_);
  MPI_Comm_rank(world_, &rank_);
}

MpiBackground::~MpiBackground() {
  // Left behind: MPI may still read there. NOLINTNEXTLINE(bugprone-unhandled-exception-at-new)
  if (!leaving_.empty() || !arriving_.empty()) new auto(std::pair(std::move(leaving_), std::move(arriving_)));
}

// Messages
// -----------------------------------------------------------------------------------------------------------

void MpiBackground::serve(int tag, std::function<void(const Message&)> handler) {
  handlers_[tag] = std::move(handler);
  for (Message& message : early_[tag])
    due_.emplace_back([this, tag, message = std::move(message)] { handlers_.at(tag)(message); });
  early_.erase(tag);
}

// When it was sent travels with it: a receiver that computes sees late that a message has come.
void MpiBackground::post(int to, int tag, Message message) {
  CHECK(to >= 0 && to < of_.job.workers() && to != rank_, "a message to or from nobody, or oneself");
  message.values = rounded_to(of_.executor, message.values, of_.job.network.precision);
  const double now_s = of_.clock.now();
  message.numbers.push_back(now_s);
  Bytes bytes = pack(of_.executor, message, of_.sizes);
  Moving& moving =
      leaving_.emplace_back(Moving{std::move(bytes), MPI_REQUEST_NULL, to, tag, now_s, message.traffic});
  of_.observers.tell(Topic::time, &Observer::sent, rank_, message.traffic,
                     message.bytes > 0 ? static_cast<double>(moving.bytes.size()) : 0.0);
  MPI_Isend(moving.bytes.data(), mpi_count(moving.bytes.size()), MPI_BYTE, to, tag, world_, &moving.request);
}

void MpiBackground::look_for_messages() {
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

void MpiBackground::arrived(const Moving& moving) {
  Message message = unpack(of_.executor, moving.bytes);
  message.from = moving.other;
  const double sent_s = message.numbers.back();
  message.numbers.pop_back();
  Moving seen{{}, MPI_REQUEST_NULL, moving.other, moving.tag, moving.begin_s, message.traffic};
  // Signals without bytes are no communication, and there are very many.
  if (message.bytes > 0) {
    const double begin_s = std::min(sent_s, moving.begin_s);
    booked(seen, begin_s);
    of_.observers.tell(Topic::drawing, &Observer::message, moving.other, rank_, begin_s, of_.clock.now(),
                       message.bytes);
  }
  if (!handlers_.contains(moving.tag)) {
    early_[moving.tag].push_back(std::move(message));
    return;
  }
  due_.emplace_back([this, tag = moving.tag, message = std::move(message)] { handlers_.at(tag)(message); });
}

void MpiBackground::booked(const Moving& moving, double begin_s) const {
  of_.observers.tell(
      Topic::time, &Observer::operation, rank_, kPostedChannel,
      OperationSpan{begin_s, begin_s, std::max(begin_s, of_.clock.now()), 0, 0, moving.traffic});
}

// Actions, events and timers
// -----------------------------------------------------------------------------------------------------------

void MpiBackground::then(Awaited handle, std::function<void()> action) {
  CHECK(handle.pending() != nullptr, "an action after nothing");
  if (handle.pending()->known())
    due_.push_back(std::move(action));
  else
    handle.pending()->on_known.emplace_back(
        [this, action = std::move(action)](double) { due_.push_back(action); });
}

bool MpiBackground::hear(int, std::function<void(std::uint64_t)>) { return false; }

void MpiBackground::flood(int, std::uint64_t) { CHECK(false, "a number was flooded where nobody hears"); }

Handle<Nothing> MpiBackground::make_event() {
  Handle<Nothing> event = Handle<Nothing>::make();
  event.pending()->what = "an event of its own";
  return event;
}

void MpiBackground::signal(const Handle<Nothing>& event) {
  if (!event.pending()->known()) event.pending()->complete(of_.clock.now());
}

Handle<Nothing> MpiBackground::start_timer(double seconds) {
  Handle<Nothing> timer = Handle<Nothing>::make();
  timer.pending()->what = "a timer";
  timers_.push_back(timer);
  timer_ends_s_.push_back(of_.clock.now() + seconds);
  return timer;
}

// Earliest first: whoever waits for any of several sees them in the order of time.
void MpiBackground::end_timers() {
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

void MpiBackground::run_due() {
  if (in_background_) return;
  const Quiet inside(*this);
  while (!due_.empty()) {
    const std::function<void()> action = std::move(due_.front());
    due_.pop_front();
    action();
  }
}

void MpiBackground::progress() {
  std::erase_if(leaving_, [](Moving& moving) { return is_complete(moving.request); });
  look_for_messages();
  end_timers();
  run_due();
}

bool MpiBackground::idle() const {
  return handlers_.empty() && timers_.empty() && leaving_.empty() && arriving_.empty() && due_.empty();
}

}  // namespace simsgd
