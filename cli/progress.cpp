#include "cli/progress.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "analysis/runs/sweep.hpp"
#include "sim/base/printable.hpp"
#include "sim/base/units.hpp"

namespace simsgd {

using WallClock = std::chrono::steady_clock;

std::string clock_text(double seconds) {
  const auto whole = static_cast<long long>(std::llround(std::min(seconds, 1e15)));
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600) return fmt::format("{} min {:02} s", whole / 60, whole % 60);
  if (whole < 2LL * 86400) return fmt::format("{} h {:02} min", whole / 3600, whole / 60 % 60);
  return fmt::format("{} days {} h", whole / 86400, whole / 3600 % 24);
}

Progress::Progress(std::string what, std::uint64_t total, std::string unit)
    : what_(std::move(what)),
      unit_(std::move(unit)),
      total_(total),
      terminal_(isatty(2) != 0),
      begin_(WallClock::now()),
      last_(begin_) {}

Progress::~Progress() { finish(); }

void Progress::at(std::uint64_t done) {
  const WallClock::time_point now = WallClock::now();
  const double since_last = std::chrono::duration<double>(now - last_).count();
  if (since_last < (terminal_ ? 0.2 : 30.0)) return;
  last_ = now;
  const double elapsed = std::chrono::duration<double>(now - begin_).count();
  std::string line = fmt::format("{}: {} {}", what_, unit_, human_number(static_cast<double>(done)));
  if (total_ > 0 && done > 0)
    line += fmt::format(" of {}, about {} left", human_number(static_cast<double>(total_)),
                        clock_text(elapsed / static_cast<double>(done) * static_cast<double>(total_ - done)));
  if (terminal_)
    fmt::print(stderr, "\r\x1b[K{}", line);
  else
    fmt::print(stderr, "{}\n", line);
  std::fflush(stderr);
  shown_ = true;
}

void Progress::finish() {
  if (shown_ && terminal_) fmt::print(stderr, "\r\x1b[K");
  shown_ = false;
}

std::string progress_text(const SweepProgress& progress) {
  std::string text = fmt::format("{}/{} points", progress.ended, progress.total);
  if (progress.elapsed_s < 1) return text;
  text += ", " + clock_text(progress.elapsed_s);
  if (progress.ended > 0 && progress.ended < progress.total)
    text +=
        fmt::format(", about {} left", clock_text(progress.elapsed_s / static_cast<double>(progress.ended) *
                                                  static_cast<double>(progress.total - progress.ended)));
  return text;
}

void SweepBar::show(const SweepProgress& progress) {
  if (!terminal_) {
    if (progress.last == nullptr) return;
    const std::string label = printable(progress.last->point.label);
    fmt::print(stderr, "{}{}{} ({})\n", label, label.empty() ? "" : ": ", status_name(progress.status),
               progress_text(progress));
    std::fflush(stderr);
    return;
  }
  constexpr std::size_t kBarWidth = 30;
  const std::size_t full = progress.total > 0 ? kBarWidth * progress.ended / progress.total : kBarWidth;
  const std::string line = fmt::format("[{}{}] {}", std::string(full, '#'),
                                       std::string(kBarWidth - full, '.'), progress_text(progress));
  if (line == shown_) return;
  fmt::print(stderr, "\r\x1b[K{}", line);
  std::fflush(stderr);
  shown_ = line;
}

void SweepBar::clear() {
  if (terminal_ && !shown_.empty()) fmt::print(stderr, "\r\x1b[K");
  std::fflush(stderr);
  shown_.clear();
}

}  // namespace simsgd
