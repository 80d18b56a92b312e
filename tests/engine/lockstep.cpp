// A run in lockstep against the same algorithm as fibers: observers are told the same, in the same order.
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "sim/algorithm.hpp"
#include "sim/engine/simulate.hpp"
#include "sim/recording/metrics.hpp"
#include "sim/roles/collectives.hpp"
#include "tests/scenarios/support.hpp"

namespace simsgd::test::engine_lockstep {

namespace {

/// Says nothing of what it does in a step: every rank has to run.
class ByFibers final : public Algorithm {
 public:
  explicit ByFibers(std::unique_ptr<const Algorithm> what) : what_(std::move(what)) {}
  void run(Worker& worker) const override {
    fibers_ran = true;
    what_->run(worker);
  }
  const Coding* coding() const override { return what_->coding(); }
  mutable bool fibers_ran = false;

 private:
  std::unique_ptr<const Algorithm> what_;
};

/// Counts how many ranks have run it.
class Counted final : public LockstepAlgorithm {
 public:
  Counted(std::unique_ptr<const Algorithm> what, int& runs) : what_(std::move(what)), runs_(runs) {}
  void run(Worker& worker) const override {
    ++runs_;
    what_->run(worker);
  }
  const Coding* coding() const override { return what_->coding(); }

 private:
  std::unique_ptr<const Algorithm> what_;
  int& runs_;
};

/// Everything that a run tells, a line each, exactly.
class Everything final : public Observer {
 public:
  std::vector<std::string> lines;

  void booked(int rank, Activity activity, double seconds) override {
    if (seconds != 0) add("booked", rank, activity_name(activity), seconds);
  }
  // A worker that waits for several operations has nothing left to wait for after the last.
  void waited(int rank, std::int32_t channel, double from_s, double to_s) override {
    if (to_s > from_s) add("waited", rank, channel, from_s, to_s);
  }
  void slowed(int rank, Traffic traffic, double seconds) override {
    add("slowed", rank, traffic_name(traffic), seconds);
  }
  void span(int rank, const char* name, double from_s, double to_s) override {
    add("span", rank, name, from_s, to_s);
  }
  void operation(int rank, std::int32_t channel, const OperationSpan& span) override {
    add("operation", rank, channel, span.start_s, span.go_s, span.end_s, span.host_before_s,
        span.host_after_s, traffic_name(span.traffic));
  }
  void collective(const CollectiveSeen& seen) override {
    std::string arrivals;
    for (const double each : seen.arrival_s) arrivals += fmt::format(" {}", each);
    add("collective", seen.rank, op_name(seen.op), seen.options.bytes, seen.options.tensors, seen.schedule,
        seen.channel, seen.sequence, seen.members.size(), seen.posted_s, seen.span.end_s, arrivals);
  }
  void sent(int rank, Traffic traffic, double bytes) override {
    add("sent", rank, traffic_name(traffic), bytes);
  }
  void step_began(int rank, std::uint64_t step, double now_s) override { add("began", rank, step, now_s); }
  void step_ended(const StepEnd& end) override { add("ended", end.rank, end.step, end.begin_s, end.end_s); }
  void gradient_used(int rank, std::uint64_t step, const Tensor&, double samples) override {
    add("gradient", rank, step, samples);
  }

