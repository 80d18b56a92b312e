#include "analysis/frame/missing.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace simsgd::frame {

namespace {
constexpr std::size_t kMostNamed = 5;
}

std::vector<std::string> notes_on_missing(const std::vector<const ResultPoint*>& points) {
  std::vector<std::string> notes, failed;
  std::size_t not_run = 0;
  for (const ResultPoint* point : points) {
    not_run += point->status ? 0 : 1;
    if (!point->status || *point->status == RunStatus::ok) continue;
    failed.push_back((point->label.empty() ? "the run" : point->label) + ": " + point->error);
    if (failed.back().ends_with('.')) failed.back().pop_back();
  }
  if (!failed.empty()) {
    std::string note =
        fmt::format("{} of {} runs failed, and count in no number: ", failed.size(), points.size());
    for (std::size_t i = 0; i < std::min(failed.size(), kMostNamed); ++i)
      note += (i > 0 ? "; " : "") + failed[i];
    if (failed.size() > kMostNamed) note += fmt::format("; and {} more", failed.size() - kMostNamed);
    notes.push_back(std::move(note));
  }
  if (not_run > 0) notes.push_back(fmt::format("{} of {} points have no run", not_run, points.size()));
  return notes;
}

void expect_results(const Frame& frame) {
  const auto& points = frame.rows();
  if (std::any_of(points.begin(), points.end(),
                  [](const ResultPoint* point) { return point->status == RunStatus::ok; }))
    return;
  std::string problem = fmt::format("No point of {} has a result.", frame.study().name);
  for (const std::string& note : notes_on_missing(points)) problem += " " + note + ".";
  throw RunError(problem);
}

}  // namespace simsgd::frame
