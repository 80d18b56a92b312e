#include "algorithms/matching_probabilities.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "sim/base/check.hpp"
#include "sim/base/eigen_pairs.hpp"

namespace simsgd {

namespace {

using Eigen::MatrixXd;
using Eigen::VectorXd;

void add_laplacian(MatrixXd& sum, const std::vector<LogicalGraph::Edge>& edges, double weight) {
  for (const auto& [a, b] : edges) {
    sum(a, a) += weight;
    sum(b, b) += weight;
    sum(a, b) -= weight;
    sum(b, a) -= weight;
  }
}

template <class Weight>
MatrixXd weighted_laplacian(const LogicalGraph& graph, Weight weight) {
  MatrixXd sum = MatrixXd::Zero(graph.workers, graph.workers);
  for (std::size_t j = 0; j < graph.matchings.size(); ++j) add_laplacian(sum, graph.matchings[j], weight(j));
  return sum;
}

MatrixXd mean_laplacian(const LogicalGraph& graph, const std::vector<double>& p) {
  return weighted_laplacian(graph, [&p](std::size_t j) { return p[j]; });
}

/// The point of {0 <= p <= 1, sum p = total} nearest to q.
std::vector<double> project(const std::vector<double>& q, double total) {
  const auto [least, most] = std::minmax_element(q.begin(), q.end());
  double low = *least - 1, high = *most;  // what is taken off: all 1 at low, all 0 at high
  const auto at = [&q](double shift) {
    std::vector<double> p;
    for (const double value : q) p.push_back(std::clamp(value - shift, 0.0, 1.0));
    return p;
  };
  for (int i = 0; i < 100; ++i) {
    const double middle = (low + high) / 2;
    const std::vector<double> p = at(middle);
    (std::accumulate(p.begin(), p.end(), 0.0) > total ? low : high) = middle;
  }
  return at((low + high) / 2);
}

/// The most that sum p_j g_j can be: the largest g first.
double linear_bound(std::vector<double> g, double total) {
  std::sort(g.rbegin(), g.rend());
  double bound = 0;
  for (const double value : g) {
    const double share = std::clamp(total, 0.0, 1.0);
    bound += share * value;
    total -= share;
  }
  return bound;
}

/// The smooth minimum -log(sum_k exp(-mu lambda_k)) / mu of all eigenvalues but the first, its gradient, and
/// the bound on lambda_2 that its weights give: a mean of v' L(p) v over unit vectors v is linear in p.
struct SmoothMinimum {
  double value = 0, connectivity = 0;
  std::vector<double> gradient;
};

SmoothMinimum smooth_minimum(const LogicalGraph& graph, const std::vector<double>& p, double mu) {
  const EigenPairs pairs = eigen_pairs(mean_laplacian(graph, p));
  const double second = pairs.values(1);
  VectorXd weights = VectorXd::Zero(graph.workers);
  for (int k = 1; k < graph.workers; ++k) weights(k) = std::exp(-mu * (pairs.values(k) - second));
  const double sum = weights.sum();
  weights /= sum;
  SmoothMinimum result{second - std::log(sum) / mu, second, {}};
  for (const auto& edges : graph.matchings) {
    double slope = 0;
    for (int k = 1; k < graph.workers && weights(k) > 1e-15; ++k)
      for (const auto& [a, b] : edges) {
        const double difference = pairs.vectors(a, k) - pairs.vectors(b, k);
        slope += weights(k) * difference * difference;
      }
    result.gradient.push_back(slope);
  }
  return result;
}

/// Eigenvalue problems that are worth their time: about a second of them.
int affordable(int workers) {
  const double n = workers;
  return static_cast<int>(std::clamp(1e9 / (20 * n * n * n), 40.0, 4000.0));
}

/// What counts as better. Near its top a function says nothing of where it is taken: without a margin the
/// last bits of eigenvalues, which differ from build to build, would decide in which steps of 1e-6 it ends.
constexpr double kBetter = 1 + 1e-9;

/// Looks for better probabilities along the gradient, halving the step until one is found.
class Ascent {
 public:
  Ascent(const LogicalGraph& graph, double total)
      : graph_(graph),
        total_(total),
        p_(graph.matchings.size(), total / static_cast<double>(graph.matchings.size())) {
    left_ = affordable(graph.workers);
  }

  MatchingProbabilities run() {
    const double scale = mean_connectivity(graph_, p_);
    best_ = {p_, scale, std::numeric_limits<double>::infinity()};
    for (double mu = 8 / scale; left_ > 0 && !good_enough(); mu *= 2) climb(mu);
    return best_;
  }

 private:
  bool good_enough() const { return best_.upper_bound <= best_.connectivity * (1 + 1e-4); }

