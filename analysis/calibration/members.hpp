// Predictions of an ensemble's members. Of many members, thousands of orders of machines, few outcomes
// differ: where two gave the same metrics of a run to rounding, with all parameters in the middle of their
// bounds, only the first is simulated for other values too.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "analysis/calibration/fit.hpp"

namespace simsgd {

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
