// trace: replays measured delays, factors or compute times of each worker and step (columns below).
// Step 1 of the run is the first step of the trace, whatever its number there. After the last one the trace
// begins again ("repeat": "loop"), nobody is late any more ("end"), or, from step 1 on, blocks of steps of
// all workers together are drawn with replacement ("resample"): the circular block bootstrap (Politis,
// Romano, in Exploring the Limits of Bootstrap, Wiley 1992), so that every step of the trace is as probable
// and neighbours stay neighbours. Ranks beyond the trace's workers replay them modulo; with "resample" each
// further group of ranks has blocks of its own, so that it is not a copy. A compute time c of the trace
// becomes the factor c / nominal compute time. Checked by tests/cluster/trace.cpp.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/errors.hpp"
#include "sim/base/interrupts.hpp"
#include "sim/cluster/stragglers/registry.hpp"

namespace simsgd {

namespace {

// The CSV file that the straggler `trace` replays: one line per worker and step, in any order.
//   column   | unit | meaning
//   worker   |      | rank, from 0
//   step     |      | whole number; the smallest of the file is the first step of the run
//   delay_s  | s    | idle before computing
//   factor   | 1    | computes this many times slower
//   compute_s| s    | took so long to compute, whatever the workload says; not together with factor
// At least one of the last three. A line that is absent means: not late. Empty lines and lines that start
// with '#' are skipped.

struct StragglerTrace {
  struct Entry {
    std::uint64_t step = 0;  ///< from 0, the first of the trace
    double delay_s = 0;
    double factor = 1;
    double compute_s = 0;  ///< 0: not given
  };

  std::vector<std::vector<Entry>> workers;  ///< by rank, ascending by step
  std::uint64_t steps = 0;                  ///< last step - first step + 1

  /// The entry of a worker and step; null if there is none.
  const Entry* find(std::size_t worker, std::uint64_t step) const;
};

enum Column : std::size_t { kWorker, kStep, kDelay, kSlowFactor, kCompute, kColumns };
const std::array<std::string, kColumns> kNames = {"worker", "step", "delay_s", "factor", "compute_s"};
constexpr double kMaximumStep = 0x1p38 - 1;  // as straggler streams

[[noreturn]] void reject_trace(const std::string& problem, const std::string& remedy) {
  simsgd::reject("file", "names a trace that " + problem, remedy);
}

std::vector<std::string_view> split(std::string_view line) {
  std::vector<std::string_view> fields;
  while (true) {
    const std::size_t comma = line.find(',');
    std::string_view field = line.substr(0, comma);
    while (!field.empty() && std::strchr(" \t\r\"", field.front()) != nullptr) field.remove_prefix(1);
    while (!field.empty() && std::strchr(" \t\r\"", field.back()) != nullptr) field.remove_suffix(1);
    fields.push_back(field);
    if (comma == std::string_view::npos) return fields;
    line.remove_prefix(comma + 1);
  }
}

/// Reads line after line and knows which one it is at.
class Lines {
 public:
  explicit Lines(const std::filesystem::path& path) : guard_(path.string()) {
    std::error_code failed;
    if (std::filesystem::is_character_file(path, failed))
      reject_trace("is a device, which never ends", "Give a CSV file");
    file_.open(path);
    if (!file_)
      reject_trace(fmt::format("cannot be read ({})", std::strerror(errno)),
                   "Give a CSV file with the columns worker, step and delay_s, factor or compute_s");
  }

  /// The fields of the next line that is neither empty nor a comment; false at the end.
  bool next(std::vector<std::string_view>& fields) {
    while (std::getline(file_, line_)) {
      ++number_;
      if (number_ == 1 && line_.starts_with("\xEF\xBB\xBF")) line_.erase(0, 3);
      if (line_.find_first_not_of(" \t\r") == std::string::npos || line_.front() == '#') continue;
      fields = split(line_);
      return true;
    }
    return false;
  }
  std::size_t number() const { return number_; }

 private:
  const EndsAtInterrupts guard_;  // a FIFO without a writer does not open
  std::ifstream file_;
  std::string line_;
  std::size_t number_ = 0;
};

/// Which field holds which column.
using Header = std::array<std::optional<std::size_t>, kColumns>;

Header read_header(const std::vector<std::string_view>& fields) {
  const std::vector<std::string> valid(kNames.begin(), kNames.end());
  Header header;
  for (std::size_t field = 0; field < fields.size(); ++field) {
    const auto found = std::find(kNames.begin(), kNames.end(), fields[field]);
    if (found == kNames.end()) {
      const std::string guess = nearest(std::string(fields[field]), valid);
      reject_trace(fmt::format("has the unknown column \"{}\"", fields[field]),
                   (guess.empty() ? "" : "Did you mean \"" + guess + "\"? ") + "Choose " + one_of(valid));
    }
    auto& place = header[static_cast<std::size_t>(found - kNames.begin())];
    if (place) reject_trace(fmt::format("has the column \"{}\" twice", *found), "Leave one of them out");
    place = field;
  }
  for (const Column column : {kWorker, kStep})
    if (!header[column])
      reject_trace(fmt::format("has no column \"{}\"", kNames[column]), "Name the columns in the first line");
  if (!header[kDelay] && !header[kSlowFactor] && !header[kCompute])
    reject_trace("has no column of delays", "Add a column delay_s, factor or compute_s");
  if (header[kSlowFactor] && header[kCompute])
    reject_trace("has both columns \"factor\" and \"compute_s\"", "Leave one of the two columns out");
  return header;
}

/// One line in the making, with everything that its errors need.
struct Line {
  const Header& header;
  const std::vector<std::string_view>& fields;
  std::size_t number;

