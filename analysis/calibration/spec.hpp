// A calibration: which measurements, what predicts them, which parameters are fitted to some of them, and on
// which others the prediction is judged. scenarios/calibration/ has them; docs/calibration.md tells the
// language.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "analysis/calibration/selection.hpp"
#include "scenarios/language/errors.hpp"
#include "sim/base/errors.hpp"
#include "sim/base/fields.hpp"

namespace simsgd {

// The parts of a spec tell their fields. `settle` reads what these keep as JSON, and throws ParameterError
// for what is wrong with the part as a whole.

/// Files of measurements.
struct DataSpec {
  std::vector<std::string> files;     ///< relative to the data directory
  std::vector<std::string> expected;  ///< or studies, whose `expected` values are the measurements
  std::string beside;  ///< a study of the same measurements that nothing is fitted in; "": none
  std::string format;
  RawValue map;  ///< of columns
  std::map<std::string, std::string> set;
  Selection where;
  /// Rows that agree in `by` become one, of this statistic; "" keeps them apart.
  std::string summarise;
  std::vector<std::string> by;

  void fields(Fields& f);
  void settle();

 private:
  RawValue written_set_;
};

/// A column that says which measurements are the least of their group: of each vendor the smallest system.
struct MarkSpec {
  std::string column;           ///< that is made
  std::string least;            ///< column whose least number is looked for
  std::vector<std::string> by;  ///< columns that tell groups apart
  Selection where;              ///< what may be the least
  std::string marked, others;   ///< its values

  void fields(Fields& f);
  void settle() { where.settle(); }
};

/// What a measurement is a measurement of: how the scenario is set for it, and what of it is compared.
struct PredictSpec {
  enum class Kind : std::uint8_t { collective, message, run } kind = Kind::collective;
  Selection where;
  std::string metric;                       ///< of a run; "" as the quantity
  std::string times;                        ///< a column that it is multiplied by; "": none
  std::map<std::string, Json> set;          ///< pointer: value
  std::map<std::string, std::string> from;  ///< pointer: column
  std::map<std::string, std::map<std::string, std::map<std::string, Json>>>
      by;  ///< column, its value, pointers

  void fields(Fields& f);
  void settle();

 private:
  RawValue written_set_, written_from_, written_by_;
};

/// A number of the scenario that is fitted.
struct ParameterSpec {
  std::string name;
  std::vector<std::string> pointers;  ///< all are set to it
  std::vector<double> factors;        ///< times these; empty: 1
  double low = 0, high = 0;           ///< SI; above 0: it is fitted on a logarithmic scale
  enum class Scales : std::uint8_t { with_time, against_time, neither } scales = Scales::neither;
  std::string source;     ///< of the bounds
  Selection where;        ///< measurements that go with it
  bool for_some = false;  ///< whether there is a `where`
  /// Columns with commas between: there is one such parameter for each of their values among what is fitted.
  std::string each{};
  /// What it is where measurements say nothing else; counts as one of them. Of factors that differ little.
  std::optional<double> usual{};
  std::size_t written = 0;  ///< number of it in the spec

  /// What patches call a pointer: one that holds for some measurements only is another for each parameter.
  std::string key(const std::string& pointer) const { return for_some ? pointer + "#" + name : pointer; }

  void fields(Fields& f);
  void settle();

 private:
  RawValue written_low_, written_high_;
  std::optional<Scales> written_scales_;
};

/// A table by size that is found by dynamic programming before the parameters are fitted.
struct SearchSpec {
  std::string pointer;                 ///< "segments" of a link, or a policy
  int most = 4;                        ///< entries
  std::vector<std::string> schedules;  ///< of a policy
  bool per_workers = false;            ///< a table of its own for each number of workers
  double least_latency_s = 0, most_latency_s = 1;
  std::vector<std::string> parts;  ///< which of launch, step_latency, bandwidth_share, payload are fitted

  void fields(Fields& f);
};

/// Something discrete that is unknown.
struct EnsembleSpec {
  std::string name;
  std::string pointer;
  std::vector<Json> values;  ///< as likely as each other before anything is measured
  Selection where;           ///< measurements that go with it

  void fields(Fields& f);
  void settle();

 private:
  RawValue written_values_;
  std::optional<int> count_;
};

/// One description of the cluster that may be fitted.
struct ModelSpec {
  std::string name;
  std::string file{};  ///< where it is written
  std::map<std::string, Json> set;
  std::vector<ParameterSpec> parameters;
  std::vector<SearchSpec> searches;
  std::vector<EnsembleSpec> ensemble;

  void fields(Fields& f);
  void settle();

 private:
  RawValue written_set_;
};

struct FitSpec {
  Selection where;
  /// What cross-validation leaves out, each by itself: "octave" of bytes, or a column.
  std::vector<std::string> leave_out{"octave"};
  Selection leave_out_where;
  bool octaves_equal = true;  ///< weights: octaves of size of one number of workers weigh the same
  double outlier = 0.1;       ///< relative error beyond which a point counts linearly
  int draws = 200;            ///< of the bootstrap
  /// Places inside the bounds where fits may begin; none: 6, of runs 1.
  std::optional<int> starts{};

  void fields(Fields& f);
  void settle();

 private:
  RawValue written_leave_out_;
};

struct TestSpec {
  std::string name;
  Selection where;
  std::string judge = "mean";  ///< what --max-error is held against: mean, median, p95 or worst
  bool octaves_equal = true;
  double goal = 0;  ///< published or hoped for; 0: none. Shown, never enforced
  std::string source;

  void fields(Fields& f);
  void settle() { where.settle(); }
};

/// Instead of a cluster: how late workers are. The fit's steps and the first test's are those that their
/// conditions select.
struct StragglerSpec {
  std::string worker = "worker", step = "step";  ///< columns
  bool continues = true;                         ///< the tested steps follow the fitted ones

  void fields(Fields& f);
};

struct Spec {
  std::string file;
  std::string name, description;
  RawValue written_scenario;
  Json scenario;  ///< {} where studies predict themselves
  std::vector<DataSpec> data;
  std::vector<MarkSpec> marks;
  std::vector<PredictSpec> predict;
  std::vector<ModelSpec> models;
  FitSpec fit;
  std::vector<TestSpec> tests;
  std::optional<StragglerSpec> stragglers;
  Provenance origins{};  ///< a spec may use another

  void fields(Fields& f);

  /// An error at a pointer of the spec, in the file that it is written in.
  InputError error_at(const std::string& pointer, const std::string& problem, const std::string& found,
                      const std::string& remedy) const;
};

/// What is made of a spec: reports, or a cluster's file too, which cannot hold what goes with a column that
/// no scenario has.
enum class SpecUse : std::uint8_t { reports, cluster };

/// Throws ConfigError with everything that is wrong with it.
Spec load_spec(const std::string& path, SpecUse use = SpecUse::reports);
/// The same of a document that is in no file; errors call it `name`.
Spec read_spec(Json document, const std::string& name, SpecUse use = SpecUse::reports);

}  // namespace simsgd
