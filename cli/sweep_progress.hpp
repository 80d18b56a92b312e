// Progress of a sweep on stderr: a bar on a terminal, a line for each point elsewhere.
#pragma once

#include <string>

#include "analysis/runs/sweep.hpp"

namespace simsgd {

class SweepBar {
 public:
  explicit SweepBar(bool terminal) : terminal_(terminal) {}
  ~SweepBar() { clear(); }
  SweepBar(const SweepBar&) = delete;
  SweepBar& operator=(const SweepBar&) = delete;

  void show(const SweepProgress& progress);
  /// Removes the bar; before other output.
  void clear();

 private:
  bool terminal_;
  std::string shown_;
};

/// "5/10 points, 12 s, about 14 s left".
std::string progress_text(const SweepProgress& progress);

}  // namespace simsgd
