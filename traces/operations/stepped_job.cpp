#include "traces/operations/recorded_job.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>

#include "sim/base/errors.hpp"
#include "sim/base/printable.hpp"
#include "sim/base/quantiles.hpp"
#include "traces/measurements.hpp"
#include "traces/reading/csv.hpp"

namespace simsgd {

namespace {

// assumed: ranks' clocks, once they are set by the ends of collectives, agree to this.
constexpr double kClockSlack_s = 50e-6;
constexpr double kOwnSlack_s = 1e-6;  // our timelines have a tenth of a nanosecond
constexpr std::size_t kMostStepErrors = 20;

constexpr const char* kStepBegins = "begin of the step";
constexpr const char* kStepEnds = "end of the step";

std::string collective_text(const SteppedCollective& each) {
  if (each.bytes == 0) return printable(each.operation);
  return fmt::format("{} of {} bytes", printable(each.operation), each.bytes);
}

// Nobody's ends before everybody has begun. A broadcast's root, say, goes on earlier.
bool waits_for_all(const std::string& operation) {
  return operation != "broadcast" && operation != "reduce" && operation != "gather" && operation != "scatter";
}

// Checks that ranks fit together, and cuts what they did into operations.
class SteppedJobReader {
 public:
  explicit SteppedJobReader(SteppedJob job)
      : job_(std::move(job)), slack_s_(job_.one_clock ? kOwnSlack_s : kClockSlack_s) {
    made_.skipped = std::move(job_.skipped);
  }

  RecordedJob read() {
    check_ranks();
    keep_common_steps();
    sort_steps();
    check_collectives();
    if (!job_.one_clock) set_clocks();
    check_waiting();
    if (!errors_.empty()) throw ConfigError(std::move(errors_));
    return operations();
  }

 private:
  std::size_t ranks() const { return job_.ranks.size(); }
  const SteppedStep& step(std::size_t rank, std::size_t s) const { return job_.ranks[rank].steps[s]; }

  void error(const std::string& problem, const std::string& found, const std::string& remedy) {
    if (errors_.size() < kMostStepErrors) errors_.push_back({job_.file, "", problem, found, remedy});
  }
  [[noreturn]] void fail(const std::string& problem, const std::string& found, const std::string& remedy) {
    throw ConfigError({job_.file, "", problem, found, remedy});
  }

  void check_ranks() {
    std::ranges::sort(job_.ranks, [](const SteppedRank& a, const SteppedRank& b) { return a.rank < b.rank; });
    if (ranks() == 0 && !made_.skipped.empty()) throw ConfigError(std::move(made_.skipped));
    if (ranks() == 0) fail("contains no steps", "", "Profile with steps (ProfilerStep), or give steps.csv");
    const auto world = std::max<std::size_t>(static_cast<std::size_t>(std::max(job_.world_size, 0)), ranks());
    for (std::size_t i = 0; i < ranks(); ++i)
      if (job_.ranks[i].rank != static_cast<int>(i) || world != ranks())
        fail(
            fmt::format(
                "has the steps of {} of {} ranks, and the others are needed because ranks wait for them",
                ranks(), world),
            fmt::format("rank {}", job_.ranks[i].rank),
            "Name the files of all ranks; for a run of SimSGD with more than 16 ranks, its steps.csv (run --steps)");
  }

  // Steps that every rank recorded, in order.
  void keep_common_steps() {
    std::map<std::uint64_t, std::size_t> seen;
    std::set<std::uint64_t> twice;
    for (SteppedRank& rank : job_.ranks) {
      std::ranges::sort(rank.steps,
                        [](const SteppedStep& a, const SteppedStep& b) { return a.number < b.number; });
      for (std::size_t s = 0; s < rank.steps.size(); ++s) {
        const std::uint64_t number = rank.steps[s].number;
        if (s > 0 && number == rank.steps[s - 1].number && twice.insert(number).second)
          made_.skip("steps that a rank did twice, left out",
                     {job_.file, "", fmt::format("has step {} of rank {} twice", number, rank.rank), "",
                      "Give each once"});
        ++seen[number];
      }
    }
    for (const std::uint64_t number : twice) seen.erase(number);
    const auto everybodys = [&](const SteppedStep& each) {
      const auto found = seen.find(each.number);
      return found != seen.end() && found->second == ranks();
    };
    for (SteppedRank& rank : job_.ranks)
      std::erase_if(rank.steps, [&](const SteppedStep& each) { return !everybodys(each); });
    for (const auto& [number, count] : seen)
      if (count < ranks()) ++job_.ignored["steps that not every rank recorded, left out"];
    if (job_.ranks.front().steps.empty() && !made_.skipped.empty())
      throw ConfigError(std::move(made_.skipped));
    if (job_.ranks.front().steps.empty())
      fail("has no step that every rank recorded", "", "Name files of the same steps of one job");
  }

