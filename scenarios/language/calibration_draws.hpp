// What the section "calibration" of a cluster draws: numbers of the cluster, and settings of whatever
// scenario uses it (a choice that a library or a program made and nobody wrote down, such as
// /algorithm/coupling).
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "scenarios/language/reader.hpp"
#include "sim/base/fields.hpp"

namespace simsgd {

/// A number that was fitted.
struct CalibratedNumber {
  std::string pointer;
  double value = 0;
  std::optional<double> low, high;

  void fields(Fields& f) {
    f.text("pointer", pointer, "JSON pointer to the number, inside the cluster").required();
    f.number("value", value,
             "The fitted value. If the cluster has another value now, the number is not drawn")
        .required();
    f.number("low", low, "Lower end of the parameter's interval; absent where it is unknown");
    f.number("high", high, "Upper end of its interval");
  }
};

struct MeasuredRange {
  double low = 0, high = 0;

  void fields(Fields& f) {
    f.number("low", low, "The smallest that was measured").required();
    f.number("high", high, "The largest that was measured").required();
  }
};

/// The batches at which a workload was measured.
struct MeasuredBatches {
  std::string workload;
  std::vector<double> batches;

  void fields(Fields& f) {
    f.text("workload", workload, "The workload's name").required();
    f.list("batches", batches, "Samples per worker and step of the runs that were fitted",
           "Samples per worker and step of one run")
        .required()
        .items_above(0);
  }
};

/// A setting of scenarios beyond the cluster: what a library or a method does and nobody wrote down.
struct DrawnSetting {
  std::string name, pointer;
  RawValue value, where, draws;
  std::optional<double> low, high;

  void fields(Fields& f) {
    f.text("name", name, "Name of the setting in reports");
    f.text("pointer", pointer, "JSON pointer to the setting, inside a scenario").required();
    f.raw(
         "value", value,
         {{"examples", Json::array({"global"})},
          {"description",
           "The likeliest value; a scenario with another value keeps that in all draws, and a note says so"}})
        .required();
    f.raw(
        "where", where,
        {{"type", "object"},
         {"description",
          "The setting is drawn only in scenarios that meet this condition: pointers, each with a value, a list of values, or {at_least, at_most}. An algorithm without the setting never draws it"}});
    f.raw("draws", draws,
          {{"type", "array"},
           {"examples", Json::array({Json::array({"global", "neighbour"})})},
           {"description", "Its value in each of the cluster's draws"}})
        .required();
    f.number("low", low, "Lower end of its interval, if it is a number that was fitted")
        .by_rule("none: it has a few possible values");
    f.number("high", high, "Upper end of its interval").by_rule("none");
  }
};

/// How far off what was left out of the fit was, logarithms of times.
struct LeftOutErrors {
  double half = 0, nine_tenths = 0;
  bool workloads = false, algorithms = false;
  /// Of sizes that were left out, octave by octave.
  struct Fitted {
    double half = 0, nine_tenths = 0, doublings = 1;

    void fields(Fields& f) {
      f.number("half", half, "Half of all cells are at most this far from the fit").required().at_least(0);
      f.number("nine_tenths", nine_tenths, "Nine tenths of all cells are at most this far from the fit")
          .required()
          .at_least(0);
      f.number("doublings", doublings,
               "Mean distance of a left-out size from the nearest other size, in doublings")
          .required()
          .above(0);
    }
  };
  std::optional<Fitted> fitted;

  void fields(Fields& f) {
    f.number("half", half, "Half of the cells that were left out were at most this far off (a logarithm)")
        .required()
        .at_least(0);
    f.number("nine_tenths", nine_tenths,
             "Nine tenths of the cells that were left out were at most this far off")
        .required()
        .at_least(0);
    f.flag("workloads", workloads, "Whether whole workloads were left out");
    f.flag("algorithms", algorithms, "Whether whole methods were left out");
    f.object(
         "fitted", fitted,
         "How far off the same octaves of size are when they are part of the fit. The nearer an operation's size is to measured ones, the nearer its interval is to this")
        .by_rule("none: something else was left out");
  }
};

struct CalibrationSection {
  std::string spec, model, date, resampled;
  RawValue data;
  double model_error = 0, level = 0.9;
  int parts_left_out = 0;
  struct Measured {
    std::optional<MeasuredRange> workers, bytes;
    std::optional<std::vector<std::string>> operations, workloads, algorithms;
    std::vector<MeasuredBatches> batches;
    std::vector<double> sizes;

