// Runs a function in a forked child and returns the numbers it gives: what ends a process, and SimGrid, which
// simulates once in one. A failure in the child fails the test with the child's sentence.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace simsgd::test {

struct ChildResult {
  std::vector<double> numbers;
  std::string error;  ///< what() of the exception that ended the child; empty if none
};

ChildResult run_in_child(const std::function<std::vector<double>()>& body);

/// The same where the child must succeed: throws std::runtime_error with its sentence otherwise.
std::vector<double> in_child(const std::function<std::vector<double>()>& body);

}  // namespace simsgd::test
