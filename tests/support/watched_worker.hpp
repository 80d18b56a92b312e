// A worker seen from outside: everything goes to the one that it wraps, and the end of each of its steps is
// noted.
#pragma once

#include <span>
#include <utility>
#include <vector>

#include "sim/worker.hpp"

namespace simsgd::test {

class WatchedWorker final : public Worker {
 public:
  /// `ends_s`: when each step ended, from step 1 on.
  WatchedWorker(Worker& inner, std::vector<double>& ends_s) : inner_(inner), ends_s_(ends_s) {}

  bool next_step() override {
    if (inner_.step() > ends_s_.size()) ends_s_.push_back(inner_.now());
    return inner_.next_step();
  }

  int rank() const override { return inner_.rank(); }
  int size() const override { return inner_.size(); }
  double now() const override { return inner_.now(); }
  std::uint64_t step() const override { return inner_.step(); }
  const Workload& workload() const override { return inner_.workload(); }
  std::uint64_t seed() const override { return inner_.seed(); }
  GroupId group(const std::vector<int>& ranks) override { return inner_.group(ranks); }
  Executor& executor() override { return inner_.executor(); }
  std::size_t model_size() const override { return inner_.model_size(); }
  Values model() const override { return inner_.model(); }
  void set_model(Values model) override { inner_.set_model(std::move(model)); }
  void apply(const Values& gradient) override { inner_.apply(gradient); }
  Values compute_gradient(const ComputeOptions& options) override { return inner_.compute_gradient(options); }
  void spend(Activity activity, double seconds) override { inner_.spend(activity, seconds); }
  Handle start_gradient(const ComputeOptions& options) override { return inner_.start_gradient(options); }
  void cancel(const Handle& gradient) override { inner_.cancel(gradient); }
  void recover_by(Recovery recovery, std::function<void()> restarted) override {
    inner_.recover_by(recovery, std::move(restarted));
  }
  Handle start_send(int to, int tag, Message message) override {
    return inner_.start_send(to, tag, std::move(message));
  }
  Handle start_receive(int from, int tag) override { return inner_.start_receive(from, tag); }
  Handle start(Collective collective) override { return inner_.start(std::move(collective)); }
  double predict(const Collective& collective) override { return inner_.predict(collective); }
  void wait(const Handle& handle) override { inner_.wait(handle); }
  std::size_t wait_any(std::span<const Handle> handles) override { return inner_.wait_any(handles); }
  bool done(const Handle& handle) override { return inner_.done(handle); }
  Values result(const Handle& handle) override { return inner_.result(handle); }
  std::vector<Values> gathered(const Handle& handle) override { return inner_.gathered(handle); }
  Message message(const Handle& handle) override { return inner_.message(handle); }
  void serve(int tag, std::function<void(const Message&)> handler) override {
    inner_.serve(tag, std::move(handler));
  }
  void post(int to, int tag, Message message) override { inner_.post(to, tag, std::move(message)); }
  void then(const Handle& handle, std::function<void()> action) override {
    inner_.then(handle, std::move(action));
  }
  bool listen(int tag, std::function<void(std::uint64_t)> heard) override {
    return inner_.listen(tag, std::move(heard));
  }
  void spread(int tag, std::uint64_t number) override { inner_.spread(tag, number); }
  Handle make_event() override { return inner_.make_event(); }
  void signal(const Handle& event) override { inner_.signal(event); }
  Handle start_timer(double seconds) override { return inner_.start_timer(seconds); }
  const LogicalGraph& graph() const override { return inner_.graph(); }

 private:
  Worker& inner_;
  std::vector<double>& ends_s_;
};

}  // namespace simsgd::test
