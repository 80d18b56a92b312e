// A run whose ranks all do the same in every step (sim/algorithm.hpp), without fibers or roles: what one
// does is taken down once (step_trace.hpp); a rank is its clock and its place in that, and each collective
// one pass over the times of all. What observers are told, and in which order, is what fibers would tell
// (tests/engine/lockstep.cpp): a rank goes on until it waits for what somebody has not started; whoever
// starts an operation last goes on, and then, in the order of ranks, those who waited for it. Where
// operations of groups follow on others, whose end a device feels that computes beside them, ranks go on in
// the order of their clocks.
//
// Where nothing is drawn and nobody listens, ranks do the same until an operation ends for some of them at
// another instant: one of them does it for all.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "sim/engine/earliest.hpp"
#include "sim/engine/sim_worker.hpp"
#include "sim/engine/step_trace.hpp"
#include "sim/recording/ledger.hpp"

namespace simsgd {

class LockstepRun {
 public:
  /// Null where the world's job cannot be run so: something is learned, somebody waits for an event, or
  /// steps are not alike. The world's observers hear of the first `heard` ranks. Of the others only ledgers
  /// are told.
  static std::unique_ptr<LockstepRun> make(World& world, const SimWorker::Steps& steps, std::size_t heard);
  void run();
  /// What crashes cost all ranks; nothing where nothing fails.
  std::vector<Crashes::Totals> crash_totals(double over_s) const;

 private:
  // The groups that an operation is of, of which each rank is in one.
  struct Split {
    struct Place {
      std::size_t part = 0, member = 0;
    };
    std::vector<GroupId> parts;
    std::vector<Place> of_rank;
  };
  /// Of an operation that follows on another.
  struct Following {
    std::uint64_t after = 0, number = 0;
  };
  struct Rank {
    std::uint64_t step = 0;     // that it is in, from 1
    std::size_t next = 0;       // of the step's actions
    std::uint64_t started = 0;  // operations
    std::uint64_t told = 0;     // operations that its ledger knows of
    std::uint64_t awaits = 0;   // number of the operation that it waits for, plus 1; 0: none
    double begin_s = 0;         // of the step
    StepCost cost;              // of the gradient
    double stop_s = 0, done_s = 0, beside_s = 0;  // of the last backward pass: nominal, and what goes on
    bool over = false;
    std::vector<Following> following;         // on operations that are not known; few
    std::vector<Slowdown::Started> upcoming;  // what its device will feel; few
  };
  // Of an operation of the trace: with what it does by group, and where groups go abreast, how.
  struct Prepared {
    AnyCollective& what;
    Traffic traffic;
    const Split& split;
    std::vector<CollectiveEngine::Prepared> parts;
    std::optional<AbreastTiming> abreast;
  };
  // Started by somebody, and waited for by somebody, perhaps.
  struct Operation {
    struct Part {
      std::size_t posted = 0;
      bool known = false;  // all have started it
      CollectiveEngine::Whole whole;
    };
    const Prepared* what = nullptr;
    std::size_t known = 0;
    std::vector<Part> parts;  // by group of its split; more are not used
  };
  // An operation as one rank sees it.
  struct Seen {
    Operation& operation;
    Operation::Part& part;
    const CollectiveEngine::Prepared& prepared;
    std::size_t member;

    double end_s() const { return part.whole.ends_s[member]; }
  };

  LockstepRun(World& world, const SimWorker::Steps& steps, std::size_t heard, StepTrace trace,
              std::map<GroupId, Split> splits, AbreastTimings timings);
  static std::map<GroupId, Split> splits_of(const StepTrace& trace, const World& world);
  bool hears(std::size_t rank) const { return rank < heard_; }
  Ledger& ledger_of(std::size_t rank) { return world_.ledgers.of(static_cast<int>(rank)); }
  /// How many do what that one does, itself one of them.
  std::size_t as_many_as(std::size_t rank) const {
    return simulated_.size() < clocks_.size() ? 1 + alike_[rank].size() : 1;
  }
  void fetch_rank(std::size_t rank);
  bool begin_alike() const;
  void add_clock(std::size_t rank);
  void part_ways(const Operation::Part& part);
  void stand_in(std::size_t rank, std::size_t other);
  void go_on(std::size_t rank);
  bool next_step(std::size_t rank);
  void end_step(std::size_t rank);
  const StepTrace::Actions& actions_of(std::size_t rank) const;
  [[gnu::always_inline]] inline bool act(std::size_t rank, const StepTrace::Action& action);
  void draw(std::size_t rank, const StepTrace::Action& action);
  void begin_gradient(std::size_t rank);
  void begin_backward(std::size_t rank);
  [[gnu::always_inline]] inline void compute_until(std::size_t rank, double until_s);
  void spend(std::size_t rank, Activity activity, double seconds, const char* label);
  bool catch_up(std::size_t rank);
  void feel_upcoming(std::size_t rank);
  std::uint64_t open(std::size_t rank, const Prepared& what);
  void start(std::size_t rank, std::uint64_t number, const Seen& seen, double at_s);
  void start_following(std::size_t rank, std::uint64_t after);
  void all_started(std::uint64_t number, std::size_t part);
  Slowdown::Started felt(const Seen& seen, double at_s) const;
  void forget_operations();
  bool wait(std::size_t rank, std::size_t ago, bool idly);
  void tell(std::size_t rank, std::uint64_t number);
  void tell_ledger(std::size_t rank, std::uint64_t until);
  Operation& operation(std::uint64_t number) {
    return *operations_[static_cast<std::size_t>(number - first_)];
  }
  [[gnu::always_inline]] Seen seen_by(std::size_t rank, std::uint64_t number) {
    Operation& seen = operation(number);
    if (seen.what->parts.size() == 1) return {seen, seen.parts[0], seen.what->parts[0], rank};
    const Split::Place place = seen.what->split.of_rank[rank];
    return {seen, seen.parts[place.part], seen.what->parts[place.part], place.member};
  }

  World& world_;
  const SimWorker::Steps& steps_;
  std::size_t heard_;
  Observers nobody_;
  StepTrace trace_;
  StepTrace::Steps unheard_;                     // those of the trace without marks and spans
  std::map<GroupId, Split> splits_;              // by the group of rank 0
  bool in_time_order_;                           // there are groups
  std::vector<Prepared> prepared_;               // each of the trace's operations
  double step_s_ = 0;                            // nominal
  std::vector<std::optional<SimClock>> clocks_;  // by rank; they do not move
  std::vector<Rank> ranks_;
  std::vector<int> simulated_;                // ranks; all but those of alike_
  std::vector<std::vector<int>> alike_;       // by rank: the others that do what it does
  std::size_t running_ = 0;                   // rank
  std::vector<Crashes> crashes_;              // by rank; empty: nothing fails
  std::vector<std::vector<double>> marks_s_;  // by rank that is heard, and by number
  std::vector<std::size_t> ready_, turn_;     // who goes on next, and who goes on in this turn
  std::size_t waiting_ = 0;                   // how many of simulated_ wait
  std::size_t following_ = 0;                 // operations that follow on one that is not known, of all
  Earliest due_;                              // in place of these, in time order
  std::size_t behind_ = 0;                    // a rank that needs the oldest operation, or did
  std::uint64_t first_ = 0;                   // number of operations_.front(); as they are started
  std::deque<std::unique_ptr<Operation>> operations_;
  std::vector<std::unique_ptr<Operation>> unused_;
};

}  // namespace simsgd
