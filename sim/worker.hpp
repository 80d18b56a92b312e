// Worker: the one door between an algorithm and the machine it runs on. An algorithm is straight-line code
// that every rank runs; it sees nothing else. Implementations: sim/engine (SimGrid), tests (a fake without
// time), measure (MPI).
//
// Every operation has a cost, taken from the workload and the cluster, and an effect on values, taken from
// the learner. Sizes are given in bytes of the *workload*; values are handles of the *learner* (empty where
// nothing is learned).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sim/base/random.hpp"
#include "sim/collectives/operation.hpp"
#include "sim/collectives/schedule.hpp"
#include "sim/learn/optimizer.hpp"
#include "sim/learn/values.hpp"
#include "sim/logical_graph.hpp"
#include "sim/record.hpp"
#include "sim/workload.hpp"

namespace simsgd {

/// A set of ranks in a fixed order. Made by Worker::group; 0 is everybody.
using GroupId = std::int32_t;
inline constexpr GroupId kWorld = 0;

/// Operations of one channel run one after another on each rank, in the order in which they were started
/// there, as on one NCCL stream.
using ChannelId = std::int32_t;

/// What travels from one rank to another.
struct Message {
  double bytes = 0;  ///< as the workload counts them
  Traffic traffic = Traffic::control;
  Values values;
  std::vector<double> numbers;  ///< small plain data: a version, a weight
  int from = -1;                ///< filled on arrival
};

/// Computes the result of a collective from the contributions of its members, in group order. One entry: the
/// same result for all; as many entries as members: one each.
using Effect = std::function<std::vector<Values>(Executor&, const std::vector<Values>& contributions)>;

/// The same for one member, `place` in the group, which may leave before everybody has come: only the
/// contributions that its schedule brings to it are there, the others are empty.
using PlaceEffect =
    std::function<Values(Executor&, std::int32_t place, const std::vector<Values>& contributions)>;

/// A collective operation. Members of a group start the same operations of a channel in the same order.
struct Collective {
  using Op = CollectiveOp;
  Op op = Op::all_reduce;
  double bytes = 0;  ///< of the whole vector: what is reduced or broadcast, or all that is gathered
  Traffic traffic = Traffic::gradient;
  Values contribution;
  std::optional<EntryRange> entries;  ///< of the contribution: only these take part; not for `custom`
  double scale = 1;
  /// How many tensors are gathered into one buffer before and scattered from it after (host costs); 0: the
  /// payload is sent from where it lies.
  int tensors = 1;
  int root = 0;  ///< index in the group
  GroupId group = kWorld;
  ChannelId channel = 0;
  std::string schedule;  ///< "" leaves the choice to the scenario ("network")
  /// For Op::custom. One schedule object and one effect for all ranks; `schedule` may name a plug-in instead.
  std::shared_ptr<const Schedule> custom;  ///< shared by all ranks: the algorithm makes it once
  Effect effect;
  PlaceEffect place_effect;  ///< instead of `effect`, where members leave early
};

/// Something started and perhaps not finished: a message, a collective, a computation. Shared by the
/// algorithm and the machine that will complete it.
class Pending {
 public:
  virtual ~Pending() = default;
};
using Handle = std::shared_ptr<Pending>;

/// What part of a step's mini-batch to differentiate, and whom to tell when layers are done.
struct ComputeOptions {
  int part = 0;  ///< of `parts` equal parts of the mini-batch
  int parts = 1;
  std::uint64_t batch = 0;  ///< the mini-batch of which step; 0: of this one. start_gradient only
  /// Called before the forward pass of each layer (of the last micro-batch), in forward order.
  std::function<void(int layer)> before_forward;
  /// Called when the gradient of a tensor is ready (of the last micro-batch), last layer first, at the time
  /// when its layer's backward pass ends. `gradient` is the whole gradient, of which the tensor is a part.
  /// May start operations and spend time; must not wait.
  std::function<void(const TensorInfo& tensor, const Values& gradient)> gradient_ready;
  /// Places (ascending, in the order of Workload::tensors) of the tensors that gradient_ready is called for;
  /// empty: all.
  std::span<const std::size_t> ready_at;
  /// If set, the Kronecker factors of the mini-batch are computed too (sim/learn/factors.hpp) and handed over
  /// here, before any other call; an empty handle without a learner.
  std::function<void(const Values& factors)> factors;
};

/// What a worker does after a crash, once it has restarted.
enum class Recovery : std::uint8_t {
  recompute,  ///< computes again what it had computed since its last checkpoint; its replica is then as it
              ///< was
  rejoin,     ///< goes on at once with the replica of its checkpoint: what it had learned since is lost
};

class Worker {
 public:
  virtual ~Worker() = default;

