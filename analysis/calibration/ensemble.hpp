// What is unknown and discrete, such as the order of machines: every possibility is a member, and all of them
// predict, each with the weight that the measurements give it. Nobody picks the one that fits best.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "analysis/calibration/fit.hpp"
#include "analysis/calibration/points.hpp"

namespace simsgd {

/// Members of a model: the combinations of what its ensemble lists; 1 without.
std::size_t member_count(const ModelSpec& model);
/// What member `number` sets.
Patch member_patch(const ModelSpec& model, std::size_t number);

/// Weights whose sum is 1, from each member's mean square of (robust) logarithmic errors over `points`
/// measurements, of which `parameters` were fitted: the likelihood of normal errors of unknown size, all
/// members being as likely before.
std::vector<double> member_weights(const std::vector<double>& mean_squares, std::size_t points,
                                   std::size_t parameters);

/// A member that weighs less than so much of the likeliest one predicts nothing.
inline constexpr double kLeastWeight = 1e-4;

/// A member whose mean square is so many times the least: even as many of its like as there are members would
/// not have kLeastWeight together.
double hopeless_ratio(std::size_t members, std::size_t points, std::size_t parameters);

/// Sums over cells of each member's squares, infinity of those that are above `hopeless` times the least sum.
/// Cells of a member are asked for in their order (the cheapest first), and no more once it is hopeless: the
/// members whose sum is least so far go on first, so that the least sum, of all cells, is known early. What
/// is known of a member is a lower bound: one that only its last cell makes likely is not dropped before.
/// `squares`: of (member, cell), at least 0.
std::vector<double> screened_sums(
    std::size_t members, std::size_t cells, double hopeless,
    const std::function<std::vector<double>(const std::vector<std::pair<std::size_t, std::size_t>>&)>&
        squares);

/// The weight of each group of members that predict the same (`group_of[m]`, the first of them) at the place
/// of its first member; 0 elsewhere.
std::vector<double> outcome_weights(const std::vector<double>& weights,
                                    const std::vector<std::size_t>& group_of);

/// Mean of the members' predictions, of their logarithms: `predictions[m][i]`, empty of members without
/// weight.
std::vector<double> ensemble_mean(const std::vector<std::vector<double>>& predictions,
                                  const std::vector<double>& weights);

// Predictions of an ensemble's members. Of many members, thousands of orders of machines, few outcomes
// differ: where two gave the same metrics of a run to rounding, with all parameters in the middle of their
// bounds, only the first is simulated for other values too.

class Members {
 public:
  /// All must outlive it.
  Members(const Predictor& predictor, const Points& points, const ModelSpec& model);

  /// Whether there are so many that they are told apart by setting, and screened.
  bool many() const;
  /// The points `which`, together as they are predicted: of many members a cell for each setting, ascending
  /// in workers, as what more of them do takes longer to simulate; else all in one.
  std::vector<std::vector<std::size_t>> cells(const std::vector<std::size_t>& which) const;
  /// Of the points of a cell, by each of the `members` with its values in `fitted`, everything that goes with
  /// time taking `factor` times as long.
  std::vector<std::vector<double>> predict(const std::vector<std::size_t>& members, const Fitted& fitted,
                                           const std::vector<std::size_t>& cell, double factor = 1) const;
  /// The first member that predicts the same of all `cells` as each does; itself where `left_aside`.
  std::vector<std::size_t> outcomes(const std::vector<std::vector<std::size_t>>& cells,
                                    const std::vector<bool>& left_aside) const;

 private:
  /// The first member with the outcome of each; what is not known is simulated.
  std::vector<std::size_t> alike(const std::vector<std::size_t>& members,
                                 const std::vector<std::size_t>& cell) const;

  const Predictor& predictor_;
  const Points& points_;
  const ModelSpec& model_;
  using SettingAndMember = std::pair<std::size_t, std::size_t>;
  mutable std::map<SettingAndMember, std::size_t> alike_;                        ///< speeds up
  mutable std::map<std::pair<std::size_t, std::string>, std::size_t> first_of_;  ///< by setting and outcome
};

}  // namespace simsgd
