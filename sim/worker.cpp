#include "sim/worker.hpp"

#include "sim/base/check.hpp"
#include "sim/job.hpp"

namespace simsgd {

Worker::Worker(const Job& job, int rank, Executor& executor)
    : rank_(rank),
      size_(job.workers()),
      seed_(job.seed),
      workload_(job.workload),
      graph_(job.graph),
      executor_(executor) {}

Background& Worker::background() {
  CHECK(roles_.background != nullptr, "this machine has no background");
  return *roles_.background;
}

Preemption& Worker::preemption() {
  CHECK(roles_.preemption != nullptr, "this machine cannot give up gradients");
  return *roles_.preemption;
}

Tensor mean_over_all(Worker& worker, Tensor values, Traffic traffic) {
  AllReduce mean;
  mean.bytes = worker.workload().model_bytes();
  mean.traffic = traffic;
  mean.contribution = std::move(values);
  mean.scale = 1.0 / worker.size();
  return worker.collectives().run(std::move(mean));
}

}  // namespace simsgd