 private:
  template <class... Values>
  void add(const Values&... values) {
    std::string line;
    ((line += fmt::format("{} ", values)), ...);
    lines.push_back(std::move(line));
  }
};

struct Ran {
  std::vector<std::string> lines, metrics, workers;
  bool by_fibers = false;
  int runs = 0;  // of what is not hidden; ranks that ask for groups are asked for them once
};

/// All that a worker's record has.
std::string text_of(const WorkerRecord& worker) {
  return fmt::format(
      "{} {} {} {} {} {} {} {} | {} {} {} | {} {} {}", worker.steps, worker.end_s,
      fmt::join(worker.activity_s, " "), fmt::join(worker.exposed_s, " "), fmt::join(worker.overhead_s, " "),
      fmt::join(worker.communication_s, " "), fmt::join(worker.bytes_sent, " "), worker.samples,
      worker.step_wait.zero, worker.step_wait.first, fmt::join(worker.step_wait.counts, " "),
      worker.step_straggle.zero, worker.step_straggle.first, fmt::join(worker.step_straggle.counts, " "));
}

/// `listen`: to all ranks, with Everything; else nobody does but ledgers and, where it draws, a timeline of
/// the first ranks.
Ran run(const Json& scenario, bool hide, bool listen, bool timeline = true) {
  const Folder folder;
  Job job = make_job(load_scenario(folder.write_json("s.json", scenario)));
  const ByFibers* hidden = nullptr;
  int runs = 0;
  if (!hide && dynamic_cast<const LockstepAlgorithm*>(job.algorithm.get()) != nullptr)
    job.algorithm = std::make_unique<Counted>(std::move(job.algorithm), runs);
  if (hide) {
    auto wrapped = std::make_unique<ByFibers>(std::move(job.algorithm));
    hidden = wrapped.get();
    job.algorithm = std::move(wrapped);
  }
  Everything everything;
  SimulationOptions options;
  if (listen) options.observers = {&everything};
  options.timeline = timeline;
  const SimulationResult result = simulate(job, options);
  Ran ran{std::move(everything.lines), {}, {}, hidden != nullptr && hidden->fibers_ran, runs};
  for (const WorkerRecord& worker : result.record.workers) ran.workers.push_back(text_of(worker));
  ran.workers.push_back(fmt::format("{}", fmt::join(result.record.step_times_s, " ")));
  for (const MetricValue& metric : metric_values(result.record, job))
    ran.metrics.push_back(fmt::format("{} {}", metric.name, metric.value));
  return ran;
}

Json steps_of_three_layers(int workers) {
  Json scenario = small_scenario();
  scenario["cluster"]["workers"] = workers;
  scenario["workload"]["layers"] = {{{"type", "fc"}, {"tensors", {200000, 10}}, {"forward_flop", 2e6}},
                                    {{"type", "fc"}, {"tensors", {500000, 10}}, {"forward_flop", 9e6}},
                                    {{"type", "fc"}, {"tensors", {30000, 10}}, {"forward_flop", 1e6}}};
  scenario["stragglers"] = {{{"name", "lognormal"}, {"mean", "1 ms"}, {"sigma", 0.7}}};
  return scenario;
}

void check_same(const Json& scenario) {
  const Ran fibers = run(scenario, true, true), lockstep = run(scenario, false, true),
            unheard = run(scenario, false, false), abreast = run(scenario, false, false, false);
  CHECK(fibers.by_fibers);
  CHECK(lockstep.workers == fibers.workers);
  CHECK(unheard.workers == fibers.workers);
  CHECK(unheard.metrics == fibers.metrics);
  CHECK(abreast.workers == fibers.workers);
  CHECK(abreast.metrics == fibers.metrics);
  CHECK(lockstep.lines.size() == fibers.lines.size());
  for (std::size_t i = 0; i < std::min(lockstep.lines.size(), fibers.lines.size()); ++i) {
    CAPTURE(i);
    REQUIRE(lockstep.lines[i] == fibers.lines[i]);
  }
  CHECK(lockstep.metrics == fibers.metrics);
}

/// Numbers in ascending order. Fibers tell of steps that end at other instants in another order than
/// lockstep.
std::string ascending(const std::string& numbers) {
  std::istringstream in(numbers);
  std::vector<double> all;
  for (double each = 0; in >> each;) all.push_back(each);
  std::sort(all.begin(), all.end());
  return fmt::format("{}", fmt::join(all, " "));
}

/// The same numbers, each to 1e-12 of it: chained operations begin at instants that fibers round.
void check_close(const std::vector<std::string>& a, const std::vector<std::string>& b) {
  REQUIRE(a.size() == b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::istringstream one(a[i]), other(b[i]);
    std::string x, y;
    while (one >> x && other >> y) {
      CAPTURE(a[i]);
      CAPTURE(b[i]);
      if (x == y) continue;
      CHECK(std::stod(x) == doctest::Approx(std::stod(y)).epsilon(1e-12).scale(1));
    }
  }
}

}  // namespace

TEST_CASE("a run in lockstep of groups, whose operations follow on others, does what fibers do") {
  for (const bool slowed : {false, true})
    for (const Json& method :
         {Json{{"name", "hsdp"}, {"shards", 4}}, Json{{"name", "hsdp"}, {"shards", 2}, {"stage", 2}},
          Json{{"name", "hsdp"}, {"shards", 2}, {"reduce", "each"}, {"channels", 2}},
          Json{{"name", "hsdp"}, {"shards", 1}, {"stage", 1}}, Json{{"name", "hsdp"}, {"shards", 8}}})
      for (const char* fidelity : {"closed", "steps"})
        for (const bool listen : {false, true}) {
          CAPTURE(method.dump());
          CAPTURE(fidelity);
          Json scenario = steps_of_three_layers(8);
          scenario["algorithm"] = method;
          scenario["network"] = {{"fidelity", fidelity}};
          scenario["workload"]["micro_batches"] = 2;
          if (slowed) scenario["cluster"]["device"]["communication_slowdown"] = 0.3;
          const Ran fibers = run(scenario, true, listen), lockstep = run(scenario, false, listen);
          CHECK(fibers.lines.size() == lockstep.lines.size());
          check_close(lockstep.workers, fibers.workers);
          check_close(lockstep.metrics, fibers.metrics);
        }
}

// 16 GPUs on 4 nodes: each of 4 groups has one GPU of every node, and their rings cross its NIC together.
TEST_CASE("in lockstep, groups that go abreast share links as their messages do") {
  Json scenario = steps_of_three_layers(16);
  scenario["cluster"]["gpus_per_node"] = 4;
  scenario["cluster"]["gpu_link"] = {{"bandwidth", "12 GB/s"}, {"latency", "5 us"}};
  scenario["cluster"]["host"] = {{"launch", "10 us"}, {"tensor", "5 us"}, {"reduce", 1e-10}};
  scenario["algorithm"] = {{"name", "hsdp"}, {"shards", 4}};
  const auto check = [&scenario](bool abreast) {
    CAPTURE(scenario.dump());
    for (const bool listen : {false, true}) {
      Ran fibers = run(scenario, true, listen), lockstep = run(scenario, false, listen);
      for (std::string* step_times : {&fibers.workers.back(), &lockstep.workers.back()})
        *step_times = ascending(*step_times);
      const int workers = scenario["cluster"]["workers"];
      CHECK(lockstep.runs == (abreast ? workers : 2 * workers));
      CHECK(fibers.lines.size() == lockstep.lines.size());
      check_close(lockstep.workers, fibers.workers);
      check_close(lockstep.metrics, fibers.metrics);
    }
  };
  for (const char* all_reduce : {"ring", "recursive_doubling", "rabenseifner"}) {
    scenario["network"] = {{"all_reduce", all_reduce}};
    check(true);
  }
  scenario["algorithm"]["reduce"] = "each";
  scenario["workload"]["micro_batches"] = 2;
  scenario["cluster"]["device"]["communication_slowdown"] = 0.3;
  scenario["failures"] = {{"restart", "5 ms"}, {"mean_time_between", "1 s"}, {"checkpoint_every", 2}};
  check(true);
  // Two GPUs of a node in each group: both use its NIC at once, but in a ring only one of them does.
  scenario["algorithm"]["shards"] = 2;
  check(false);
  scenario["network"]["all_reduce"] = "ring";
  check(true);
  // Nodes that reduce over their NIC as well: their GPUs do not end together.
  scenario["algorithm"]["shards"] = 8;
  check(false);
  // 264 messages of a ring among 12 nodes are aggregated.
  scenario["cluster"]["gpus_per_node"] = scenario["algorithm"]["shards"] = 2;
  scenario["cluster"]["workers"] = 24;
  check(true);
}

TEST_CASE("a run in lockstep tells what fibers tell, in their order, bit for bit") {
  for (const int workers : {1, 2, 3, 8, 13})
    for (const char* fidelity : {"closed", "steps", "auto"}) {
      CAPTURE(workers);
      CAPTURE(fidelity);
      Json scenario = steps_of_three_layers(workers);
      scenario["network"] = {{"fidelity", fidelity}, {"all_reduce", "ring"}};
      for (const char* fusion : {"none", "threshold", "all"}) {
        scenario["algorithm"]["fusion"] = fusion;
        scenario["algorithm"]["fusion_threshold"] = "1 MB";
        check_same(scenario);
      }
    }
}

TEST_CASE("in lockstep: jitter, nodes of several GPUs, an overlapping host, micro-batches, crashes") {
  Json scenario = steps_of_three_layers(8);
  scenario["algorithm"]["fusion"] = "none";
  scenario["network"] = {{"fidelity", "steps"},
                         {"jitter", {{"name", "exponential"}, {"mean", "20 us"}}},
                         {"all_reduce", "ring"}};
  check_same(scenario);
  scenario["cluster"]["gpus_per_node"] = 4;
  scenario["cluster"]["gpu_link"] = {{"bandwidth", "12 GB/s"}, {"latency", "5 us"}};
  scenario["cluster"]["host"] = {{"launch", "10 us"}, {"tensor", "5 us"}, {"overlap", "2 ms"}};
  check_same(scenario);
  scenario["workload"]["micro_batches"] = 2;
  scenario["failures"] = {{"restart", "50 ms"},
                          {"checkpoint", "1 ms"},
                          {"checkpoint_every", 3},
                          {"crashes", {{{"worker", 2}, {"time", "0.1 s"}}}}};
  check_same(scenario);
}

TEST_CASE(
    "in lockstep: 40 ranks, of which observers but ledgers hear 16 at most, and 64 on four GPUs a node") {
  Json scenario = steps_of_three_layers(40);
  scenario["algorithm"]["fusion"] = "none";
  scenario["network"] = {{"all_reduce", "ring"}};
  scenario["failures"] = {{"restart", "5 ms"}, {"mean_time_between", "1 s"}, {"checkpoint_every", 2}};
  check_same(scenario);
  scenario.erase("failures");
  scenario["cluster"]["workers"] = 64;
  scenario["cluster"]["gpus_per_node"] = 4;
  scenario["cluster"]["gpu_link"] = {{"bandwidth", "12 GB/s"}, {"latency", "5 us"}};
  for (const int events : {0, 100000}) {
    scenario["record"] = {{"timeline_events", events}};
    check_same(scenario);
  }
}

TEST_CASE("in lockstep: methods that wait within a step, and past its end") {
  Json scenario = steps_of_three_layers(6);
  scenario["network"] = {{"fidelity", "steps"},
                         {"jitter", {{"name", "exponential"}, {"mean", "20 us"}}},
                         {"all_reduce", "ring"}};
  scenario["cluster"]["device"]["communication_slowdown"] = 0.2;
  scenario["optimizer"] = {{"name", "adamw"}, {"learning_rate", 0.001}};
  const Json dear = {{"name", "dear"}, {"fusion", "none"}};
  for (const Json& algorithm :
       {dear, Json{{"name", "mg_wfbp"}}, Json{{"name", "fsdp"}, {"stage", 1}},
        Json{{"name", "fsdp"}, {"stage", 2}, {"channels", 2}}, Json{{"name", "fsdp"}, {"prefetch", 0}},
        Json{{"name", "fsdp"}, {"prefetch", 2}, {"channels", 2}, {"reduce", "each"}}})
    for (const int micro_batches : {1, 2})
      for (const char* overlap : {"0 ms", "2 ms"}) {
        CAPTURE(algorithm);
        CAPTURE(micro_batches);
        CAPTURE(overlap);
        scenario["algorithm"] = algorithm;
        scenario["workload"]["micro_batches"] = micro_batches;
        scenario["cluster"]["host"] = {{"tensor", "5 us"}, {"overlap", overlap}};
        check_same(scenario);
      }
}

TEST_CASE("in lockstep: methods that wait within a step, on slow nodes that crash; and on 40 workers") {
  Json scenario = steps_of_three_layers(8);
  scenario["cluster"]["gpus_per_node"] = 4;
  scenario["cluster"]["gpu_link"] = {{"bandwidth", "12 GB/s"}, {"latency", "5 us"}};
  scenario["cluster"]["node_speed"] = {1.0, 0.7};
  scenario["failures"] = {{"restart", "5 ms"}, {"mean_time_between", "1 s"}, {"checkpoint_every", 2}};
  for (const int workers : {8, 40})
    for (const char* name : {"dear", "fsdp", "mg_wfbp"}) {
      CAPTURE(workers);
      CAPTURE(name);
      scenario["algorithm"] = {{"name", name}};
      scenario["cluster"]["workers"] = workers;
      if (workers == 40) scenario["cluster"].erase("node_speed");
      check_same(scenario);
    }
}

TEST_CASE("in lockstep: ranks that do the same are simulated as one, until an operation parts them") {
  Json scenario = steps_of_three_layers(12);
  scenario.erase("stragglers");
  scenario["optimizer"] = {{"name", "adamw"}, {"learning_rate", 0.001}};
  scenario["cluster"]["device"]["communication_slowdown"] = 0.2;
  scenario["cluster"]["gpu_link"] = {{"bandwidth", "12 GB/s"}, {"latency", "5 us"}};
  scenario["cluster"]["host"] = {{"launch", "10 us"}, {"tensor", "5 us"}, {"overlap", "2 ms"}};
  scenario["workload"]["micro_batches"] = 2;
  for (const int workers : {2, 10, 12})
    for (const int gpus_per_node : {1, 2, 4})
      for (const char* schedule : {"ring", "tree", "recursive_doubling", "rabenseifner"})
        for (const Json& algorithm :
             {Json{{"name", "allreduce_sgd"}, {"fusion", "none"}}, Json{{"name", "dear"}},
              Json{{"name", "fsdp"}, {"prefetch", 2}, {"channels", 2}, {"reduce", "each"}}}) {
          scenario["cluster"]["workers"] = workers;
          scenario["cluster"]["gpus_per_node"] = gpus_per_node;
          scenario["network"] = {{"fidelity", "steps"}, {"all_reduce", schedule}};
          scenario["algorithm"] = algorithm;
          CAPTURE(scenario.dump());
          Ran fibers = run(scenario, true, false, false), alike = run(scenario, false, false, false);
          for (std::string* step_times : {&fibers.workers.back(), &alike.workers.back()})
            *step_times = ascending(*step_times);
          CHECK(alike.workers == fibers.workers);
          CHECK(alike.metrics == fibers.metrics);
        }
}

TEST_CASE("a stop by the clock, and libraries that block or negotiate: what lockstep leaves to fibers") {
  Json scenario = steps_of_three_layers(4);
  for (const Json& stack : {Json{{"name", "horovod"}, {"cycle", "1 ms"}, {"agreement", "0.1 ms"}},
                            Json{{"name", "nccl"}}, Json{{"name", "gloo"}}}) {
    CAPTURE(stack);
    scenario["cluster"]["stack"] = stack;
    check_same(scenario);
  }
  scenario["stop"] = {{"time", "0.2 s"}};
  check_same(scenario);
}

}  // namespace simsgd::test::engine_lockstep
