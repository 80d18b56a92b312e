// Collectives: operations of a group of ranks, one options type each. Members of a group start the same
// operations of a channel in the same order; operations of one channel run one after another on each rank, in
// the order in which they were started there, as on one NCCL stream.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "sim/collectives/operation.hpp"
#include "sim/collectives/schedule.hpp"
#include "sim/handle.hpp"
#include "sim/learn/tensor.hpp"
#include "sim/record.hpp"

namespace simsgd {

/// A set of ranks in a fixed order. Made by Collectives::group; 0 is everybody.
using GroupId = std::int32_t;
inline constexpr GroupId kWorld = 0;
using ChannelId = std::int32_t;

/// Computes the result of a collective from the contributions of its members, in group order. One entry: the
/// same result for all; as many entries as members: one each.
using Effect = std::function<std::vector<Tensor>(Executor&, const std::vector<Tensor>& contributions)>;

/// The same for one member, by its rank in the group, which may leave before everybody has come: only the
/// contributions that its schedule brings to it are there, the others are empty.
using MemberEffect =
    std::function<Tensor(Executor&, std::int32_t group_rank, const std::vector<Tensor>& contributions)>;

/// What a schedule does to values on the way, where it does not only gather them: a message of a stage that
/// adds (Carried) is merged with what its receiver holds, any other takes its place. Of real runs; the
/// simulation has the Effect, which gives the same. `member` and `sender` are ranks in the group.
struct Merging {
  std::function<Tensor(Executor&, std::int32_t member, std::int32_t sender, const Tensor& held,
                       const Tensor& received)>
      merge;
  /// What of it a message takes along; empty: all.
  std::function<Tensor(Executor&, const Tensor& held)> sent;
  /// What a member gets in the end.
  std::function<Tensor(Executor&, std::int32_t member, const Tensor& held)> finish;
};

/// What a codec of messages must know of a vector (sim/roles/message_coder.hpp).
struct CodedPart {
  bool change = false;    ///< of Traffic::model: how far a model went, not a model
  std::size_t first = 0;  ///< the model's entry that its first number is; beyond its end: another vector's
  std::size_t exact = 0;  ///< so many of its last numbers travel as they are, such as counts; SIZE_MAX: all
};

class MessageCoder;

/// What every collective is told.
struct CollectiveOptions {
  double bytes = 0;  ///< of the whole vector: what is reduced or sent, or all that is gathered
  Traffic traffic = Traffic::gradient;
  /// How many tensors are gathered into one buffer before and scattered from it after (host costs); 0: the
  /// payload is sent from where it lies.
  int tensors = 1;
  GroupId group = kWorld;
  ChannelId channel = 0;
  std::string schedule;  ///< "" leaves the choice to the scenario ("network")
  Tensor contribution;   ///< empty where nothing is learned
  CodedPart part{};
  CodingTimes times{};  ///< the machine's
};

/// Everybody gets scale * sum of the contributions.
struct AllReduce : CollectiveOptions {
  double scale = 1;
  std::optional<EntryRange> entries;  ///< of the contribution: only these take part
};
/// Member i of P gets entries [n i / P, n (i+1) / P) of scale * sum of the contributions of n entries each.
struct ReduceScatter : CollectiveOptions {
  double scale = 1;
};
/// Everybody gets every contribution (an empty list where there are none); `bytes` are those of all.
struct AllGather : CollectiveOptions {
  std::optional<double> sum_scale{};  ///< given: everybody gets this times their sum instead, one tensor
};
/// Member j gets part j, as ReduceScatter cuts, of every contribution, one after another in group order;
/// `bytes` are what one member contributes.
struct AllToAll : CollectiveOptions {};
/// Everybody gets the root's contribution.
struct Broadcast : CollectiveOptions {
  int root = 0;  ///< its rank in the group
};
/// The root gets scale * sum of the contributions.
struct Reduce : CollectiveOptions {
  double scale = 1;
  int root = 0;
};
struct Barrier : CollectiveOptions {
  Barrier() { traffic = Traffic::control; }
};
/// A schedule of the algorithm's own, and what it does to values.
struct CustomCollective : CollectiveOptions {
  /// One schedule object for all ranks, shared by them: the algorithm makes it once.
  std::shared_ptr<const Schedule> messages;
  Effect effect;
  MemberEffect member_effect;  ///< instead of `effect`, where members leave early
  Merging merging;             ///< beside `effect`, where the schedule merges and does not gather
  double size = 1;             ///< of its messages, relative to what they are in the schedule
};

/// One of them, in the order of CollectiveOp.
using AnyCollective =
    std::variant<AllReduce, ReduceScatter, AllGather, AllToAll, Broadcast, Reduce, Barrier, CustomCollective>;
CollectiveOp op_of(const AnyCollective& collective);
const CollectiveOptions& options_of(const AnyCollective& collective);
CollectiveOptions& options_of(AnyCollective& collective);
int root_of(const AnyCollective& collective);  ///< 0 where there is none

/// Where a machine puts what a member gets: into its handle.
struct CollectiveSlot {
  std::shared_ptr<Pending> pending;      ///< shared with the algorithm's handle
  Tensor* value = nullptr;               ///< of most operations
  std::vector<Tensor>* parts = nullptr;  ///< of all_gather
};

class Collectives {
 public:
  explicit Collectives(Completion& completion) : completion_(completion) {}
  virtual ~Collectives() = default;

