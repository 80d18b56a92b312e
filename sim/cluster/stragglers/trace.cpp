// trace: replays measured delays, factors or compute times of each worker and step (columns: trace_file.hpp).
// Step 1 of the run is the first step of the trace, whatever its number there. After the last one the trace
// begins again ("repeat": "loop"), nobody is late any more ("end"), or, from step 1 on, blocks of steps of
// all workers together are drawn with replacement ("resample"): the circular block bootstrap (Politis,
// Romano, in Exploring the Limits of Bootstrap, Wiley 1992), so that every step of the trace is as probable
// and neighbours stay neighbours. Ranks beyond the trace's workers replay them modulo; with "resample" each
// further group of ranks has blocks of its own, so that it is not a copy. A compute time c of the trace
// becomes the factor c / nominal compute time. Checked by tests/cluster/trace.cpp and trace_blocks.cpp.
#include <fmt/format.h>

#include <cmath>

#include "sim/cluster/stragglers/options.hpp"
#include "sim/cluster/stragglers/trace_file.hpp"

namespace simsgd::stragglers {

namespace {

enum class Repeat : std::uint8_t { loop, end, resample };

class TraceStraggler final : public StragglerModel {
 public:
  /// block: steps that are drawn together, with Repeat::resample.
  TraceStraggler(StragglerTrace trace, Repeat repeat, std::uint64_t block)
      : trace_(std::move(trace)), repeat_(repeat), block_(block) {}

  void apply(const StragglerContext& context, Straggle& straggle) const override {
    const std::uint64_t step = context.step - 1;
    if (repeat_ == Repeat::end && step >= trace_.steps) return;
    const std::size_t worker = static_cast<std::size_t>(context.rank) % trace_.workers.size();
    const StragglerTrace::Entry* entry =
        trace_.find(worker, repeat_ == Repeat::resample ? drawn_step(context) : step % trace_.steps);
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
  std::uint64_t drawn_step(StragglerContext context) const {
    const std::uint64_t step = context.step - 1;
    const auto workers = static_cast<int>(trace_.workers.size());
    context.rank = context.rank / workers * workers;  // one draw for all of a group
    context.step = step / block_;
    context.micro_batch = 0;
    const double start = std::floor(straggler_stream(context, StragglerDraw::choice).uniform() *
                                    static_cast<double>(trace_.steps));
    return (static_cast<std::uint64_t>(start) + step % block_) % trace_.steps;
  }

  StragglerTrace trace_;
  Repeat repeat_;
  std::uint64_t block_;
};

struct TraceOptions {
  std::string file;
  Repeat repeat = Repeat::loop;
  std::optional<std::uint64_t> block;
  bool exact = true;

  void fields(Fields& f) {
    f.text(
         "file", file,
         "CSV file with the columns worker, step and at least one of delay_s, factor, compute_s (factor and compute_s not together)")
        .required();
    f.choice(
        "repeat", repeat, {{"loop", Repeat::loop}, {"end", Repeat::end}, {"resample", Repeat::resample}},
        "After the last step of the trace: \"loop\" begins again, \"end\" delays nobody; \"resample\": the run is made of blocks of the trace's steps, drawn with replacement by the seed, all workers together");
    f.whole(
         "block", block,
         "With \"resample\" a block has this many steps; take several times as many as the times stay correlated for")
        .at_least(1);
    f.choice(
        "rank_mapping", exact, {{"exact", true}, {"modulo", false}},
        "Ranks beyond the trace's workers: \"exact\" refuses them, \"modulo\" lets rank r replay worker r mod (workers of the trace), with \"resample\" in blocks of its group's own");
  }
};

void reject_wrong_block(const TraceOptions& options, std::uint64_t steps) {
  if ((options.repeat == Repeat::resample) != options.block.has_value())
    reject("block", options.block ? "has nothing to cut" : "is missing",
           options.block ? "Set \"repeat\": \"resample\", or leave it out"
                         : "Give the steps of a block, such as 50");
  if (options.block && *options.block > steps)
    reject("block", fmt::format("is more than the {} steps of the trace", steps),
           fmt::format("Give at most {}", steps));
}

MadeStraggler make_trace(const TraceOptions& options, const StragglerCommon& common,
                         const StragglerSetup& setup) {
  if (common.relative)
    reject("relative", "does not go with a trace, whose columns have units of their own",
           "Leave it out; the column \"factor\" is relative to the compute time");
  StragglerTrace trace = read_straggler_trace(setup.resolve(options.file));
  reject_wrong_block(options, trace.steps);
  const int last_rank = selected_ranks(common, setup).back();
  if (options.exact && last_rank >= static_cast<int>(trace.workers.size()))
    reject("file",
           fmt::format("names a trace of {} workers, which has none for rank {}", trace.workers.size(),
                       last_rank),
           "Set \"rank_mapping\": \"modulo\", or list the ranks of the trace in \"workers\"");
  return std::make_unique<TraceStraggler>(std::move(trace), options.repeat, options.block.value_or(1));
}

}  // namespace

std::vector<StragglerPlugin> trace() {
  return {{{.name = "trace",
            .summary = "Replays measured delays, factors or compute times from a file",
            .citation = ""},
           make_trace}};
}

}  // namespace simsgd::stragglers
