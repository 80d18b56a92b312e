#include "cli/progress.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>

#include "sim/base/units.hpp"

namespace simsgd {

using WallClock = std::chrono::steady_clock;

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
    line += fmt::format(" of {}, {} left", human_number(static_cast<double>(total_)),
                        human_time(elapsed / static_cast<double>(done) * static_cast<double>(total_ - done)));
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
