#include "cli/progress.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

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

}  // namespace simsgd
