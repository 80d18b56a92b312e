// What times that follow from data sheets alone are off by: intervals of runs where nothing was calibrated.
// The cells that this was learnt from: docs/papers/data_sheets.csv; tests/calibration/data_sheets.cpp makes
// the numbers below of them.
#pragma once

#include <cstddef>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "analysis/widening.hpp"
#include "sim/job.hpp"

namespace simsgd {

/// Measured times over those of data sheets, central quantiles of a kind of cells: so that half, and nine
/// tenths (kIntervalLevels), lie between `low` and `high`. 1 is always between them.
struct SheetRatios {
  Reach low, high;
};

/// Computing whose step was measured with the same batch on one such device, and computing that is modelled
/// from FLOPs or scaled from another device (kernels of choosing, factors and inverses always are).
inline constexpr SheetRatios kSheetMeasured{{0.996, 0.993}, {1.216, 1.425}};
inline constexpr SheetRatios kSheetModelled{{1.000, 0.517}, {1.743, 5.361}};
/// What a step takes beside computing, over all communication that is predicted, hidden or not.
inline constexpr SheetRatios kSheetCommunication{{0.188, 0.000}, {1.985, 4.948}};
/// The least of it where nothing can hide it, gTop-k's cells: what is less than that hides behind computing.
inline constexpr double kSheetLeastCommunication = 0.74;

/// assumed: how much of a measured step stays as it is with another batch, of half and of nine tenths of
/// networks. Steps in proportion to the batch were 9 to 29 % too short at half of what was measured: a share
/// F of the measured step makes that 1 - 1 / (1 + F), so F is 0.10 to 0.41; half: the middle.
inline constexpr Reach kFixedShare{0.25, 0.41};

/// Computing that is taken in proportion from a step of `batches` times this batch.
SheetRatios sheet_in_proportion(double batches);

/// Times, and what follows from them.
bool goes_with_time(const std::string& metric);

/// Of a step with these seconds of computing, modelled kernels, exposed and hidden communication: how much
/// shorter and longer it may be, of each level. The parts' errors are taken to be independent. If
/// communication takes longer than predicted, what was hidden may be exposed.
struct SheetStep {
  double computing_s = 0, kernels_s = 0, exposed_s = 0, hidden_s = 0;
  SheetRatios computing = kSheetMeasured;
  bool communication_known = false;  ///< it was calibrated

  double step_s() const { return computing_s + kernels_s + exposed_s; }
  /// How much less than so many seconds of exposed communication there may be.
  double less_exposed_s(double seconds, std::size_t level) const;
  double below_s(std::size_t level) const;
  double above_s(std::size_t level) const;
};

/// Of two steps, whose metrics these are: how much longer the faster one, or shorter the slower one, half of
/// the published steps were, over their difference. Above 1 the difference decides nothing. Computing is
/// taken as measured on one device.
double sheet_error_of_difference(const std::map<std::string, double>& one,
                                 const std::map<std::string, double>& other);

/// Says in a document's "uncertainty" which of the above its intervals are made of, and a note. Where
/// communication was calibrated the document has intervals already: these become wider by what computing may
/// be. `resolved`: the job's scenario.
void tell_data_sheets(const nlohmann::json& resolved, const Job& job, bool communication_known,
                      nlohmann::ordered_json& document);

/// The intervals of all that goes with time, of a document with its scenario that tell_data_sheets() was
/// given. They follow from the rest of it, so rows of sweeps are kept without them.
void add_data_sheet_intervals(nlohmann::ordered_json& document);

/// Whether a document's intervals are those alone: nothing was drawn.
bool follows_from_data_sheets(const nlohmann::ordered_json& document);

/// Of an operation that nothing hides: the shortest and longest time, of each level.
std::vector<Interval> data_sheet_intervals(double operation_s);

/// How far computing is off, and what it follows from: "modelled here".
struct SheetComputing {
  SheetRatios ratios;
  std::string source;
};

/// The sentence of tell_data_sheets(); of an operation, which computes nothing, without `computing`.
std::string data_sheet_note(const std::optional<SheetComputing>& computing);

}  // namespace simsgd
