// The simulated Worker: an actor of SimGrid whose own clock may run ahead of SimGrid's. Computing and
// collectives at `closed` and `steps` only move that clock; the actor sleeps (`settle`) where the order of
// events matters: messages, waiting for any of several things, a run that ends by the clock.
#pragma once

#include <functional>
#include <map>
#include <memory>

#include "sim/base/instants.hpp"
#include "sim/engine/collective_engine.hpp"
#include "sim/engine/mailroom.hpp"
#include "sim/engine/news.hpp"
#include "sim/engine/outages.hpp"
#include "sim/engine/run_end.hpp"
#include "sim/engine/slowdown.hpp"
#include "sim/recording/learning_curve.hpp"
#include "sim/recording/ledger.hpp"
#include "sim/recording/timeline.hpp"
#include "sim/step_cost.hpp"

namespace simsgd {

class SimWorker;

/// What the workers of one run share.
struct World {
  const Job& job;
  Executor& executor;
  Transport& transport;
  Groups& groups;
  CollectiveEngine& collectives;
  Mailroom& mailroom;
  LearningCurve& curve;
  Timeline& timeline;
  StepTimes& step_times;
  News& news;
  RunEnd& end;
  std::vector<std::unique_ptr<SimWorker>>* workers = nullptr;
  Values initial_model{};
  std::vector<TensorInfo> tensors{};              ///< in the order in which they become ready
  std::vector<double> tensor_ready_s{};           ///< of each, from the start of the backward pass, nominal
  double forward_s = 0, backward_s = 0;           ///< of a micro-batch
  std::vector<RecordTable> tables{};              ///< noted by rank 0
  std::function<void(std::uint64_t)> progress{};  ///< may be empty; called by rank 0 at each step
};

class SimWorker final : public Worker, public Waiter {
 public:
  SimWorker(int rank, World& world);
  ~SimWorker() override;

  int rank() const override { return rank_; }
  int size() const override { return world_.job.workers(); }
  double now() const override;
  std::uint64_t step() const override { return step_; }
  bool next_step() override;
  const Workload& workload() const override { return world_.job.workload; }
  std::uint64_t seed() const override { return world_.job.seed; }
  GroupId group(const std::vector<int>& ranks) override { return world_.groups.intern(ranks); }
  Executor& executor() override { return world_.executor; }

  std::size_t model_size() const override;
  Values model() const override { return state_.parameters; }
  void set_model(Values model) override { state_.parameters = std::move(model); }
  void apply(const Values& gradient) override;
  double learning_rate() const override { return world_.job.optimizer.learning_rate.at(step_); }

  Values compute_gradient(const ComputeOptions& options) override;
  void spend(Activity activity, double seconds) override;

  Handle start_send(int to, int tag, Message message) override;
  Handle start_receive(int from, int tag) override;
  Handle start(Collective collective) override;
  double predict(const Collective& collective) override {
    return world_.collectives.predict(rank_, collective);
  }

  void wait(const Handle& handle) override;
  std::size_t wait_any(std::span<const Handle> handles) override;
  bool done(const Handle& handle) override;
  Values result(const Handle& handle) override;
  std::vector<Values> gathered(const Handle& handle) override;
  Message message(const Handle& handle) override;

  Handle start_gradient(const ComputeOptions& options) override;
  void cancel(const Handle& gradient) override;
  void recover_by(Recovery recovery, std::function<void()> restarted) override;

  void serve(int tag, std::function<void(const Message&)> handler) override;
  void post(int to, int tag, Message message) override;
  void then(const Handle& handle, std::function<void()> action) override;
  bool listen(int tag, std::function<void(std::uint64_t)> heard) override;
  void spread(int tag, std::uint64_t number) override;
  Handle make_event() override;
  void signal(const Handle& event) override;
  Handle start_timer(double seconds) override;

  void note_staleness(double steps) override { ledger_.staleness(steps); }
  void note_table(RecordTable table) override {
    if (rank_ == 0) world_.tables.push_back(std::move(table));
  }
  void note_work(const std::string& what) override {
    if (world_.timeline.records(rank_)) work_ = what;
  }
  const LogicalGraph& graph() const override { return world_.job.graph; }

  /// A message that was posted to this rank has arrived.
  void deliver(int tag, const Message& message);

  void wake() override;

  /// The replica at this instant, at which SimGrid's clock stands.
  ModelAtInstant model_now() const {
    return serves_ ? ModelAtInstant{completed_.step, state_.parameters} : completed_;
  }

  Ledger& ledger() { return ledger_; }
  const Outages* outages() const { return outages_.get(); }  ///< null where nothing fails
  void ended() { runs_ = false; }
  bool runs() const { return runs_; }  ///< false once its algorithm has returned
  /// True while the actor sleeps for something whose end is not known: a deadlock, if it stays so.
  bool blocked() const { return blocked_; }

 private:
  // A gradient that was started and is neither complete nor cancelled.
  struct RunningGradient {
    std::shared_ptr<SimPending> pending;  // shared with the algorithm, which waits for it
    double start_s = 0, compute_s = 0;    // from compute_s on it computes; before that it is delayed
    double straggle_share = 0;            // of the time from compute_s on
    ComputeOptions options;
    std::vector<Outages::Outage> outages;  // that hit it, until it is through
    double seconds = 0;                    // that it takes without them
  };
  StepCost cost_of_mini_batch(int parts);
  void set_background(const std::function<void()>& action);
  void finish_backward();
  double book_tail(double from_s, double to_s);
  void book_wait(const SimPending& pending, double from_s, double to_s);
  double book_running(double from_s, double to_s);
  void settle();
  void block();
  double work(double seconds);
  void compute(double nominal_s, const StepCost& cost);
  void compute_forward(const ComputeOptions& options, const StepCost& cost);
  void compute_backward(const ComputeOptions& options, const StepCost& cost, const Values& gradient);
  double seconds_of(const ComputeOptions& options, const StepCost& cost) const;
  void live_through(double seconds);
  void crash(const Outages::Outage& outage);
  void pass(const Outages::Outage& outage);
  void write_checkpoint();
  Values submit_gradient(const ComputeOptions& options, const Values& model);
  void end_step();
  void use_samples(double share_of_batch);
  static SimPending& pending_of(const Handle& handle);

  struct Sleeper;  // SimGrid's semaphore
  int rank_;
  World& world_;
  Clock local_s_;
  std::string work_;  // what the next `spend` is for; empty: its activity
  std::uint64_t step_ = 0;
  ModelAtInstant completed_;  // after the last step that is complete
  double step_samples_ = 0;   // used in this step
  double step_begin_s_ = 0;
  std::uint32_t mini_batches_ = 0;  // begun in this step
  ReplicaState state_;
  Ledger ledger_;
  Slowdown slowdown_;
  std::unique_ptr<Sleeper> sleeper_;
  bool blocked_ = false, runs_ = true;
  bool in_background_ = false;  // a handler or an action of `then` is running
  bool serves_ = false;         // handlers may touch this worker: its clock must not run ahead of events
  std::map<int, std::function<void(const Message&)>> handlers_;
  RunningGradient running_;
  std::unique_ptr<Outages> outages_;  // null where nothing fails
  ReplicaState checkpoint_;
  std::function<void()> restarted_;     // may be empty
  double backward_end_s_ = 0;           // of the last backward pass; what follows it may begin earlier
  double backward_straggle_share_ = 0;  // of its time
};

}  // namespace simsgd
