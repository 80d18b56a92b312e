// Progress of long work on stderr: a line that is rewritten on a terminal, nothing elsewhere until it takes
// long.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace simsgd {

struct SweepProgress;

/// "9 s", "2 min 05 s", "26 h 07 min", "12 days 3 h".
std::string clock_text(double seconds);

class Progress {
 public:
  /// `total` steps, or what else is counted; 0 where that is not known.
  Progress(std::string what, std::uint64_t total, std::string unit = "step");
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void at(std::uint64_t done);
  /// Removes the line; the last thing before other output.
  void finish();

 private:
  std::string what_, unit_;
  std::uint64_t total_;
  bool terminal_;
  bool shown_ = false;
  std::chrono::steady_clock::time_point begin_, last_;
};

/// Of a sweep: a bar on a terminal, a line for each point elsewhere.
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
