// The curves of a run: its learning step by step, and at each evaluation. One table says what their columns
// are; the document's series, the files and the docs are made from it.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "sim/record.hpp"

namespace simsgd {

struct CurveColumn {
  std::string name, unit, definition;
  std::string when_empty;  ///< in the file; null in the document. "" where it always has a value
  bool in_file = true;     ///< a list is in the document alone
};

struct Curve {
  std::string series;  ///< in the document: /series/train
  std::string file;    ///< "loss.csv"
  std::string definition;
  std::vector<CurveColumn> columns;
};
const std::vector<Curve>& curves();

/// The document's `series`: for each curve a list of points, with a member for each column.
nlohmann::ordered_json series_of(const RunRecord& record);

/// A curve as CSV (RFC 4180): the names of its columns, then a line for each point of the series.
std::string curve_csv(const Curve& curve, const nlohmann::ordered_json& points);

}  // namespace simsgd
