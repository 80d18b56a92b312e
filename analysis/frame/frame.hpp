// A study as a table: rows are its points, with how their runs ended and the metrics that they have; columns
// are its axes. Tables, comparisons, charts and winners choose, group and compare rows of this one type.
#pragma once

#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "analysis/runs/results.hpp"
#include "sim/base/errors.hpp"

namespace simsgd::frame {

/// What is read of single runs, by their keys: as StoredResults has it.
struct RunDetails {
  std::function<nlohmann::ordered_json(const std::string& key)> scenario;
  std::function<std::vector<CurvePoint>(const std::string& key, const std::string& name)> curve;
  std::function<std::vector<ResultLink>(const std::string& key)> busiest_links;
  std::function<std::map<std::string, std::vector<std::string>>()> notes;  ///< of all runs that say any
  std::function<nlohmann::ordered_json(const std::string& key)> intervals = {};
};
/// Of a store, which must outlive it.
RunDetails details_of(const StoredResults& results);

/// A value of an axis, for people and, where it is one, as a number.
struct Value {
  std::string label;
  std::optional<double> number;
};
/// For records: a number where it is one, else the label.
nlohmann::ordered_json record_of(const Value& value);

/// Whether a coordinate happens to a run and is not chosen: what the study says ("circumstances"); else
/// everything but the algorithm and its optimizer, the number of workers and of GPUs a node, the cluster as a
/// whole, its devices and communication library, and batches. What is best is asked of what is chosen, for
/// each value of what happens: a method that is stopped earlier, or meets no straggler, is no better for it.
bool is_circumstance(const ResultCoordinate& coordinate);

struct Axis {
  std::string name, pointer;
  std::vector<Value> values;      ///< in the order in which the rows have them
  std::vector<std::size_t> at{};  ///< of each row, which value
  bool circumstance = false;      ///< see is_circumstance

  std::vector<std::string> labels() const;
  /// Whether every value is a number.
  bool is_numeric() const;
};

/// The rows that agree on some axes.
struct Group {
  std::vector<std::size_t> at;             ///< of each of these axes, which value
  std::vector<const ResultPoint*> points;  ///< in the study's order
  /// Those that have a result, in the order of their seeds.
  std::vector<const ResultPoint*> runs() const;
};

class Frame {
 public:
  /// All points of a study, which must outlive it. A point that sets nothing on an axis has "default" there.
  Frame(const ResultStudy& study, RunDetails details);

  const ResultStudy& study() const { return *study_; }
  const RunDetails& details() const { return details_; }
  const std::vector<const ResultPoint*>& rows() const { return rows_; }
  const std::vector<Axis>& axes() const { return axes_; }

  /// The axis of this name, or of which it is the last piece ("workers" of "cluster/workers"). What is wrong
  /// goes to `errors`, with `option` for its place.
  std::optional<std::size_t> axis(const std::string& option, const std::string& name,
                                  std::vector<InputError>& errors) const;
  /// A value of an axis: as shown, as it was set, or its name where no other value has it.
  std::optional<std::size_t> value(const std::string& option, std::size_t axis, const std::string& text,
                                   std::vector<InputError>& errors) const;
  /// The rows that hold "workers=64": of one axis any of its values, of several axes all.
  Frame where(const std::vector<std::string>& filters, std::vector<InputError>& errors) const;

  /// Axes that have more than one value.
  std::vector<std::size_t> varying() const;
  /// Whether a value of `cause` tells that of `effect` in every row.
  bool determines(std::size_t cause, std::size_t effect) const;
  /// In the order of the axes' values, the last axis varying fastest.
  std::vector<Group> groups(const std::vector<std::size_t>& axes) const;
  /// Axes that differ inside a group, so that its rows are not seeds of one setting.
  std::vector<std::size_t> mixed(const std::vector<std::size_t>& axes) const;

 private:
  Frame(const Frame& of, const std::vector<std::size_t>& rows);

  const ResultStudy* study_;
  RunDetails details_;
  std::vector<const ResultPoint*> rows_;
  std::vector<Axis> axes_;
};

/// Which study of a store, and which of its points.
struct FrameQuestion {
  std::string file;   ///< the store as it was named, for errors
  std::string study;  ///< name or id; may be empty where the store has one
  std::vector<std::string> where;
};
/// Throws ConfigError where it is not clear which study; what is wrong with `where` goes to `errors`.
Frame frame_of(const StoredResults& results, const FrameQuestion& question, std::vector<InputError>& errors);

/// What numbers leave out. "2 of 40 runs failed: severity=2, seed=1: out of memory; ..."; nothing where none
/// did. And what is to run.
std::vector<std::string> notes_on_missing(const std::vector<const ResultPoint*>& points);

/// Throws RunError where no point has ended with a result.
void expect_results(const Frame& frame);

}  // namespace simsgd::frame
