// A recorded job of 100,000 operations: read, played again, and every slow-down of it.
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include "analysis/replay/report.hpp"
#include "bench/benchmarks.hpp"

namespace simsgd::bench {

namespace {

constexpr int kReplicas = 16, kStages = 4, kMicroBatches = 8, kReplayedSteps = 38;
constexpr int kForward_us = 10000, kBackward_us = 20000, kMessage_us = 500, kReduction_us = 8000;

void row(std::string& text, int replica, int stage, const char* lane, const char* kind, int step,
         int micro_batch, int start_us, int duration_us) {
  fmt::format_to(std::back_inserter(text), "{},\"PP{}, TP0, {}\",{},{},{},{},{}\n", replica, stage, lane,
                 kind, step, micro_batch, step * 1000000 + start_us, duration_us);
}

// All forward passes, then all backward ones; each replica 1 ms later than the one before.
std::string operations() {
  std::string text = "pid_dp,thread,op,step,mb_id,ts_us,dur_us\n";
  const int turn_us = (kMicroBatches + kStages) * (kForward_us + kMessage_us);
  const int end_us = turn_us + (kMicroBatches + kStages) * (kBackward_us + kMessage_us) + kReplicas * 1000;
  for (int step = 0; step < kReplayedSteps; ++step)
    for (int replica = 0; replica < kReplicas; ++replica)
      for (int stage = 0; stage < kStages; ++stage) {
        for (int m = 0; m < kMicroBatches; ++m) {
          const int ahead_us = replica * 1000 + (m + stage) * (kForward_us + kMessage_us);
          const int back_us =
              turn_us + replica * 1000 + (m + kStages - 1 - stage) * (kBackward_us + kMessage_us);
          row(text, replica, stage, "compute", "forward-compute", step, m, ahead_us, kForward_us);
          row(text, replica, stage, "compute", "backward-compute", step, m, back_us, kBackward_us);
          if (stage > 0) {
            row(text, replica, stage, "recv", "forward-recv", step, m, ahead_us - kMessage_us, kMessage_us);
            row(text, replica, stage, "send-back", "backward-send", step, m, back_us + kBackward_us,
                kMessage_us);
          }
          if (stage + 1 < kStages) {
            row(text, replica, stage, "send", "forward-send", step, m, ahead_us + kForward_us, kMessage_us);
            row(text, replica, stage, "recv-back", "backward-recv", step, m, back_us - kMessage_us,
                kMessage_us);
          }
        }
        row(text, replica, stage, "dp-comm", "grads-reduce-scatter", step, -1, end_us, kReduction_us);
        row(text, replica, stage, "compute", "optimizer", step, -1, end_us + kReduction_us, kForward_us);
      }
  return text;
}

void replay_operations(benchmark::State& state, Summary& summary) {
  const std::string text = operations();
  for ([[maybe_unused]] auto _ : state) {
    const Stopwatch watch;
    RecordedJob job = read_recorded_job("operations.csv", text);
    const replay::Graph graph = replay::make_graph(job);
    const replay::Played played = replay::play(graph, replay::recorded_times(graph, true));
    summary.time(fmt::format("replay of {} operations, with reading", job.operations.size()), watch.elapsed(),
                 1);
    benchmark::DoNotOptimize(played.step_s.front());
    const Stopwatch all;
    const replay::ReplayReport report = replay::replay_job(std::move(job), {});
    summary.time("... and the slow-downs by kind, stage, replica, worker and step", all.elapsed(), 1);
    state.counters["operations"] = static_cast<double>(report.operations);
  }
}

}  // namespace

void register_replay(Summary& summary) {
  add_benchmark("replay/operations", Clock::around, 3,
                [&summary](benchmark::State& state) { replay_operations(state, summary); });
}

}  // namespace simsgd::bench
