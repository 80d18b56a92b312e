#include "sim/engine/sim_clock.hpp"

#include <algorithm>

#include "sim/base/check.hpp"
#include "sim/base/fetch.hpp"
#include "sim/record.hpp"

namespace simsgd {

SimClock::SimClock(int rank, const Job& job, Fibers& fibers, Transport& transport, Interference& interference,
                   Ledger& ledger, const Observers& observers)
    : rank_(rank),
      fibers_(fibers),
      transport_(transport),
      interference_(interference),
      ledger_(ledger),
      observers_(observers),
      slowdown_(job.cluster.device.communication_slowdown),
      backward_overlap_s_(job.cluster.host.overlap_s) {}

void SimClock::take_over(const SimClock& other) {
  local_s_ = other.local_s_;
  slowdown_ = other.slowdown_;
  beside_ = other.beside_;
  running_ = other.running_;
}

// Time
// -----------------------------------------------------------------------------------------------------------

double SimClock::now() const { return in_background_ ? transport_.now() : local_s_; }

void SimClock::settle() {
  if (in_background_) return;  // handlers are called by events: they are on time
  transport_.check_instant(local_s_);
  if (before(transport_.now(), local_s_)) {
    bool there = false;
    transport_.wake_at(local_s_, rank_, [&] {
      there = true;
      wake();
    });
    while (!there) fibers_.block();  // others may wake it, too
  }
  local_s_ = std::max<double>(local_s_, transport_.now());
}

void SimClock::catch_up() {
  if (serves_) settle();
}

void SimClock::block() {
  CHECK(!in_background_, "a background handler tried to wait");
  blocked_ = true;
  fibers_.block();
  blocked_ = false;
}

void SimClock::wake() {
  fetch(&ledger_, sizeof ledger_);
  fibers_.wake(rank_);
}

void SimClock::in_background(const std::function<void()>& action) {
  const bool outer = std::exchange(in_background_, true);
  action();
  in_background_ = outer;
}

// The device
// -----------------------------------------------------------------------------------------------------------

// Advances the clock by `seconds` of computing, and by what communication beside it adds, which is booked;
// returns the rest of the time.
double SimClock::work(double seconds) {
  const double from = local_s_;
  if (!slowdown_.felt_at(from)) {
    local_s_ += seconds;
    interference_.computes(rank_, from, local_s_);
    return local_s_ - from;
  }
  double added = 0;
  local_s_ = slowdown_.end_of(from, seconds, [&](Traffic traffic, double more_s) {
    ledger_.slowed(traffic, more_s);
    observers_.tell(Topic::time, &Observer::slowed, rank_, traffic, more_s);
    added += more_s;
  });
  interference_.computes(rank_, from, local_s_);
  return std::max(0.0, local_s_ - from - added);  // rounding of a late clock may be more than the work
}

void SimClock::compute(double seconds, double straggle) {
  const double spent = work(seconds * straggle);
  const double nominal = straggle > 1 ? std::min(spent, seconds) : spent;
  book(Activity::compute, nominal);
  if (spent > nominal) book(Activity::straggle, spent - nominal);
}

void SimClock::spend(Activity activity, double seconds, const char* label) {
  const double from = local_s_;
  if (occupies_device(activity)) {
    book(activity, work(seconds));
  } else {
    local_s_ += seconds;
    book(activity, local_s_ - from);
  }
  observers_.tell(Topic::drawing, &Observer::span, rank_, label, from, double{local_s_});
  catch_up();
}

void SimClock::compute_beside(double seconds, double straggle) {
  beside_ = {local_s_, local_s_ + seconds, straggle > 1 ? 1 - 1 / straggle : 0};
  interference_.computes(rank_, local_s_, beside_.end_s);
}

void SimClock::works_on(const DeviceWork& work) {
  running_ = work;
  interference_.stops(rank_, local_s_);
  interference_.computes(rank_, work.compute_s, work.end_s);
}

// Nothing else is left to do until the backward pass is through.
void SimClock::finish_beside() {
  if (beside_.end_s <= local_s_) return;
  book(beside_, local_s_, beside_.end_s);
  local_s_ = beside_.end_s;
  catch_up();
}

// The main thread is at most at the end of the outage, and is there afterwards.
void SimClock::outage(double until_s, const std::function<void()>& restart) {
  const double from = local_s_;
  if (until_s > local_s_) {
    book(Activity::straggle, until_s - local_s_);
    local_s_ = until_s;
  }
  observers_.tell(Topic::drawing, &Observer::span, rank_, "crash", from, double{local_s_});
  restart();
  catch_up();
}

// Books what the device did in [from_s, to_s], while the main thread waited; returns where its time ended.
double SimClock::book(const DeviceWork& work, double from_s, double to_s) {
  const double end = std::min(to_s, work.end_s);
  if (end <= from_s) return from_s;
  const double delayed = std::clamp(work.compute_s, from_s, end);
  const double straggle = (end - delayed) * work.straggle_share;
  book(Activity::straggle, delayed - from_s + straggle);
  book(Activity::compute, end - delayed - straggle);
  if (work.label) observers_.tell(Topic::drawing, &Observer::span, rank_, work.label, from_s, end);
  return end;
}

// Waiting
// -----------------------------------------------------------------------------------------------------------

namespace {
Pending& pending_of(Awaited handle) {
  CHECK(handle.pending() != nullptr, "waiting for nothing");
  return *handle.pending();
}
}  // namespace

void SimClock::wait(Awaited handle) {
  begin_held();
  Pending& pending = pending_of(handle);
  while (!pending.known()) {
    pending.waiter = this;
    block();
    pending.waiter = nullptr;
  }
  wait_until(pending.end_s, pending.channel);
}

void SimClock::wait_until(double end_s, std::int32_t channel) {
  const double from = local_s_;
  local_s_ = std::max<double>(local_s_, end_s);
  book_wait(channel, from, local_s_);
  catch_up();
}

std::size_t SimClock::wait_any(std::span<const Awaited> handles) {
  CHECK(!handles.empty(), "waiting for any of nothing");
  begin_held();
  const double from = local_s_;
  settle();
  while (true) {
    double earliest = Pending::kUnknown;
    for (std::size_t i = 0; i < handles.size(); ++i) {
      const Pending& pending = pending_of(handles[i]);
      if (not_after(pending.end_s, transport_.now())) {
        local_s_ = std::max<double>({local_s_, pending.end_s, transport_.now()});
        book_wait(pending.channel, from, local_s_);
        return i;
      }
      earliest = std::min(earliest, pending.end_s);
    }
    for (const Awaited handle : handles) pending_of(handle).waiter = this;
    if (earliest != Pending::kUnknown)
      transport_.at(earliest, {Turn::Kind::completion, rank_}, [this] { wake(); });
    block();
    for (const Awaited handle : handles) pending_of(handle).waiter = nullptr;
  }
}

bool SimClock::done(Awaited handle) {
  begin_held();
  settle();
  return not_after(pending_of(handle).end_s, transport_.now());
}

// The main thread waited for an operation; while the device computed meanwhile, that is what it did.
void SimClock::book_wait(std::int32_t channel, double from_s, double to_s) {
  const double after = book(running_, book(beside_, from_s, to_s), to_s);
  ledger_.wait(channel, after, to_s);
  observers_.tell(Topic::time, &Observer::waited, rank_, channel, after, to_s);
}

}  // namespace simsgd
