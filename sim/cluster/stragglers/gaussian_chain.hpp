// A stationary Gaussian Markov chain (AR(1)) of mean 0 and variance 1, any point of it without the points
// before:
//   z_k = rho z_{k-1} + sqrt(1 - rho^2) e_k
// Points a and a + 2h fix the one between them up to its own draw,
//   z_{a+h} = w (z_a + z_{a+2h}) + v e,  w = rho^h / (1 + rho^{2h}),  v^2 = (1 - rho^{2h}) / (1 + rho^{2h}),
// so that it is reached by halving from two points so far apart that they are independent (rho^H < 1e-18):
// log2 H + 2 draws, one for each point touched. Checked by tests/cluster/correlated.cpp.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

namespace simsgd::stragglers {

/// Variance of the logarithm of a log-normal of that coefficient of variation.
inline double log_variance(double cv) { return std::log1p(cv * cv); }

class GaussianChain {
 public:
  /// rho: correlation of neighbours, from 0 and below 1.
  explicit GaussianChain(double rho = 0) {
    for (double power = rho; power >= kIndependent && halves_.size() < kMostLevels; power *= power) {
      const double square = power * power;  // rho^{2h}
      halves_.push_back({power / (1 + square), std::sqrt((1 - square) / (1 + square))});
    }
  }

  /// z at `step`; draw(s): the standard normal number that belongs to step s, the same whenever it is asked
  /// for.
  template <class Draw>
  double at(std::uint64_t step, const Draw& draw) const {
    const std::uint64_t cell = std::uint64_t{1} << halves_.size();
    std::uint64_t left = step / cell * cell;
    double at_left = draw(left);
    if (left == step) return at_left;
    double at_right = draw(left + cell);
    for (std::size_t level = halves_.size(); level-- > 0;) {
      const std::uint64_t middle = left + (std::uint64_t{1} << level);
      const double at_middle =
          halves_[level].weight * (at_left + at_right) + halves_[level].deviation * draw(middle);
      if (middle == step) return at_middle;
      if (middle < step) {
        left = middle;
        at_left = at_middle;
      } else {
        at_right = at_middle;
      }
    }
    return at_left;
  }

 private:
  static constexpr double kIndependent = 1e-18;  // a correlation that double precision does not see
  static constexpr std::size_t kMostLevels = 37;

  // Of the point between two that are 2^(level + 1) steps apart.
  struct Half {
    double weight, deviation;
  };
  std::vector<Half> halves_;
};

}  // namespace simsgd::stragglers
