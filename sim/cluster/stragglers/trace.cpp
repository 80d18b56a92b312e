// trace: replays measured delays, factors or compute times of each worker and step (columns: trace_file.hpp).
// Step 1 of the run is the first step of the trace, whatever its number there. After the last one the trace
// begins again ("repeat": "loop") or nobody is late any more ("end"). A compute time c of the trace becomes
// the factor c / nominal compute time. Checked by tests/cluster/trace.cpp.
#include <fmt/format.h>

#include "sim/cluster/stragglers/options.hpp"
#include "sim/cluster/stragglers/trace_file.hpp"

namespace simsgd::stragglers {

namespace {

class TraceStraggler final : public StragglerModel {
 public:
  TraceStraggler(StragglerTrace trace, bool loop) : trace_(std::move(trace)), loop_(loop) {}

  void apply(const StragglerContext& context, Straggle& straggle) const override {
    const std::uint64_t step = context.step - 1;
    if (!loop_ && step >= trace_.steps) return;
    const std::size_t worker = static_cast<std::size_t>(context.rank) % trace_.workers.size();
    const StragglerTrace::Entry* entry = trace_.find(worker, step % trace_.steps);
    if (entry == nullptr) return;
    straggle.delay_s += entry->delay_s;
    straggle.factor *= entry->factor;
    if (entry->compute_s == 0) return;
    if (context.nominal_compute_s > 0)
      straggle.factor *= entry->compute_s / context.nominal_compute_s;
    else
      straggle.delay_s += entry->compute_s;
  }

 private:
  StragglerTrace trace_;
  bool loop_;
};

struct TraceOptions {
  std::string file;
  bool loop = true, exact = true;

  void fields(Fields& f) {
    f.text(
         "file", file,
         "CSV file with the columns worker, step and at least one of delay_s, factor, compute_s (factor and "
         "compute_s not together)")
        .required();
    f.choice("repeat", loop, {{"loop", true}, {"end", false}},
             "After the last step of the trace: \"loop\" begins again, \"end\" delays nobody");
    f.choice("rank_mapping", exact, {{"exact", true}, {"modulo", false}},
             "Ranks beyond the trace's workers: \"exact\" refuses them, \"modulo\" lets rank r replay "
             "worker r mod (workers of the trace)");
  }
};

MadeStraggler make_trace(const TraceOptions& options, const StragglerCommon& common,
                         const StragglerSetup& setup) {
  if (common.relative)
    reject("relative", "does not go with a trace, whose columns have units of their own",
           "Leave it out; the column \"factor\" is relative to the compute time");
  StragglerTrace trace = read_straggler_trace(setup.resolve(options.file));
  const int last_rank = selected_ranks(common, setup).back();
  if (options.exact && last_rank >= static_cast<int>(trace.workers.size()))
    reject("file",
           fmt::format("names a trace of {} workers, which has none for rank {}", trace.workers.size(),
                       last_rank),
           "Set \"rank_mapping\": \"modulo\", or list the ranks of the trace in \"workers\"");
  return std::make_unique<TraceStraggler>(std::move(trace), options.loop);
}

}  // namespace

std::vector<StragglerPlugin> trace() {
  return {{{.name = "trace",
            .summary = "Replays measured delays, factors or compute times from a file",
            .citation = ""},
           make_trace}};
}

}  // namespace simsgd::stragglers
