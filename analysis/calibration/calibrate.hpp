// From a spec to a fitted model and a judgement of it: `simsgd calibrate` and `simsgd validate`.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "analysis/calibration/judge.hpp"

namespace simsgd {

struct CalibrationSettings {
  std::string data;  ///< directory that the spec's files are relative to
  int jobs = 1;
  std::function<bool()> interrupted{};
  /// A stage begins (`simulations` 0), or goes on: so many were made for this model in all.
  std::function<void(const std::string& stage, std::uint64_t simulations)> progress{};
};

/// One of a spec's models, fitted.
struct ModelResult {
  std::string name;
  Fitted fitted;
  std::vector<LeftOut> left_out;
  std::vector<double> part_errors;  ///< mean relative error of each part left out
  double left_out_error = 0;        ///< their mean; infinity where nothing could be left out
  std::unique_ptr<RunMemo> memo = std::make_unique<RunMemo>();  ///< of its runs
};

struct Calibration {
  Spec spec;
  std::vector<Measurement> measurements;
  std::vector<ModelResult> models;
  std::size_t chosen = 0;
  Points points;               ///< of the chosen model
  std::vector<double> beside;  ///< of each point on data sheets alone; empty where no study is beside
  Uncertainty uncertainty;
  double noise = 0;
  bool noise_known = false;
  Judgement fit;
  std::vector<std::vector<Judgement>> tests;  ///< of each test of the spec
  std::vector<std::string> warnings;

  const ModelSpec& model() const { return spec.models[chosen]; }
  const Fitted& best() const { return models[chosen].fitted; }
};

/// Throws ConfigError (IdleParameters), RunError, Interrupted.
std::unique_ptr<Calibration> calibrate(Spec spec, const CalibrationSettings& settings);

/// Intervals of the fitted numbers, of so much of the draws: (pointer, low, high).
struct NumberInterval {
  std::string pointer;
  double value = 0, low = 0, high = 0;
  bool known = false;  ///< not without draws, where all of them end at a bound, or for an ensemble's choice
};
std::vector<NumberInterval> number_intervals(const Calibration& calibration, double level);

/// The cluster with what was fitted in place, and the section "calibration" that says where it comes from.
/// `date`: as "2026-01-31".
Json calibrated_cluster(const Calibration& calibration, const std::string& directory,
                        const std::string& date);

/// For people, and for programs.
std::string calibration_text(const Calibration& calibration);
nlohmann::ordered_json calibration_json(const Calibration& calibration);

}  // namespace simsgd