  virtual GroupId group(const std::vector<int>& ranks) = 0;  ///< ranks ascending, this one among them

  /// A handle of what it gives: an AllGather's tensors, nothing of a Barrier, else one tensor.
  template <class Operation>
  auto start(Operation operation) {
    return start_one(std::move(operation), nullptr);
  }

  /// Blocking: what it gives.
  template <class Operation>
  auto run(Operation operation) {
    double decode_s = 0;
    const auto handle = start_one(std::move(operation), &decode_s);
    completion_.wait(handle);
    if (decode_s > 0) decode(decode_s);
    return handle.result();
  }

  /// Seconds that the collective takes when all members arrive together and nothing else uses the network.
  double predict(AnyCollective collective);

  /// From now on it says what travels; null: all, as it is. It outlives this.
  void code_by(MessageCoder* coder) { coder_ = coder; }

 protected:
  virtual double predicted(const AnyCollective& collective) = 0;
  virtual std::size_t members(GroupId group) const = 0;
  /// Starts it, as it travels; what it gives goes to `slot`.
  virtual void begin(AnyCollective&& collective, CollectiveSlot slot) = 0;

 private:
  // `decode_s`: of MessageCoder::encode.
  Handle<Tensor> start_one(AnyCollective&& collective, double* decode_s);
  Handle<std::vector<Tensor>> start_one(AllGather&& operation, double* decode_s);
  Handle<Nothing> start_one(Barrier&& operation, double* decode_s);
  void begin_coded(AnyCollective&& collective, CollectiveSlot slot, double* decode_s);
  void decode(double seconds);

  Completion& completion_;
  MessageCoder* coder_ = nullptr;
};

/// What the members of one operation get, computed once for all of them.
class CollectiveResults {
 public:
  /// Puts what member `group_rank` gets into its slot. `contributions` as they arrive, in group order;
  /// `complete`: all are there. Where they are not, a member that leaves early gets nothing, the root's
  /// vector, or what its member_effect makes of those that are there.
  void deliver(Executor& executor, const AnyCollective& collective, const std::vector<Tensor>& contributions,
               bool complete, std::int32_t group_rank, const CollectiveSlot& slot);

 private:
  std::vector<Tensor> results_;
};

/// A group-sized part of a dense tensor: entries [n i / parts, n (i+1) / parts).
Tensor part_of(Executor& executor, const Tensor& whole, std::size_t part, std::size_t parts);

}  // namespace simsgd
