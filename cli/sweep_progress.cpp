#include "cli/sweep_progress.hpp"

#include <fmt/format.h>

#include <cstdio>

#include "cli/progress.hpp"
#include "sim/base/printable.hpp"

namespace simsgd {

namespace {

constexpr std::size_t kBarWidth = 30;

}  // namespace

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
