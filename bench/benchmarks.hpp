// The groups of benchmarks, one file each. Each registers its own with Google Benchmark and leaves its
// results in the summary, which outlives the run.
#pragma once

#include "bench/summary.hpp"

namespace simsgd::bench {

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