  // Who and when.
  virtual int rank() const = 0;
  virtual int size() const = 0;
  virtual double now() const = 0;          ///< seconds since the start, as this worker sees them
  virtual std::uint64_t step() const = 0;  ///< the current step, from 1; 0 before the first
  virtual bool next_step() = 0;  ///< ends the current step and begins the next; false: the run is over
  virtual const Workload& workload() const = 0;
  virtual std::uint64_t seed() const = 0;
  virtual GroupId group(const std::vector<int>& ranks) = 0;  ///< ranks ascending, this one among them
  virtual Executor& executor() = 0;

  // Replica.
  virtual std::size_t model_size() const = 0;  ///< parameters of the learner; 0 without one
  virtual Values model() const = 0;
  virtual void set_model(Values model) = 0;
  virtual void apply(const Values& gradient) = 0;  ///< one optimizer step at this step's learning rate
  virtual double learning_rate() const;            ///< that of this step

  // Computing. The value is the mean gradient over the samples asked for, at the model as it is when this
  // starts.
  virtual Values compute_gradient(const ComputeOptions& options = {}) = 0;
  virtual void spend(Activity activity, double seconds) = 0;  ///< computing that has no effect of its own
  /// Computing whose effect is `result`: takes `seconds` where time is simulated; a real machine may compute
  /// the result instead.
  virtual void spend_on(Activity activity, double seconds, const Values& result);
  /// The same as compute_gradient without waiting: one at a time, without callbacks; `cancel` stops it. Its
  /// result is the gradient; asking for it counts its samples as used.
  virtual Handle start_gradient(const ComputeOptions& options);
  virtual void cancel(const Handle& gradient);

  // Failures. Crashes come from the scenario; see sim/engine/outages.hpp for what they cost.
  /// How this algorithm recovers; recompute, if it never says. `restarted` is called on the main thread after
  /// each crash, when the replica is the one that the worker goes on with.
  virtual void recover_by(Recovery recovery, std::function<void()> restarted = {});

  // Messages. Matched by (from, to, tag) in the order sent; a transfer begins when both sides have asked for
  // it.
  virtual Handle start_send(int to, int tag, Message message) = 0;
  virtual Handle start_receive(int from, int tag) = 0;

  // Collectives.
  virtual Handle start(Collective collective) = 0;
  /// Seconds that the collective takes when all members arrive together and nothing else uses the network.
  virtual double predict(const Collective& collective) = 0;

  // Completion.
  virtual void wait(const Handle& handle) = 0;
  virtual std::size_t wait_any(
      std::span<const Handle> handles) = 0;  ///< index of one that is complete, the first if several
  virtual bool done(const Handle& handle) = 0;
  virtual Values result(const Handle& handle) = 0;                 ///< of a completed collective
  virtual std::vector<Values> gathered(const Handle& handle) = 0;  ///< of a completed all_gather
  virtual Message message(const Handle& handle) = 0;               ///< of a completed receive

  // Background: what goes on while the main thread computes or waits. Handlers and actions are called outside
  // the main thread, in the order of time; they take no time and must not wait or compute, but may do
  // everything else, and see and set the model atomically. A real machine that cannot do this yet throws
  // RunError.
  /// Calls `handler` for every message that is posted to this rank with `tag`.
  virtual void serve(int tag, std::function<void(const Message&)> handler);
  /// Sends a message to a rank that serves `tag`; nobody waits.
  virtual void post(int to, int tag, Message message);
  /// Calls `action` when `handle` is complete.
  virtual void then(const Handle& handle, std::function<void()> action);
  /// Numbers that spread over all ranks from whoever calls `spread` first, by the rule of
  /// algorithms/activation: `heard` is called for each number of `tag` that others spread, in the background.
  /// False where this machine has no shorter way than messages.
  virtual bool listen(int tag, std::function<void(std::uint64_t number)> heard);
  virtual void spread(int tag, std::uint64_t number);
  /// Something to wait for that is complete once `signal` is called for it, by this rank.
  virtual Handle make_event();
  virtual void signal(const Handle& event);
  /// Something to wait for that is complete `seconds` from now.
  virtual Handle start_timer(double seconds);

  // For the record.
  virtual void note_staleness(double steps);        ///< a value that was used is so many steps old
  virtual void note_table(RecordTable table);       ///< what was decided; the record keeps rank 0's
  virtual void note_work(const std::string& what);  ///< what the next `spend` is for, in the timeline
  virtual const LogicalGraph& graph() const;        ///< the scenario's graph of workers

  // Conveniences on top of the above.
  Stream stream(Purpose purpose) const {
    return Stream({seed(), purpose, static_cast<std::uint32_t>(rank()), step()});
  }
  void send(int to, int tag, Message message) { wait(start_send(to, tag, std::move(message))); }
  Message receive(int from, int tag) {
    const Handle handle = start_receive(from, tag);
    wait(handle);
    return message(handle);
  }
  /// The mean over all ranks of a vector that stands for the whole model or its gradient. Blocks.
  Values allreduce_mean(Values values, Traffic traffic);
  void barrier();
};

}  // namespace simsgd
