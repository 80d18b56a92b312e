// The book: which predictions of which calibrations are judged. scenarios/book/book.json is the one that
// README and docs/accuracy.md tell of.
#pragma once

#include <string>
#include <vector>

namespace simsgd::book {

/// Cells that are judged together: one line of the table.
struct SetSpec {
  std::string name;         ///< what is predicted: "ResNet-50: numbers of workers left out in turn"
  std::string measured_on;  ///< "Piz Daint, one P100 a node (WAGMA-SGD)"; sets of one machine stand together
  std::string spec;         ///< a calibration
  std::string left_out;     ///< the column of its parts that were left out in turn; or
  std::string test;         ///< a test of it
  /// How far its cells are unseen: "left out" of a fit whose model was made with them in sight, "blind" where
  /// nobody had looked at them, "explored" where they were in sight and nothing was left out but them.
  std::string seen;
  std::string cause;  ///< why its worst cells are off
};

struct Book {
  std::string file, name;
  std::vector<SetSpec> sets;
};

/// Throws ConfigError with everything that is wrong with it.
Book load_book(const std::string& path);

}  // namespace simsgd::book
