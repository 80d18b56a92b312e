// The roles of a fake worker.
#pragma once

#include <deque>
#include <map>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "sim/job.hpp"
#include "sim/worker.hpp"
#include "tests/support/fake_turns.hpp"

namespace simsgd::test {

struct FakeOperation {
  AnyCollective what;
  std::vector<Tensor> contributions;
  std::vector<CollectiveSlot> slots;
  std::size_t come = 0;
};

class FakeBackground;

/// What all ranks share.
struct FakeShared {
  explicit FakeShared(const Job& job_in);

  const Job& job;
  Executor executor{1};
  FakeTurns turns;
  std::vector<std::vector<int>> groups;  // kWorld first
  std::map<std::tuple<GroupId, ChannelId, std::uint64_t>, FakeOperation> operations;
  struct Box {
    std::deque<std::pair<Handle<Nothing>, Message>> sent;
    std::deque<Handle<Message>> expected;
  };
  std::map<std::tuple<int, int, int>, Box> mail;       // by from, to, tag
  std::vector<FakeBackground*> backgrounds;            // by rank
  std::set<std::tuple<int, std::uint64_t, int>> told;  // flooding: tag, number, rank
};

/// Nothing takes time.
class FakeClock final : public Machine {
 public:
  explicit FakeClock(FakeShared& shared) : shared_(shared) {}
  double now() const override { return shared_.turns.now(); }
  void compute(double, double) override { catch_up(); }
  void spend(Activity, double, const char*) override { catch_up(); }
  bool evaluates() const override { return false; }
  void evaluate(const Tensor&, Activity, double) override {}
  double backward_overlap_s() const override { return 0; }
  void compute_beside(double, double) override {}
  void finish_beside() override {}
  void outage(double, const std::function<void()>& restart) override { restart(); }
  void catch_up() override { shared_.turns.do_agenda(); }

 private:
  FakeShared& shared_;
};

class FakeMessages final : public Messages {
 public:
  FakeMessages(int rank, FakeShared& shared, Completion& completion)
      : Messages(completion), rank_(rank), shared_(shared) {}
  Handle<Message> start_receive(int from, int tag) override;

 private:
  Handle<Nothing> begin_send(int to, int tag, Message message) override;
  void match(FakeShared::Box& box);
  int rank_;
  FakeShared& shared_;
};

class FakeCollectives final : public Collectives {
 public:
  FakeCollectives(int rank, FakeShared& shared, Completion& completion)
      : Collectives(completion), rank_(rank), shared_(shared) {}
  GroupId group(const std::vector<int>& ranks) override;

 private:
  double predicted(const AnyCollective&) override { return 0; }
  std::size_t members(GroupId group) const override {
    return shared_.groups[static_cast<std::size_t>(group)].size();
  }
  void begin(AnyCollective&& collective, CollectiveSlot slot) override;
  void complete(FakeOperation& operation);
  int rank_;
  FakeShared& shared_;
  std::map<std::pair<GroupId, ChannelId>, std::uint64_t> begun_;
};

class FakeBackground final : public Background {
 public:
  FakeBackground(int rank, FakeShared& shared) : rank_(rank), shared_(shared) {}
  void serve(int tag, std::function<void(const Message&)> handler) override;
  void then(Awaited handle, std::function<void()> action) override;
  bool hear(int tag, std::function<void(std::uint64_t number)> heard) override;
  void flood(int tag, std::uint64_t number) override;
  Handle<Nothing> make_event() override;
  void signal(const Handle<Nothing>& event) override;
  Handle<Nothing> start_timer(double seconds) override { return shared_.turns.start_timer(seconds); }
  bool serves() const { return !handlers_.empty() || !hearers_.empty(); }

 private:
  void begin_post(int to, int tag, Message message) override;
  void deliver(int tag, const Message& message);
  void tell(int tag, std::uint64_t number);
  int rank_;
  FakeShared& shared_;
  std::map<int, std::function<void(const Message&)>> handlers_;
  std::map<int, std::vector<Message>> early_;  // posted before anybody served their tag
  std::map<int, std::function<void(std::uint64_t)>> hearers_;
};

/// A gradient is complete at once.
class FakePreemption final : public Preemption {
 public:
  FakePreemption(FakeShared& shared, Compute& compute, Replica& replica)
      : shared_(shared), compute_(compute), replica_(replica) {}
  Handle<RunningGradient> start(const GradientOptions& options) override;
  void cancel(const Handle<RunningGradient>& gradient) override;
  Tensor take(const Handle<RunningGradient>& gradient) override;

 private:
  FakeShared& shared_;
  Compute& compute_;
  Replica& replica_;
  Handle<RunningGradient> running_;
  MicroBatch part_;
};

}  // namespace simsgd::test
