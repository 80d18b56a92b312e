// Benchmarks of what has a promised speed; ends with a table of measurements against limits.
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include "bench/benchmarks.hpp"
#include "sim/learn/numerics.hpp"

int main(int count, char** arguments) {
  simsgd::fix_numerics();
  simsgd::keep_freed_memory();
  benchmark::Initialize(&count, arguments);
  if (benchmark::ReportUnrecognizedArguments(count, arguments)) return 2;
  simsgd::bench::Summary summary;
  // First those that run in children: where others have left their pieces in the heap, each page that a child
  // touches is a fault of its own, and not 2 MB of a program that just began.
  simsgd::bench::register_gossip(summary);
  simsgd::bench::register_timing_only(summary);
  simsgd::bench::register_learning(summary);
  simsgd::bench::register_kfac(summary);
  simsgd::bench::register_low_communication(summary);
  simsgd::bench::register_sweep(summary);
  simsgd::bench::register_stacks(summary);
  simsgd::bench::register_flows(summary);
  simsgd::bench::register_sparse(summary);
  simsgd::bench::register_kineto(summary);
  // In this process.
  simsgd::bench::register_recurrence(summary);
  simsgd::bench::register_messages(summary);
  simsgd::bench::register_import(summary);
  simsgd::bench::register_replay(summary);
  simsgd::bench::register_stragglers(summary);
  simsgd::bench::register_calibration(summary);
  simsgd::bench::register_transformer(summary);
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  fmt::print("\n{}", summary.table());
  return 0;
}
