#include "cli/sweep_progress.hpp"

#include <fmt/format.h>

#include <cmath>
#include <cstdio>

#include "sim/base/printable.hpp"
#include "sim/base/units.hpp"

namespace simsgd {

namespace {

constexpr std::size_t kBarWidth = 30;

std::string clock(double seconds) {
  const auto whole = static_cast<long>(std::lround(seconds));
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600) return fmt::format("{} min {:02} s", whole / 60, whole % 60);
  return fmt::format("{} h {:02} min", whole / 3600, whole / 60 % 60);
}

}  // namespace

std::string progress_text(const SweepProgress& progress) {
  std::string text = fmt::format("{}/{} points", progress.ended, progress.total);
  if (progress.elapsed_s < 1) return text;
  text += ", " + clock(progress.elapsed_s);
  if (progress.ended > 0 && progress.ended < progress.total)
    text += fmt::format(", about {} left", clock(progress.elapsed_s / static_cast<double>(progress.ended) *
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