    void fields(Fields& f) {
      f.object("workers", workers, "The numbers of workers that were measured").by_rule("none");
      f.object("bytes", bytes, "The sizes of the operations or messages that were measured").by_rule("none");
      f.list(
           "sizes", sizes,
           "Operations or messages of these sizes were fitted. Sizes less than an eighth of a doubling apart count as one",
           "Bytes")
          .items_above(0);
      f.list("operations", operations, "Collective operations that were fitted one by one", "Name of one")
          .by_rule("unknown");
      f.list("workloads", workloads, "Workloads whose runs were fitted", "Name of one").by_rule("unknown");
      f.objects("batches", batches, "The batches of the runs that were fitted", "Batches of one workload");
      f.list("algorithms", algorithms, "Methods whose runs were fitted", "Name of one").by_rule("unknown");
    }
  } measured;
  std::optional<LeftOutErrors> left_out;
  std::vector<CalibratedNumber> parameters;
  std::vector<DrawnSetting> settings;
  RawValue draws;

  void fields(Fields& f) {
    f.text("spec", spec, "The calibration that was fitted").required();
    f.text("model", model, "The model that was chosen among those of the spec");
    f.text("date", date, "The date of the fit");
    f.raw("data", data,
          {{"type", "array"},
           {"description", "The files that were fitted, with their hashes and numbers of rows"}});
    f.text(
        "resampled", resampled,
        "What the bootstrap drew again: whole campaigns, single points, noise as large as repeated measurements show (where there are as many parameters as points), or nothing (where nothing was repeated)");
    f.number(
         "model_error", model_error,
         "How far off the model as a whole is: the standard deviation of the logarithm of its error factor, estimated from parts that were left out")
        .at_least(0);
    f.whole("parts_left_out", parts_left_out, "The number of parts that were left out, one after another")
        .at_least(0);
    f.number("level", level, "Probability with which a parameter lies in its interval").above(0).below(1);
    f.object("measured", measured, "The range that was measured; intervals widen beyond it");
    f.object(
         "left_out", left_out,
         "How far off the fit was for parts that were left out of it. Intervals of times are at least as wide")
        .by_rule("nothing tells");
    f.objects("parameters", parameters, "What was fitted", "A number");
    f.objects("settings", settings, "Settings of scenarios on this cluster that are drawn too", "A setting");
    f.raw("draws", draws,
          {{"type", "array"},
           {"description", "Joint draws of the fitted numbers: pointers into the cluster, and values"},
           {"items", {{"type", "object"}}}});
  }
};

/// A value as some scenario may have it at `pointer`, quantities as SI numbers; nothing where no plug-in has
/// such a setting, or none takes the value. `pointer` is one of a scenario, as "/cluster/nic/bandwidth".
std::optional<Json> setting_value(const std::string& pointer, const Json& value);

/// A drawn number as the setting can have it: one that is beyond its range (a share above 1) is at its end.
double within_setting(const std::string& pointer, double number);

/// Whether numbers there may have fractions: others, such as seeds, are one of some values.
bool is_continuous(const std::string& pointer);

/// Whether this scenario has the setting, or may have it: its algorithm may be one that lacks it.
/// `resolved`: as Scenario has it.
bool has_setting(const Json& resolved, const std::string& pointer);

/// Whether the conditions of a drawn setting hold, {"/algorithm/name": ["d_psgd", "sgp"], "/cluster/workers":
/// {"at_least": 4}}; one that asks for what the scenario lacks does not.
bool where_holds(const Json& where, const Json& resolved);

/// Reports what is wrong with the section at /cluster/calibration: pointers of nothing, values that nothing
/// takes, draws that are not as many as others. False where anything is.
bool check_calibration(const Reader& reader, const CalibrationSection& section);

}  // namespace simsgd
