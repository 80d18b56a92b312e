#include "tests/support/fake_world.hpp"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <numeric>
#include <thread>

#include "sim/learn/factors.hpp"
#include "sim/learn/optimizer.hpp"
#include "sim/message_precision.hpp"

namespace simsgd::test {

namespace {

struct FakePending final : Pending {
  bool done = false;
  Values result;
  std::vector<Values> gathered;
  Message message;
};

struct FakeOperation {
  std::vector<Values> contributions;
  std::vector<std::shared_ptr<FakePending>> pendings;
  int posted = 0;
};

// Shared by all ranks, under one mutex; the executor is used under it too.
struct FakeShared {
  explicit FakeShared(const Job& job_in) : job(job_in) {
    groups.push_back(std::vector<int>(static_cast<std::size_t>(job.workers())));
    std::iota(groups.front().begin(), groups.front().end(), 0);
  }
  const Job& job;
  Executor executor{1};
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<std::vector<int>> groups;
  std::map<std::tuple<GroupId, ChannelId, std::uint64_t>, FakeOperation> operations;
  std::map<std::tuple<int, int, int>, std::deque<Message>> mail;
  std::exception_ptr failure;
};

class FakeWorker final : public Worker {
 public:
  FakeWorker(int rank, FakeShared& shared, FakeResult& result)
      : rank_(rank), shared_(shared), result_(result) {
    if (shared.job.learner)
      state_.parameters = shared.executor.constant({shared.job.learner->initial_parameters(), {}, {}});
  }

  int rank() const override { return rank_; }
  int size() const override { return shared_.job.workers(); }
  double now() const override { return 0; }
  std::uint64_t step() const override { return step_; }
  bool next_step() override {
    if (step_ >= shared_.job.stop.steps) return false;
    ++step_;
    return true;
  }
  const Workload& workload() const override { return shared_.job.workload; }
  std::uint64_t seed() const override { return shared_.job.seed; }
  Executor& executor() override { return shared_.executor; }
  std::size_t model_size() const override {
    return shared_.job.learner ? shared_.job.learner->parameters() : 0;
  }
  Values model() const override { return state_.parameters; }
  void set_model(Values model) override { state_.parameters = std::move(model); }
  const LogicalGraph& graph() const override { return shared_.job.graph; }
  void spend(Activity, double) override {}
  double predict(const Collective&) override { return 0; }

  GroupId group(const std::vector<int>& ranks) override {
    const std::lock_guard lock(shared_.mutex);
    for (std::size_t g = 0; g < shared_.groups.size(); ++g)
      if (shared_.groups[g] == ranks) return static_cast<GroupId>(g);
    shared_.groups.push_back(ranks);
    return static_cast<GroupId>(shared_.groups.size() - 1);
  }

  double learning_rate() const override { return shared_.job.optimizer.learning_rate.at(step_); }
  void apply(const Values& gradient) override {
    if (!gradient) return;
    const std::lock_guard lock(shared_.mutex);
    state_ = shared_.job.optimizer.step(shared_.executor, step_, state_, gradient);
  }

  Values compute_gradient(const ComputeOptions& options) override {
    Values gradient;
    const Learner* learner = shared_.job.learner.get();
    if (learner && options.factors) {
      const GradientAndFactors both = submit_gradient_and_factors(
          shared_.executor, *learner, state_.parameters,
          {.rank = rank_, .step = step_, .part = options.part, .parts = options.parts});
      {
        const std::lock_guard lock(shared_.mutex);
        gradient = both.gradient;
        result_.losses[static_cast<std::size_t>(rank_)].push_back(shared_.executor.get(gradient).scalars[0]);
      }
      options.factors(both.factors);
    } else if (learner) {
      const std::lock_guard lock(shared_.mutex);
      const std::vector<float>& parameters = shared_.executor.get(state_.parameters).values;
      Tensor tensor;
      tensor.values.resize(parameters.size());
      const auto samples = learner->samples(rank_, step_, options.part, options.parts);
      tensor.scalars = {learner->gradient(parameters, samples, tensor.values)};
      result_.losses[static_cast<std::size_t>(rank_)].push_back(tensor.scalars[0]);
      gradient = shared_.executor.constant(std::move(tensor));
    }
    if (options.before_forward)
      for (std::size_t l = 0; l < workload().layers.size(); ++l) options.before_forward(static_cast<int>(l));
    if (options.gradient_ready) {
      const std::vector<TensorInfo> tensors = workload().tensors();
      for (std::size_t i = 0; i < (options.ready_at.empty() ? tensors.size() : options.ready_at.size()); ++i)
        options.gradient_ready(tensors[options.ready_at.empty() ? i : options.ready_at[i]], gradient);
    }
    return gradient;
  }