  double value(Column column, double otherwise, const char* what, bool (*valid)(double)) const {
    if (!header[column]) return otherwise;
    const std::string_view field = fields[*header[column]];
    double value = 0;
    const auto [end, error] = std::from_chars(field.data(), field.data() + field.size(), value);
    if (error != std::errc() || end != field.data() + field.size() || !std::isfinite(value) || !valid(value))
      reject_trace(fmt::format("has \"{}\" as {} in line {}", field, kNames[column], number), what);
    return value;
  }
};

bool is_rank(double value) { return value >= 0 && value <= kMaximumRank && value == std::floor(value); }
bool is_step(double value) { return value >= 0 && value <= kMaximumStep && value == std::floor(value); }
bool is_delay(double value) { return value >= 0; }
bool is_positive(double value) { return value > 0; }

void sort_and_count(StragglerTrace& trace) {
  std::uint64_t first = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t last = 0;
  for (std::size_t worker = 0; worker < trace.workers.size(); ++worker) {
    auto& entries = trace.workers[worker];
    if (entries.empty()) continue;
    const auto step_of = &StragglerTrace::Entry::step;
    std::ranges::sort(entries, {}, step_of);
    const auto twice = std::ranges::adjacent_find(entries, {}, step_of);
    if (twice != entries.end())
      reject_trace(fmt::format("has worker {} in step {} twice", worker, twice->step),
                   "Give one line per worker and step");
    first = std::min(first, entries.front().step);
    last = std::max(last, entries.back().step);
  }
  for (auto& entries : trace.workers)
    for (StragglerTrace::Entry& entry : entries) entry.step -= first;
  trace.steps = last - first + 1;
}

const StragglerTrace::Entry* StragglerTrace::find(std::size_t worker, std::uint64_t step) const {
  const std::vector<Entry>& entries = workers[worker];
  const auto found = std::ranges::lower_bound(entries, step, {}, &Entry::step);
  return found == entries.end() || found->step != step ? nullptr : &*found;
}

/// Throws ParameterError at "/file", with the line, for anything that is wrong with the file.
StragglerTrace read_straggler_trace(const std::filesystem::path& path) {
  Lines lines(path);
  std::vector<std::string_view> fields;
  if (!lines.next(fields)) reject_trace("is empty", "Begin it with the names of its columns");
  const Header header = read_header(fields);
  const std::size_t columns = fields.size();
  StragglerTrace trace;
  while (lines.next(fields)) {
    if (fields.size() != columns)
      reject_trace(fmt::format("has {} fields in line {}", fields.size(), lines.number()),
                   fmt::format("Give {} fields, as many as columns", columns));
    const Line line{header, fields, lines.number()};
    const auto worker =
        static_cast<std::size_t>(line.value(kWorker, 0, "Ranks are whole numbers from 0", is_rank));
    StragglerTrace::Entry entry;
    entry.step = static_cast<std::uint64_t>(line.value(kStep, 0, "Steps are whole numbers from 0", is_step));
    entry.delay_s = line.value(kDelay, 0, "Delays are seconds of at least 0", is_delay);
    entry.factor = line.value(kSlowFactor, 1, "Factors are numbers above 0", is_positive);
    entry.compute_s = line.value(kCompute, 0, "Compute times are seconds above 0", is_positive);
    if (worker >= trace.workers.size()) trace.workers.resize(worker + 1);
    trace.workers[worker].push_back(entry);
  }
  if (trace.workers.empty())
    reject_trace("has no line below its columns", "Give one line per worker and step");
  sort_and_count(trace);
  return trace;
}

}  // namespace

}  // namespace simsgd

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
        "After the last step of the trace: \"loop\" begins again; with \"end\" no worker is late any more; \"resample\" makes the run of blocks of the trace's steps, drawn with replacement by the seed, for all workers together");
    f.whole(
         "block", block,
         "With \"resample\" a block has this many steps; choose several times as many as times stay correlated for")
        .at_least(1);
    f.choice(
        "rank_mapping", exact, {{"exact", true}, {"modulo", false}},
        "Ranks beyond the trace's workers: \"exact\" refuses them, \"modulo\" lets rank r replay worker r mod (workers of the trace), with \"resample\" in blocks of its group's own");
  }
};

void reject_wrong_block(const TraceOptions& options, std::uint64_t steps) {
  if ((options.repeat == Repeat::resample) != options.block.has_value())
    reject("block", options.block ? "has no effect without \"repeat\": \"resample\"" : "is missing",
           options.block ? "Set \"repeat\": \"resample\", or leave it out"
                         : "Give the steps of a block, such as 50");
  if (options.block && *options.block > steps)
    reject("block", fmt::format("is more than the {} steps of the trace", steps),
           fmt::format("Give at most {}", steps));
}

MadeStraggler make_trace(const TraceOptions& options, const StragglerCommon& common,
                         const StragglerSetup& setup) {
  if (common.relative)
    reject("relative", "cannot be combined with a trace, whose columns have their own units",
           "Leave it out; the column \"factor\" is relative to the compute time");
  StragglerTrace trace = read_straggler_trace(setup.resolve(options.file));
  reject_wrong_block(options, trace.steps);
  const int last_rank = selected_ranks(common, setup).back();
  if (options.exact && last_rank >= static_cast<int>(trace.workers.size()))
    reject("file",
           fmt::format("names a trace of {} workers, which has no times for rank {}", trace.workers.size(),
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
