// Worker: the one door between an algorithm and the machine it runs on. An algorithm is straight-line code
// that every rank runs; it sees nothing else. A worker is composed of roles, one header each under
// sim/roles/:
//   replica      parameters and optimizer state         compute      gradients, kernels, crashes
//   messages     between two ranks                      collectives  of groups
//   background   handlers, events, timers               preemption   gradients that can be given up
//   record       staleness, tables, numbers
// Implementations: sim/engine (SimGrid), tests (a fake without time), measure (MPI). All of them have all
// roles; what a machine cannot do for a job (measure/main.cpp) is refused before the run.
//
// Every operation has a cost, taken from the workload and the cluster, and an effect on values, taken from
// the learner. Sizes are given in bytes of the *workload*; values are handles of the *learner* (empty where
// nothing is learned).
#pragma once

#include <array>
#include <cstdint>
#include <memory>

#include "sim/base/random.hpp"
#include "sim/handle.hpp"
#include "sim/logical_graph.hpp"
#include "sim/roles/collectives.hpp"
#include "sim/roles/compute.hpp"
#include "sim/roles/messages.hpp"
#include "sim/roles/recorder.hpp"
#include "sim/roles/replica.hpp"
#include "sim/workload.hpp"

namespace simsgd {

struct Job;
class MessageCoder;

/// What a machine hands to an algorithm; it outlives the worker.
struct Roles {
  Replica* replica;
  Compute* compute;
  Messages* messages;
  Collectives* collectives;
  Recorder* record;
  Background* background = nullptr;
  Preemption* preemption = nullptr;
};

class Worker : public Completion {
 public:
  // Who and when.
  int rank() const { return rank_; }
  int size() const { return size_; }
  std::uint64_t seed() const { return seed_; }
  const Workload& workload() const { return workload_; }
  const LogicalGraph& graph() const { return graph_; }  ///< the scenario's graph of workers
  Executor& executor() { return executor_; }
  virtual double now() const = 0;          ///< seconds since the start, as this worker sees them
  virtual std::uint64_t step() const = 0;  ///< the current step, from 1; 0 before the first
  virtual bool next_step() = 0;  ///< ends the current step and begins the next; false: the run is over

  // Completion.
  using Completion::wait_any;
  template <std::size_t count>
  std::size_t wait_any(const std::array<Awaited, count>& handles) {
    return wait_any(std::span<const Awaited>(handles));
  }

  // Roles.
  Replica& replica() { return *roles_.replica; }
  const Replica& replica() const { return *roles_.replica; }
  Compute& compute() { return *roles_.compute; }
  Messages& messages() { return *roles_.messages; }
  Collectives& collectives() { return *roles_.collectives; }
  Recorder& record() { return *roles_.record; }
  Background& background();
  Preemption& preemption();

  Stream stream(Purpose purpose) const {
    return Stream({seed(), purpose, static_cast<std::uint32_t>(rank()), step()});
  }

 protected:
  Worker(const Job& job, int rank, Executor& executor);
  ~Worker() override;
  void compose(const Roles& roles);

 private:
  int rank_, size_;
  std::uint64_t seed_;
  const Workload& workload_;
  const LogicalGraph& graph_;
  Executor& executor_;
  const Job& job_;
  Roles roles_{};
  std::unique_ptr<MessageCoder> coder_;  // null: messages carry what they are given
};

/// The mean over all ranks of a vector that stands for the whole model or its gradient. Blocks.
Tensor mean_over_all(Worker& worker, Tensor values, Traffic traffic, const CodedPart& part = {});

}  // namespace simsgd