  void sort_steps() {
    for (SteppedRank& rank : job_.ranks)
      for (SteppedStep& each : rank.steps) {
        std::ranges::sort(each.computing,
                          [](const SteppedSpan& a, const SteppedSpan& b) { return a.begin_s < b.begin_s; });
        std::ranges::stable_sort(each.collectives,
                                 [](const SteppedCollective& a, const SteppedCollective& b) {
                                   return a.span.begin_s < b.span.begin_s;
                                 });
      }
  }

  void check_collectives() {
    for (std::size_t s = 0; s < job_.ranks.front().steps.size(); ++s) {
      const auto& first = step(0, s).collectives;
      for (std::size_t r = 0; r < ranks(); ++r) {
        const auto& own = step(r, s).collectives;
        for (const SteppedCollective& each : own) {
          if (each.operation.empty())
            return error(
                fmt::format(
                    "has operations that only the algorithm knows, in step {} of rank {}, so it is unknown who waited for whom",
                    step(r, s).number, r),
                "", "Replay methods whose ranks meet in collectives, such as allreduce_sgd");
          if (each.group_size > 0 && each.group_size != static_cast<int>(ranks()))
            return error(
                fmt::format(
                    "has operations among only some ranks, in step {} of rank {}, so it is unknown who waited for whom",
                    step(r, s).number, r),
                fmt::format("{}, {} of {} ranks", collective_text(each), each.group_size, ranks()),
                "Replay jobs whose operations are among all ranks");
        }
        const std::size_t common = std::min(first.size(), own.size());
        for (std::size_t i = 0; i < common; ++i)
          if (first[i].operation != own[i].operation || first[i].bytes != own[i].bytes)
            return error(
                fmt::format("has ranks that differ in operation {} of step {}", i + 1, step(r, s).number),
                fmt::format("{} on rank 0, {} on rank {}", collective_text(first[i]), collective_text(own[i]),
                            r),
                "Name files of one job, whose ranks do the same operations in every step");
        if (own.size() != first.size())
          return error(
              fmt::format("has ranks with different numbers of operations in step {}", step(r, s).number),
              fmt::format("{} on rank 0, {} on rank {}", first.size(), own.size(), r),
              "Name files of one job, whose ranks do the same operations in every step");
      }
    }
  }

  // Collectives end everywhere at about the same time: the median difference of a rank's ends to the first
  // rank's is that of their clocks.
  void set_clocks() {
    for (std::size_t r = 1; r < ranks() && errors_.empty(); ++r) {
      std::vector<double> apart_s;
      for (std::size_t s = 0; s < job_.ranks[r].steps.size(); ++s)
        for (std::size_t i = 0; i < step(r, s).collectives.size(); ++i)
          if (waits_for_all(step(r, s).collectives[i].operation))
            apart_s.push_back(step(r, s).collectives[i].span.end_s - step(0, s).collectives[i].span.end_s);
      if (apart_s.empty())
        fail("has no collective to align the ranks' clocks with", fmt::format("rank {}", r),
             "Replay steps with collectives of all ranks");
      const double offset_s = median(apart_s);
      for (SteppedStep& each : job_.ranks[r].steps) {
        for (SteppedSpan& span : each.computing) span = {span.begin_s - offset_s, span.end_s - offset_s};
        for (SteppedCollective& one : each.collectives)
          one.span = {one.span.begin_s - offset_s, one.span.end_s - offset_s};
      }
    }
  }

  void check_waiting() {
    for (std::size_t s = 0; s < job_.ranks.front().steps.size() && errors_.empty(); ++s)
      for (std::size_t i = 0; i < step(0, s).collectives.size(); ++i) {
        double last_begin_s = -INFINITY, first_end_s = INFINITY;
        for (std::size_t r = 0; r < ranks(); ++r) {
          const SteppedSpan& span = step(r, s).collectives[i].span;
          last_begin_s = std::max(last_begin_s, span.begin_s);
          first_end_s = std::min(first_end_s, span.end_s);
          if (step(r, s).whole && span.end_s > step(r, s).whole->end_s + slack_s_)
            return error(
                fmt::format(
                    "has operations that outlast the step {} in which rank {} began them, so steps do not wait for them",
                    step(r, s).number, r),
                collective_text(step(r, s).collectives[i]), "Replay synchronous methods");
        }
        if (waits_for_all(step(0, s).collectives[i].operation) && first_end_s < last_begin_s - slack_s_)
          return error(
              fmt::format(
                  "has operations that end before every rank has begun them, in step {}, so they do not wait for all ranks",
                  step(0, s).number),
              collective_text(step(0, s).collectives[i]), "Replay synchronous methods");
      }
  }