  SmoothMinimum evaluate(const std::vector<double>& p, double mu) {
    --left_;
    SmoothMinimum at = smooth_minimum(graph_, p, mu);
    best_.upper_bound = std::min(best_.upper_bound, linear_bound(at.gradient, total_));
    if (at.connectivity > best_.connectivity * kBetter) {
      best_.connectivity = at.connectivity;
      best_.probabilities = p;
    }
    return at;
  }

  void climb(double mu) {
    SmoothMinimum here = evaluate(p_, mu);
    for (int i = 0; i < 60 && left_ > 0 && !good_enough(); ++i) {
      bool moved = false;
      for (; !moved && step_ > 1e-12 && left_ > 0; step_ *= moved ? 2 : 0.5) {
        std::vector<double> q = p_;
        for (std::size_t j = 0; j < q.size(); ++j) q[j] += step_ * here.gradient[j];
        q = project(q, total_);
        const SmoothMinimum there = evaluate(q, mu);
        moved = there.value > here.value * kBetter;
        if (!moved) continue;
        p_ = q;
        here = there;
      }
      if (!moved) break;
    }
    step_ = std::max(step_, 1e-3);
  }

  const LogicalGraph& graph_;
  double total_;
  std::vector<double> p_;
  double step_ = 1;
  int left_;
  MatchingProbabilities best_;
};

/// Where the slope of a convex function on [low, high] turns from falling to rising.
template <class Slope>
double turning_point(Slope slope, double low, double high) {
  while (high - low > 1e-12 * high) {
    const double middle = (low + high) / 2;
    (slope(middle) < 0 ? low : high) = middle;
  }
  return (low + high) / 2;
}

bool all_equal(const std::vector<double>& p) {
  return std::all_of(p.begin(), p.end(), [&p](double each) { return each == p.front(); });
}

// How rho grows with alpha: it is the largest of parabolas in alpha, so it is convex.

/// Where all probabilities are c: the mean Laplacian and the variance have the graph's own eigenvectors.
double uniform_slope(const std::vector<double>& eigenvalues, double c, double alpha) {
  double most = 0, slope = 0;
  for (std::size_t k = 1; k < eigenvalues.size(); ++k) {
    const double lambda = eigenvalues[k], square = c * c * lambda * lambda + 2 * c * (1 - c) * lambda;
    const double rho = 1 - 2 * alpha * c * lambda + alpha * alpha * square;
    if (rho <= most) continue;
    most = rho;
    slope = -2 * c * lambda + 2 * alpha * square;
  }
  return slope;
}

/// rho, of which E[W' W] - J has nothing below 0, as the largest eigenvalue v' (...) v, whose slope is that
/// of its parabola for this v.
class Contractions {
 public:
  Contractions(const LogicalGraph& graph, const std::vector<double>& p)
      : graph_(graph), p_(p), uniform_(all_equal(p) && !graph.laplacian_eigenvalues.empty()) {
    if (uniform_) return;
    mean_ = mean_laplacian(graph, p);
    square_ =
        mean_ * mean_ + 2 * weighted_laplacian(graph, [&p](std::size_t j) { return p[j] * (1 - p[j]); });
  }

  /// lambda_2 of the mean Laplacian.
  double second() const {
    return uniform_ ? p_.front() * graph_.laplacian_eigenvalues[1] : mean_connectivity(graph_, p_);
  }

  double slope(double alpha) const {
    if (uniform_) return uniform_slope(graph_.laplacian_eigenvalues, p_.front(), alpha);
    const int n = graph_.workers;
    const VectorXd v = eigen_pairs(MatrixXd::Identity(n, n) - 2 * alpha * mean_ + alpha * alpha * square_ -
                                   MatrixXd::Constant(n, n, 1.0 / n))
                           .vectors.col(n - 1);
    return v.dot(2 * alpha * square_ * v - 2 * mean_ * v);
  }

 private:
  const LogicalGraph& graph_;
  const std::vector<double>& p_;
  bool uniform_;
  MatrixXd mean_, square_;
};

}  // namespace

double mean_connectivity(const LogicalGraph& graph, const std::vector<double>& probabilities) {
  return symmetric_eigenvalues(mean_laplacian(graph, probabilities))(1);
}

MatchingProbabilities optimise_probabilities(const LogicalGraph& graph, double budget) {
  CHECK(graph.workers > 1 && graph.workers <= kMostForProbabilities,
        "probabilities of a graph of few workers");
  const double total = budget * static_cast<double>(graph.matchings.size());
  return Ascent(graph, total).run();
}

// The parabola of a unit vector v has its least below v'Sv / v'S^2 v <= 1 / v'Sv <= 1 / lambda_2(S).
double best_alpha(const LogicalGraph& graph, const std::vector<double>& probabilities) {
  const Contractions contractions(graph, probabilities);
  return turning_point([&](double alpha) { return contractions.slope(alpha); }, 0, 1 / contractions.second());
}

}  // namespace simsgd
