// The groups of benchmarks, one file each. Each registers its own with Google Benchmark and leaves its
// results in the summary, which outlives the run.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace benchmark {
class State;
}

namespace simsgd::bench {

// What was measured against what limit. A benchmark that runs several times leaves its best: on a shared
// machine the least time is the one with the least of other people's work in it.

/// Seconds on the wall and of all threads' CPU.
struct Elapsed {
  double wall_s = 0;
  double cpu_s = 0;
};

/// Of this process, from the construction on.
class Stopwatch {
 public:
  Stopwatch();
  Elapsed elapsed() const;

 private:
  Elapsed begin_;
};

/// CPU of all children that have ended.
double children_cpu_s();

/// Who says how long an iteration was: its body (SetIterationTime), or a clock around it.
enum class Clock { told, around };
/// `iterations`: 0: as many as it takes to be sure.
void add_benchmark(const std::string& name, Clock clock, int iterations,
                   const std::function<void(benchmark::State&)>& body);

class Summary {
 public:
  /// A time; 0 as a limit: for information.
  void time(const std::string& what, const Elapsed& elapsed, double limit_s);
  /// The ratio of two times, each the best of its own.
  void ratio(const std::string& what, const Elapsed& elapsed, const Elapsed& reference, double limit);
  void memory(const std::string& what, double bytes, double limit_bytes);

  /// Markdown: what, measured on the wall and by CPU time, limit, measured / limit.
  std::string table() const;

 private:
  struct Row {
    std::string what;
    enum class Kind { time, ratio, memory } kind = Kind::time;
    Elapsed best, best_reference;
    double limit = 0;
  };
  Row& row(const std::string& what, Row::Kind kind, double limit);
  std::vector<Row> rows_;
};

void register_recurrence(Summary& summary);
void register_flows(Summary& summary);
void register_messages(Summary& summary);
void register_gossip(Summary& summary);
void register_timing_only(Summary& summary);
void register_learning(Summary& summary);
void register_low_communication(Summary& summary);
void register_sparse(Summary& summary);
void register_kfac(Summary& summary);
void register_import(Summary& summary);
void register_replay(Summary& summary);
void register_kineto(Summary& summary);
void register_sweep(Summary& summary);
void register_stacks(Summary& summary);
void register_stragglers(Summary& summary);
void register_calibration(Summary& summary);
void register_transformer(Summary& summary);

}  // namespace simsgd::bench