  std::int32_t kind(const std::string& name, RecordedRole role) {
    const auto [found, fresh] = kinds_.try_emplace(name, static_cast<std::int32_t>(made_.kinds.size()));
    if (fresh) {
      made_.kinds.push_back(name);
      made_.roles.push_back(role);
    }
    return found->second;
  }

  void add(std::size_t rank, const SteppedStep& in, std::int32_t kind, std::int32_t lane,
           const SteppedSpan& span) {
    RecordedOperation each;
    each.step = static_cast<std::int64_t>(in.number);
    each.kind = kind;
    each.lane = lane;
    each.worker = static_cast<std::int32_t>(rank);
    each.line = ++lines_;
    each.start_s = span.begin_s;
    each.end_s = std::max(span.end_s, span.begin_s);
    made_.operations.push_back(each);
  }

  // Told by how many collectives had begun, and how many it had waited for.
  void add_computing(std::size_t rank, const SteppedStep& in) {
    std::vector<double> ends_s;
    for (const SteppedCollective& each : in.collectives) ends_s.push_back(each.span.end_s);
    std::ranges::sort(ends_s);
    std::optional<SteppedSpan> open;
    std::size_t begun = 0, waited = 0;
    const auto close = [&] {
      if (!open) return;
      const std::string name = begun + waited == 0
                                   ? "computing"
                                   : fmt::format("computing, {} begun, {} waited for", begun, waited);
      add(rank, in, kind(name, RecordedRole::computing), 0, *open);
      open.reset();
    };
    for (SteppedSpan span : in.computing) {
      const double idle_from_s = open ? open->end_s : -INFINITY;
      const auto ended = static_cast<std::size_t>(
          std::upper_bound(ends_s.begin(), ends_s.end(), span.begin_s + slack_s_) - ends_s.begin());
      const bool waited_now = ended > waited && span.begin_s > idle_from_s && ends_s[ended - 1] > idle_from_s;
      if (waited_now) {
        close();
        waited = ended;
      }
      for (; begun < in.collectives.size() && in.collectives[begun].span.begin_s <= span.end_s; ++begun) {
        const double at_s = in.collectives[begun].span.begin_s;
        if (open && at_s <= open->end_s + slack_s_) {
          close();
        } else if (at_s > span.begin_s) {
          open = {open ? open->begin_s : span.begin_s, at_s};
          close();
          span.begin_s = at_s;
        } else {
          close();
        }
      }
      if (span.end_s <= span.begin_s) continue;
      open = {open ? open->begin_s : span.begin_s, std::max(open ? open->end_s : span.end_s, span.end_s)};
    }
    close();
  }

  RecordedJob operations() {
    made_.file = job_.file;
    made_.unit = job_.unit;
    made_.lanes = {"computing", "collectives"};
    made_.replicas = static_cast<int>(ranks());
    for (std::size_t r = 0; r < ranks(); ++r) made_.workers.push_back({static_cast<int>(r), 0, 0});
    for (std::size_t s = 0; s < job_.ranks.front().steps.size(); ++s)
      for (std::size_t r = 0; r < ranks(); ++r) {
        SteppedStep& in = job_.ranks[r].steps[s];
        if (in.whole) {
          add(r, in, kind(kStepBegins, RecordedRole::computing), 0, {in.whole->begin_s, in.whole->begin_s});
          add(r, in, kind(kStepEnds, RecordedRole::computing), 0, {in.whole->end_s, in.whole->end_s});
        }
        add_computing(r, in);
        for (std::size_t i = 0; i < in.collectives.size(); ++i)
          add(r, in, kind(fmt::format("{} {}", in.collectives[i].operation, i + 1), RecordedRole::collective),
              1, in.collectives[i].span);
        in.computing = {};
        in.collectives = {};
      }
    if (made_.operations.empty())
      fail("has no computing and no collective in its steps", "", "Profile with GPU activities enabled");
    sort_operations(made_);
    made_.understood = std::move(job_.understood);
    for (const auto& [reason, count] : job_.ignored) made_.ignored[reason] += count;
    return std::move(made_);
  }