  Handle start_send(int to, int tag, Message message) override {
    const std::lock_guard lock(shared_.mutex);
    message.from = rank_;
    shared_.mail[{rank_, to, tag}].push_back(std::move(message));
    shared_.changed.notify_all();
    auto pending = std::make_shared<FakePending>();
    pending->done = true;
    return pending;
  }
  Handle start_receive(int from, int tag) override {
    std::unique_lock lock(shared_.mutex);
    std::deque<Message>& box = shared_.mail[{from, rank_, tag}];
    wait_until(lock, [&] { return !box.empty(); });
    auto pending = std::make_shared<FakePending>();
    pending->done = true;
    pending->message = std::move(box.front());
    box.pop_front();
    return pending;
  }

  Handle start(Collective collective) override {
    const std::lock_guard lock(shared_.mutex);
    const std::vector<int>& members = shared_.groups[static_cast<std::size_t>(collective.group)];
    const std::uint64_t sequence = sequence_[{collective.group, collective.channel}]++;
    FakeOperation& operation = shared_.operations[{collective.group, collective.channel, sequence}];
    operation.contributions.resize(members.size());
    operation.pendings.resize(members.size());
    const auto place =
        static_cast<std::size_t>(std::find(members.begin(), members.end(), rank_) - members.begin());
    operation.contributions[place] = contribution_of(executor(), collective, Precision::fp32);
    auto pending = std::make_shared<FakePending>();
    operation.pendings[place] = pending;
    if (++operation.posted == static_cast<int>(members.size())) {
      complete(collective, operation);
      shared_.operations.erase({collective.group, collective.channel, sequence});
      shared_.changed.notify_all();
    }
    return pending;
  }

  void wait(const Handle& handle) override {
    std::unique_lock lock(shared_.mutex);
    wait_until(lock, [&] { return fake(handle).done; });
  }
  std::size_t wait_any(std::span<const Handle> handles) override {
    std::size_t found = 0;
    std::unique_lock lock(shared_.mutex);
    wait_until(lock, [&] {
      for (found = 0; found < handles.size(); ++found)
        if (fake(handles[found]).done) return true;
      return false;
    });
    return found;
  }
  bool done(const Handle& handle) override {
    const std::lock_guard lock(shared_.mutex);
    return fake(handle).done;
  }
  Values result(const Handle& handle) override { return fake(handle).result; }
  std::vector<Values> gathered(const Handle& handle) override { return fake(handle).gathered; }
  Message message(const Handle& handle) override { return fake(handle).message; }

 private:
  static FakePending& fake(const Handle& handle) { return static_cast<FakePending&>(*handle); }

  template <class Condition>
  void wait_until(std::unique_lock<std::mutex>& lock, Condition condition) {
    shared_.changed.wait(lock, [&] { return shared_.failure || condition(); });
    if (shared_.failure) std::rethrow_exception(shared_.failure);
  }

  void complete(const Collective& collective, FakeOperation& operation) {
    const std::vector<Values>& given = operation.contributions;
    std::vector<Values> results;
    if (collective.op == Collective::Op::broadcast)
      results = {given[static_cast<std::size_t>(collective.root)]};
    else if (collective.op == Collective::Op::custom && collective.effect)
      results = collective.effect(shared_.executor, given);
    else if ((collective.op == Collective::Op::all_reduce || collective.op == Collective::Op::reduce) &&
             given.front())
      results = {linear_combination(shared_.executor, std::vector<double>(given.size(), 1.0), given,
                                    collective.scale)};
    for (std::size_t place = 0; place < given.size(); ++place) {
      FakePending& pending = *operation.pendings[place];
      pending.gathered = given;
      if (collective.place_effect)
        pending.result = collective.place_effect(shared_.executor, static_cast<std::int32_t>(place), given);
      else if (!results.empty())
        pending.result = results.size() == 1 ? results.front() : results[place];
      pending.done = true;
    }
  }

  int rank_;
  FakeShared& shared_;
  FakeResult& result_;
  std::uint64_t step_ = 0;
  ReplicaState state_;
  std::map<std::pair<GroupId, ChannelId>, std::uint64_t> sequence_;
};

}  // namespace

FakeResult run_fake(const Job& job) {
  FakeShared shared(job);
  FakeResult result;
  const auto ranks = static_cast<std::size_t>(job.workers());
  result.losses.resize(ranks);
  std::vector<std::unique_ptr<FakeWorker>> workers;
  for (std::size_t rank = 0; rank < ranks; ++rank)
    workers.push_back(std::make_unique<FakeWorker>(static_cast<int>(rank), shared, result));
  std::vector<std::thread> threads;
  for (const auto& worker : workers) {
    threads.emplace_back([&shared, &job, rank = worker.get()] {
      try {
        job.algorithm->run(*rank);
      } catch (...) {
        const std::lock_guard lock(shared.mutex);
        if (!shared.failure) shared.failure = std::current_exception();
        shared.changed.notify_all();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  if (shared.failure) std::rethrow_exception(shared.failure);
  if (job.learner)
    for (const auto& worker : workers) result.models.push_back(shared.executor.get(worker->model()).values);
  return result;
}

}  // namespace simsgd::test
