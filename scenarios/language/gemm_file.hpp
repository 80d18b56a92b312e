// Products of matrices that a user measured, as a CSV file that "use" of a device's "gemm" names:
//   "device": {"use": "devices/h100.json", "gemm": {"use": "my.csv"}}
// The first line names the columns, in any order and case:
//   column                           | meaning
//   m, n, k                          | rows and columns of the product; numbers that are multiplied and
//                                    | added for each of its entries
//   seconds, time, ms or us          | the time of the kernel alone
//   else tflops, gflops or flops     | its rate: 2 m n k over that time
// A cell may bring a unit of its own ("12.5 us", "610 TFLOPS"). Rows stand in any order; other columns, empty
// lines and lines that begin with # are not read. Test: tests/scenarios/step_cost.cpp.
#pragma once

#include <string>

#include "sim/base/fields.hpp"

namespace simsgd {

/// The object that "gemm" then is: {"times": [{"m": ..., "n": ..., "k": ..., "time": ...}, ...]}. Throws
/// ConfigError with all that is wrong with the text, line by line; `file` is the name that errors give it.
Json gemm_of_csv(const std::string& text, const std::string& file);

}  // namespace simsgd
