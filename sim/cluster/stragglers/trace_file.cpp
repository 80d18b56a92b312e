#include "sim/cluster/stragglers/trace_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstring>
#include <fstream>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include "sim/base/errors.hpp"
#include "sim/base/interrupts.hpp"
#include "sim/base/reject.hpp"
#include "sim/cluster/stragglers/options.hpp"

namespace simsgd {

namespace {

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
                   (guess.empty() ? "" : "Did you mean \"" + guess + "\"? ") + "Valid are " + one_of(valid));
    }
    auto& place = header[static_cast<std::size_t>(found - kNames.begin())];
    if (place) reject_trace(fmt::format("has the column \"{}\" twice", *found), "Leave one of them out");
    place = field;
  }
  for (const Column column : {kWorker, kStep})
    if (!header[column])
      reject_trace(fmt::format("has no column \"{}\"", kNames[column]), "Name the columns in the first line");
  if (!header[kDelay] && !header[kSlowFactor] && !header[kCompute])
    reject_trace("says nothing about lateness", "Add a column delay_s, factor or compute_s");
  if (header[kSlowFactor] && header[kCompute])
    reject_trace("has both \"factor\" and \"compute_s\"", "Leave one of the two columns out");
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

}  // namespace

const StragglerTrace::Entry* StragglerTrace::find(std::size_t worker, std::uint64_t step) const {
  const std::vector<Entry>& entries = workers[worker];
  const auto found = std::ranges::lower_bound(entries, step, {}, &Entry::step);
  return found == entries.end() || found->step != step ? nullptr : &*found;
}

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

}  // namespace simsgd