  SteppedJob job_;
  double slack_s_;
  std::vector<InputError> errors_;
  RecordedJob made_;
  std::map<std::string, std::int32_t> kinds_;
  std::uint32_t lines_ = 0;
};

// step_rows: steps.csv of a run, simulated or real (docs/results.md): every worker and step. Of a step's
// operations it tells when the first began and the last ended: what follows the last backward pass is taken
// as one, in which all wait for each other; what went on beside computing has no time of its own.
enum StepCell : std::size_t { kWorker, kNumber, kBegin, kComputed, kWent, kOperationEnd, kEnd, kCellCount };
constexpr std::array<const char*, kCellCount> kStepCells = {
    "worker", "step", "begin_s", "computed_s", "operation_went_s", "operation_end_s", "end_s"};
constexpr double kMostStepTime_s = 1e12;
using StepCells = std::array<double, kCellCount>;

// What is wrong with a row; null: nothing.
const char* problem_of(const StepCells& row) {
  if (!(row[kWorker] >= 0 && row[kWorker] < 0x1p20 && std::trunc(row[kWorker]) == row[kWorker]))
    return "has no worker";
  if (!(row[kNumber] >= 0 && row[kNumber] < 0x1p53 && std::trunc(row[kNumber]) == row[kNumber]))
    return "has no step";
  if (!(std::fabs(row[kBegin]) < kMostStepTime_s && std::fabs(row[kEnd]) < kMostStepTime_s))
    return "has no begin or no end";
  for (const StepCell each : {kComputed, kWent, kOperationEnd})
    if (!std::isnan(row[each]) && !(row[each] >= row[kBegin] && row[each] <= row[kEnd] + 1e-6))
      return "has an instant outside of its step";
  return nullptr;
}

SteppedStep step_of_row(const StepCells& row) {
  SteppedStep step;
  step.number = static_cast<std::uint64_t>(row[kNumber]);
  step.whole = SteppedSpan{row[kBegin], row[kEnd]};
  const double computed_s = std::isnan(row[kComputed]) ? row[kBegin] : row[kComputed];
  if (std::isnan(row[kOperationEnd])) {
    step.computing = {{row[kBegin], row[kEnd]}};
    return step;
  }
  const double went_s = std::isnan(row[kWent]) ? computed_s : row[kWent];
  const double begin_s = std::min({computed_s, went_s, row[kOperationEnd]});
  step.computing = {{row[kBegin], begin_s}, {row[kOperationEnd], row[kEnd]}};
  if (begin_s < computed_s) step.computing.push_back({begin_s, computed_s});
  step.collectives = {{{begin_s, row[kOperationEnd]}, "operations", 0, 0}};
  return step;
}

}  // namespace

RecordedJob recorded_job(SteppedJob job) { return SteppedJobReader(std::move(job)).read(); }

bool is_step_rows(std::string_view head) { return head.starts_with("worker,step,begin_s,"); }

RecordedJob read_step_rows(Input& input) {
  CsvReader reader(input, ',');
  std::vector<std::string> fields;
  reader.record(fields);
  const CsvColumns columns(fields);
  columns.require(kStepCells, input.name(), "", "Give a file that a run wrote with --steps");
  std::vector<InputError> errors;
  SteppedJob job;
  job.file = input.name();
  std::map<int, SteppedRank> ranks;
  constexpr std::size_t kMostRowErrors = 20;
  const auto wrong = [&](const std::string& problem, const std::string& found) {
    if (errors.size() < kMostRowErrors)
      errors.push_back({input.name(), "", fmt::format("line {} {}", reader.line(), problem), printable(found),
                        "Give a file that a run wrote with --steps"});
  };
  while (reader.record(fields)) {
    if (fields.size() != columns.width()) {
      wrong(fmt::format("does not have {} fields", columns.width()), fmt::format("{}", fields.size()));
      continue;
    }
    StepCells row;
    bool numbers = true;
    for (std::size_t cell = 0; cell < kCellCount; ++cell) {
      const auto value = columns.number(fields, kStepCells[cell], kNotGiven);
      row[cell] = value.value_or(kNotGiven);
      if (value) continue;
      wrong(fmt::format("has no number in {}", kStepCells[cell]),
            std::string(columns.of(fields, kStepCells[cell])));
      numbers = false;
    }
    if (!numbers) continue;
    if (row[kEnd] < row[kBegin]) {
      ++job.ignored["rows of negative length, skipped"];
      if (job.skipped.size() < kMostRowErrors)
        job.skipped.push_back({input.name(), "", fmt::format("line {} ends before it begins", reader.line()),
                               fmt::format("{} to {}", row[kBegin], row[kEnd]),
                               "Give a file that a run wrote with --steps"});
      continue;
    }
    if (const char* problem = problem_of(row)) {
      wrong(problem, "");
      continue;
    }
    SteppedRank& rank = ranks[static_cast<int>(row[kWorker])];
    rank.rank = static_cast<int>(row[kWorker]);
    rank.steps.push_back(step_of_row(row));
  }
  if (input.cut()) wrong("ends too early: the compressed file was cut", "");
  if (!errors.empty()) throw ConfigError(std::move(errors));
  for (auto& [number, rank] : ranks) job.ranks.push_back(std::move(rank));
  job.understood["rows of steps"] = 0;
  for (const SteppedRank& rank : job.ranks) job.understood["rows of steps"] += rank.steps.size();
  return recorded_job(std::move(job));
}

}  // namespace simsgd
