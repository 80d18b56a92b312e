#include "tests/support/fake_world.hpp"

#include <algorithm>
#include <memory>

#include "tests/support/fake_roles.hpp"

namespace simsgd::test {

namespace {

class FakeWorker final : public Worker {
 public:
  FakeWorker(int rank, FakeShared& shared, Observers& observers, const Tensor& parameters)
      : Worker(shared.job, rank, shared.executor),
        shared_(shared),
        observers_(observers),
        clock_(shared),
        times_(shared.job.workload),
        replica_(shared.executor, shared.job.optimizer, parameters, {}),
        compute_(shared.job, times_, rank, shared.executor, clock_, replica_, observers),
        messages_(rank, shared, *this),
        collectives_(rank, shared, *this),
        background_(rank, shared),
        preemption_(shared, compute_, replica_),
        recorder_(rank, observers) {
    compose({.replica = &replica_,
             .compute = &compute_,
             .messages = &messages_,
             .collectives = &collectives_,
             .record = &recorder_,
             .background = &background_,
             .preemption = &preemption_});
    shared.backgrounds[static_cast<std::size_t>(rank)] = &background_;
  }

  double now() const override { return clock_.now(); }
  std::uint64_t step() const override { return step_; }
  bool next_step() override {
    if (step_ > 0) end_step();
    if (step_ >= shared_.job.stop.steps) {
      if (background_.serves()) shared_.turns.wait_for_end(rank());
      return false;
    }
    shared_.turns.let_others(rank());
    ++step_;
    shared_.turns.begin_step(rank(), step_);
    compute_.begin_step(step_);
    observers_.tell(Topic::steps, &Observer::step_began, rank(), step_, now());
    return true;
  }

  using Worker::wait_any;
  void wait(Awaited handle) override { wait_any({&handle, 1}); }
  std::size_t wait_any(std::span<const Awaited> handles) override {
    shared_.turns.do_agenda();
    const auto complete = [](const Awaited& handle) { return handle.pending()->known(); };
    if (std::none_of(handles.begin(), handles.end(), complete)) shared_.turns.wait_for_any(rank(), handles);
    return static_cast<std::size_t>(std::find_if(handles.begin(), handles.end(), complete) - handles.begin());
  }
  bool done(Awaited handle) override {
    shared_.turns.do_agenda();
    return handle.pending()->known();
  }

 private:
  void end_step() {
    compute_.finish_step();
    observers_.tell(Topic::steps, &Observer::step_ended,
                    StepEnd{rank(), step_, 0, now(), replica_.parameters()});
  }

  FakeShared& shared_;
  Observers& observers_;
  FakeClock clock_;
  PassTimes times_;
  Replica replica_;
  Compute compute_;
  FakeMessages messages_;
  FakeCollectives collectives_;
  FakeBackground background_;
  FakePreemption preemption_;
  Recorder recorder_;
  std::uint64_t step_ = 0;
};

class Losses final : public Observer {
 public:
  Losses(Executor& executor, std::vector<std::vector<double>>& of_ranks)
      : executor_(executor), of_ranks_(of_ranks) {}
  void gradient_used(int rank, std::uint64_t, const Tensor& gradient, double) override {
    if (gradient)
      of_ranks_[static_cast<std::size_t>(rank)].push_back(executor_.get(gradient).scalars.front());
  }

 private:
  Executor& executor_;
  std::vector<std::vector<double>>& of_ranks_;
};

}  // namespace

FakeResult run_fake(const Job& job, const std::vector<Observer*>& listeners) {
  FakeShared shared(job);
  FakeResult result;
  const auto ranks = static_cast<std::size_t>(job.workers());
  result.losses.resize(ranks);
  Losses losses(shared.executor, result.losses);
  Observers observers;
  observers.attach(losses);
  for (Observer* listener : listeners) observers.attach(*listener);
  Tensor parameters;
  if (job.learner) parameters = shared.executor.constant({job.learner->initial_parameters(), {}, {}});
  std::vector<std::unique_ptr<FakeWorker>> workers;
  for (std::size_t rank = 0; rank < ranks; ++rank)
    workers.push_back(std::make_unique<FakeWorker>(static_cast<int>(rank), shared, observers, parameters));
  shared.turns.run([&](int rank) { job.algorithm->run(*workers[static_cast<std::size_t>(rank)]); });
  for (const auto& worker : workers)
    if (job.learner) result.models.push_back(shared.executor.get(worker->replica().parameters()).values);
  return result;
}

}  // namespace simsgd::test
