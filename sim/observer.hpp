// Observers: whoever listens to a run from outside. Clocks, roles and engines tell them what happens and know
// nothing of them: ledgers, timelines, learning curves and tests attach here.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <string>
#include <vector>

#include "sim/collectives/operation.hpp"
#include "sim/learn/tensor.hpp"
#include "sim/record.hpp"

namespace simsgd {

struct CollectiveOptions;

/// The channel of a rank's messages, which go beside one another; collectives have those from 1 on.
inline constexpr std::int32_t kMessageChannel = 0;

/// An operation as one rank saw it on one channel.
struct OperationSpan {
  double start_s = 0;  ///< this rank was ready and the channel free
  double go_s = 0;     ///< the last one that it depends on was ready
  double end_s = 0;
  double host_before_s = 0;  ///< host work right after start_s
  double host_after_s = 0;   ///< host work right before end_s
  Traffic traffic = Traffic::control;
};

/// A collective whose end a member has come to know. References are valid during the call.
struct CollectiveSeen {
  int rank = 0;
  CollectiveOp op = CollectiveOp::all_reduce;
  const CollectiveOptions& options;  ///< sizes and kind; no contribution
  const std::string& schedule;       ///< its name
  OperationSpan span;
  std::int32_t channel = 0;  ///< index in the ledger
  std::uint64_t sequence = 0;
  const std::vector<int>& members;       ///< ranks of the group
  const std::vector<double>& arrival_s;  ///< of the members, as far as they are known
  double posted_s = 0;                   ///< this rank started it; its channel may have been busy then
};

struct StepEnd {
  int rank = 0;
  std::uint64_t step = 0;
  double begin_s = 0, end_s = 0;
  const Tensor& model;
};

class Observer {
 public:
  virtual ~Observer() = default;
  // The main thread of `rank`. Every second of it is either booked or waited.
  virtual void booked(int /*rank*/, Activity /*activity*/, double /*seconds*/) {}
  /// It waited for an operation of `channel`.
  virtual void waited(int /*rank*/, std::int32_t /*channel*/, double /*from_s*/, double /*to_s*/) {}
  /// Its computing took so much longer because of communication that went on beside it.
  virtual void slowed(int /*rank*/, Traffic /*traffic*/, double /*seconds*/) {}
  /// What its device did, by name. Booked apart.
  virtual void span(int /*rank*/, const char* /*name*/, double /*from_s*/, double /*to_s*/) {}

  // Communication.
  virtual void operation(int /*rank*/, std::int32_t /*channel*/, const OperationSpan& /*span*/) {}
  virtual void collective(const CollectiveSeen& /*seen*/) {}
  virtual void message(int /*from*/, int /*to*/, double /*start_s*/, double /*end_s*/, double /*bytes*/) {}
  virtual void sent(int /*rank*/, Traffic /*traffic*/, double /*bytes*/) {}

  // Steps and learning.
  virtual void step_began(int /*rank*/, std::uint64_t /*step*/, double /*now_s*/) {}
  virtual void step_ended(const StepEnd& /*end*/) {}
  /// A gradient of so many samples of the workload was used; its tensor's first scalar is the mean loss.
  virtual void gradient_used(int /*rank*/, std::uint64_t /*step*/, const Tensor& /*gradient*/,
                             double /*samples*/) {}

  // What algorithms say for the record.
  virtual void staleness(int /*rank*/, double /*steps*/) {}
  virtual void table(int /*rank*/, const RecordTable& /*table*/) {}
  virtual void number(int /*rank*/, const std::string& /*name*/, double /*value*/) {}
};

/// What observers may listen to: so many are told so often that nobody should be told in vain.
enum class Topic : std::uint8_t {
  time,     ///< booked, waited, slowed, operation, sent
  drawing,  ///< span, collective, message
  steps,    ///< step_began, step_ended, gradient_used
  said,     ///< staleness, table, number
};
inline constexpr std::size_t kTopics = 4;

/// All of a run's. They outlive it.
class Observers {
 public:
  void attach(Observer& observer, std::initializer_list<Topic> topics) {
    for (const Topic topic : topics) of_[static_cast<std::size_t>(topic)].push_back(&observer);
  }
  /// Listens to everything.
  void attach(Observer& observer) {
    attach(observer, {Topic::time, Topic::drawing, Topic::steps, Topic::said});
  }

  template <class... Parameters, class... Arguments>
  void tell(Topic topic, void (Observer::*what)(Parameters...), const Arguments&... arguments) const {
    for (Observer* observer : of_[static_cast<std::size_t>(topic)]) (observer->*what)(arguments...);
  }

 private:
  std::array<std::vector<Observer*>, kTopics> of_;
};

/// Keeps what rank 0 says for the record.
class Notebook final : public Observer {
 public:
  void table(int rank, const RecordTable& table) override {
    if (rank == 0) tables_.push_back(table);
  }
  void number(int rank, const std::string& name, double value) override {
    if (rank == 0) numbers_[name] = value;
  }
  void fill(RunRecord& record) const {
    record.tables = tables_;
    record.extra.insert(numbers_.begin(), numbers_.end());
  }

 private:
  std::vector<RecordTable> tables_;
  std::map<std::string, double> numbers_;
};

}  // namespace simsgd
