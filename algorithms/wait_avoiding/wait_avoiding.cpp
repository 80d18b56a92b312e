#include "algorithms/wait_avoiding/wait_avoiding.hpp"

#include <algorithm>
#include <numeric>
#include <optional>

#include "sim/collectives/schedule.hpp"
#include "sim/collectives/schedules.hpp"

namespace simsgd {

namespace {
constexpr const char* kAsTheCluster = "cluster";
constexpr std::uint32_t kInitiatorStream = 0x80000000;  // beyond all ranks
}  // namespace

void all_reduce_field(Fields& f, std::string& schedule) {
  std::vector<std::string> names{kAsTheCluster};
  for (const SchedulePlugin& plugin : schedule_plugins())
    if (plugin.op == CollectiveOp::all_reduce) names.push_back(plugin.info.name);
  f.choice("all_reduce", schedule, names,
           "Schedule of the operations; \"cluster\": as the cluster does all_reduce (/network/all_reduce)");
}

std::string asked_schedule(const std::string& schedule) { return schedule == kAsTheCluster ? "" : schedule; }

void activation_field(Fields& f, Initiator& value) {
  f.choice(
      "activation", value, {{"solo", Initiator::solo}, {"majority", Initiator::majority}},
      "Who starts an operation: the worker that reaches it first (solo), or one that is drawn for each operation, so that on average half of the others have arrived (majority)");
}

int drawn_initiator(std::uint64_t seed, std::uint64_t version, int ranks) {
  Stream stream({seed, Purpose::algorithm, kInitiatorStream, version});
  return static_cast<int>(stream.below(static_cast<std::uint32_t>(ranks)));
}

// One rank's side: the calls of its main thread, and its communication side, which the handlers run.
class WaitAvoiding::Rank : public std::enable_shared_from_this<WaitAvoiding::Rank> {
 public:
  Rank(Worker& worker, const Settings& settings, Begin begin)
      : worker_(worker), settings_(settings), begin_(std::move(begin)) {}

  // Apart from the constructor, because the handlers share this object.
  void listen() {
    activation_.emplace(worker_, settings_.tag, [rank = weak_from_this()](std::uint64_t version) {
      if (const auto self = rank.lock()) self->heard(version);
    });
  }

  Outcome call() {
    const std::uint64_t version = arrived_++;
    if (heard_ <= version && may_activate(version)) activation_->announce(version);
    if (started_ <= version) {
      start_event_ = worker_.background().make_event();
      worker_.wait(start_event_);
      start_event_ = {};
    }
    while (first_kept_ < version) forget_first();
    const Part own = kept_.front();
    worker_.wait(own.operation);
    Part latest = kept_.back();
    std::uint64_t seen = started_ - 1;
    if (seen > version && !worker_.done(latest.operation)) {
      latest = kept_[kept_.size() - 2];
      --seen;
    }
    return {version, own.fresh, own.operation.result(), seen, latest.operation.result()};
  }

  void close() { begin_ = nullptr; }

 private:
  struct Part {
    Handle<Tensor> operation;
    bool fresh = true;
  };

  bool may_activate(std::uint64_t version) const {
    return settings_.initiator == Initiator::solo ||
           drawn_initiator(worker_.seed(), version, worker_.size()) == worker_.rank();
  }

  void forget_first() {
    kept_.pop_front();
    ++first_kept_;
  }

  // Whoever has reached a version has been through the earlier ones: they have begun too.
  void heard(std::uint64_t version) {
    heard_ = std::max(heard_, version + 1);
    start_next();
  }

  void start_next() {
    while (started_ < heard_ && begin_) {
      if (!kept_.empty() && !worker_.done(kept_.back().operation)) return start_when_through();
      const bool fresh = arrived_ > started_;
      kept_.push_back({worker_.collectives().start(begin_(started_, fresh)), fresh});
      ++started_;
      if (start_event_ && started_ == arrived_) worker_.background().signal(start_event_);
    }
  }

  void start_when_through() {
    if (waits_) return;
    waits_ = true;
    worker_.background().then(kept_.back().operation, [self = shared_from_this()] {
      self->waits_ = false;
      self->start_next();
    });
  }

  Worker& worker_;
  Settings settings_;
  Begin begin_;
  std::optional<Activation> activation_;
  std::uint64_t heard_ = 0;    // versions that have been activated, as far as this rank knows
  std::uint64_t started_ = 0;  // versions that this rank takes part in, or did
  std::uint64_t arrived_ = 0;  // versions that the main thread has called
  std::uint64_t first_kept_ = 0;
  std::deque<Part> kept_;        // of versions first_kept_ ... started_ - 1
  Handle<Nothing> start_event_;  // signalled when the version that the main thread waits for starts
  bool waits_ = false;           // for the end of the last version, to start the next
};

WaitAvoiding::WaitAvoiding(Worker& worker, const Settings& settings, Begin begin)
    : rank_(std::make_shared<Rank>(worker, settings, std::move(begin))) {
  rank_->listen();
}

WaitAvoiding::~WaitAvoiding() { rank_->close(); }

WaitAvoiding::Outcome WaitAvoiding::call() { return rank_->call(); }

std::vector<int> butterfly_group(int rank, int workers, int size, std::uint64_t iteration) {
  const int bits = ceil_log2(workers), phases = ceil_log2(size);
  int mask = 0;
  for (int phase = 0; phase < phases; ++phase)
    mask |= 1 << (iteration * static_cast<std::uint64_t>(phases) + static_cast<std::uint64_t>(phase)) %
                     static_cast<std::uint64_t>(bits);
  std::vector<int> group;
  for (int other = 0; other < workers; ++other)
    if ((other & ~mask) == (rank & ~mask)) group.push_back(other);
  return group;
}

std::uint64_t butterfly_cycle(int workers, int size) {
  const int bits = ceil_log2(workers), phases = ceil_log2(size);
  return phases == 0 ? 1 : static_cast<std::uint64_t>(bits / std::gcd(bits, phases));
}

}  // namespace simsgd
