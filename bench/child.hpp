// A function in a forked child, whose memory is that of one run.
#pragma once

#include <functional>
#include <vector>

namespace simsgd::bench {

struct ChildRun {
  std::vector<double> numbers;  ///< what the function gave
  double peak_bytes = 0;        ///< of resident memory
};

/// Throws std::runtime_error if the child does not end well.
ChildRun run_in_child(const std::function<std::vector<double>()>& body);

}  // namespace simsgd::bench
