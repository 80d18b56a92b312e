// trace: replays measured delays, factors or compute times of each worker and step (columns: trace_file.hpp).
// Step 1 of the run is the first step of the trace, whatever its number there. After the last one the trace
// begins again ("repeat": "loop") or nobody is late any more ("end"). A compute time c of the trace becomes
// the factor c / nominal compute time. Checked by tests/cluster/trace.cpp.
#include <fmt/format.h>

#include "sim/cluster/stragglers/kinds.hpp"
#include "sim/cluster/stragglers/options.hpp"
#include "sim/cluster/stragglers/trace_file.hpp"

namespace simsgd {

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

/// Whether a text parameter has the first of two values; rejects all but these.
bool is_first_of(const Parameters& parameters, const std::string& key, const std::string& first,
                 const std::string& second) {
  const std::string value = parameters.text(key, first);
  if (value != first && value != second)
    Parameters::reject(key, "is no valid choice", fmt::format("Give \"{}\" or \"{}\"", first, second));
  return value == first;
}

std::unique_ptr<const StragglerModel> make_trace(const Parameters& parameters, const StragglerSetup& setup) {
  if (is_relative(parameters))
    Parameters::reject("relative", "does not go with a trace, whose columns have units of their own",
                       "Leave it out; the column \"factor\" is relative to the compute time");
  const bool loop = is_first_of(parameters, "repeat", "loop", "end");
  const bool exact = is_first_of(parameters, "rank_mapping", "exact", "modulo");
  StragglerTrace trace = read_straggler_trace(setup.resolve(parameters.text("file")));
  const int last_rank = selected_ranks(parameters, setup).back();
  if (exact && last_rank >= static_cast<int>(trace.workers.size()))
    Parameters::reject("file",
                       fmt::format("names a trace of {} workers, which has none for rank {}",
                                   trace.workers.size(), last_rank),
                       "Set \"rank_mapping\": \"modulo\", or list the ranks of the trace in \"workers\"");
  return std::make_unique<TraceStraggler>(std::move(trace), loop);
}

}  // namespace

StragglerPlugin trace_straggler() {
  const Json file = {{"type", "string"},
                     {"description",
                      "CSV file with the columns worker, step and at least one of delay_s, factor, compute_s "
                      "(factor and compute_s not together)"}};
  const Json repeat = {
      {"type", "string"},
      {"enum", {"loop", "end"}},
      {"default", "loop"},
      {"description", "After the last step of the trace: \"loop\" begins again, \"end\" delays nobody"}};
  const Json mapping = {{"type", "string"},
                        {"enum", {"exact", "modulo"}},
                        {"default", "exact"},
                        {"description",
                         "Ranks beyond the trace's workers: \"exact\" refuses them, \"modulo\" lets rank r "
                         "replay worker r mod (workers of the trace)"}};
  PluginInfo info{.name = "trace",
                  .summary = "Replays measured delays, factors or compute times from a file",
                  .citation = "",
                  .properties = {{"file", file}, {"repeat", repeat}, {"rank_mapping", mapping}},
                  .required = {"file"}};
  return {std::move(info), make_trace};
}

}  // namespace simsgd
