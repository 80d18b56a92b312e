// "claim": what somebody measured and said, to be tested by the points of the study that has it. A run takes
// no notice of it; analysis/questions judges it.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "scenarios/language/study.hpp"

namespace simsgd {

/// What a point has to meet: at every pointer it has one of the values.
using ClaimCondition = std::map<std::string, std::vector<Json>>;

/// A multiple of a metric at a point.
struct ClaimTerm {
  double times = 1;
  ClaimCondition where;
};

/// One side against the other: `of / to`, or `of - to`, each side a sum of terms.
struct ClaimComparison {
  enum class Quantity : std::uint8_t { ratio, difference };
  enum class Direction : std::uint8_t { above, below, not_above, close };

  std::string name, metric, measured;
  Quantity quantity = Quantity::ratio;
  Direction direction = Direction::above;
  std::optional<double> than;       ///< threshold of the quantity; 1 of a ratio, 0 of a difference
  std::optional<double> within;     ///< of `close`: relative of a ratio
  std::optional<double> low, high;  ///< range that is claimed of the quantity
  double noise = 0.01;              ///< as `within`: what is not a difference, beside the interval over seeds
  std::optional<double> absent;     ///< what a metric without a value stands for
  std::string along;                ///< pointer along whose values the quantity is claimed to grow; or empty
  std::vector<std::string> free;    ///< pointers in which the sides need not agree
  std::vector<ClaimTerm> of, to;

  double threshold() const { return than.value_or(quantity == Quantity::ratio ? 1 : 0); }
};

struct Claim {
  std::string id, text, source, measured, inputs, remark;
  std::vector<std::string> for_all;          ///< pointers for whose every value it must hold
  std::map<std::string, std::string> names;  ///< what reports call some pointers
  std::vector<ClaimComparison> comparisons;
};

/// The claim of a study. Throws ConfigError, also where there is none.
Claim load_claim(const std::string& path, const Overrides& overrides = {});

}  // namespace simsgd
