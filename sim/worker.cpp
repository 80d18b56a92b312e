#include "sim/worker.hpp"

#include "sim/base/check.hpp"
#include "sim/job.hpp"
#include "sim/roles/message_coder.hpp"

namespace simsgd {

Worker::Worker(const Job& job, int rank, Executor& executor)
    : rank_(rank),
      size_(job.workers()),
      seed_(job.seed),
      workload_(job.workload),
      graph_(job.graph),
      executor_(executor),
      job_(job) {}

Worker::~Worker() = default;

void Worker::compose(const Roles& roles) {
  roles_ = roles;
  if (!job_.coding().codec && job_.network.precision == Precision::fp32) return;
  coder_ =
      std::make_unique<MessageCoder>(job_, rank_, executor_, *roles.compute, roles.replica->parameters());
  roles.messages->code_by(coder_.get());
  roles.collectives->code_by(coder_.get());
  if (roles.background) roles.background->code_by(coder_.get());
}

Background& Worker::background() {
  CHECK(roles_.background != nullptr, "this machine has no background");
  return *roles_.background;
}

Preemption& Worker::preemption() {
  CHECK(roles_.preemption != nullptr, "this machine cannot give up gradients");
  return *roles_.preemption;
}

Tensor mean_over_all(Worker& worker, Tensor values, Traffic traffic, const CodedPart& part) {
  AllReduce mean;
  mean.bytes = worker.workload().model_bytes();
  mean.traffic = traffic;
  mean.contribution = std::move(values);
  mean.scale = 1.0 / worker.size();
  mean.part = part;
  return worker.collectives().run(std::move(mean));
}

}  // namespace simsgd
