#include "algorithms/matching_probabilities.hpp"

#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>
#include <numeric>

#include "sim/base/check.hpp"
#include "sim/learn/model.hpp"

namespace simsgd {

namespace {

using Eigen::MatrixXd;
using Eigen::VectorXd;
using Solver = Eigen::SelfAdjointEigenSolver<MatrixXd>;

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
  const Solver solver(mean_laplacian(graph, p));
  const VectorXd& eigenvalues = solver.eigenvalues();
  const double second = eigenvalues(1);
  VectorXd weights = VectorXd::Zero(graph.workers);
  for (int k = 1; k < graph.workers; ++k) weights(k) = std::exp(-mu * (eigenvalues(k) - second));
  const double sum = weights.sum();
  weights /= sum;
  SmoothMinimum result{second - std::log(sum) / mu, second, {}};
  for (const auto& edges : graph.matchings) {
    double slope = 0;
    for (int k = 1; k < graph.workers && weights(k) > 1e-15; ++k)
      for (const auto& [a, b] : edges) {
        const double difference = solver.eigenvectors()(a, k) - solver.eigenvectors()(b, k);
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
    if (at.connectivity > best_.connectivity) {
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
        moved = there.value > here.value * (1 + 1e-12);
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

/// The least of a convex function on [low, high], by golden sections.
template <class Function>
double least(Function f, double low, double high) {
  const double ratio = (std::sqrt(5.0) - 1) / 2;
  double a = high - ratio * (high - low), b = low + ratio * (high - low);
  double at_a = f(a), at_b = f(b);
  while (high - low > 1e-9 * high) {
    if (at_a <= at_b) {
      high = b;
      b = std::exchange(a, b - ratio * (b - low));
      at_b = std::exchange(at_a, f(a));
    } else {
      low = a;
      a = std::exchange(b, a + ratio * (high - a));
      at_a = std::exchange(at_b, f(b));
    }
  }
  return (low + high) / 2;
}

bool all_equal(const std::vector<double>& p) {
  return std::all_of(p.begin(), p.end(), [&p](double each) { return each == p.front(); });
}

/// rho where all probabilities are c: the mean Laplacian and the variance have the graph's own eigenvectors.
double uniform_contraction(const std::vector<double>& eigenvalues, double c, double alpha) {
  double most = 0;
  for (std::size_t k = 1; k < eigenvalues.size(); ++k) {
    const double lambda = eigenvalues[k];
    most = std::max(most, 1 - 2 * alpha * c * lambda +
                              alpha * alpha * (c * c * lambda * lambda + 2 * c * (1 - c) * lambda));
  }
  return most;
}

}  // namespace

double mean_connectivity(const LogicalGraph& graph, const std::vector<double>& probabilities) {
  return Solver(mean_laplacian(graph, probabilities), Eigen::EigenvaluesOnly).eigenvalues()(1);
}

MatchingProbabilities optimise_probabilities(const LogicalGraph& graph, double budget) {
  CHECK(graph.workers > 1 && graph.workers <= kMostForProbabilities,
        "probabilities of a graph of few workers");
  const double total = budget * static_cast<double>(graph.matchings.size());
  return Ascent(graph, total).run();
}

double contraction(const LogicalGraph& graph, const std::vector<double>& p, double alpha) {
  if (all_equal(p) && !graph.laplacian_eigenvalues.empty())
    return uniform_contraction(graph.laplacian_eigenvalues, p.front(), alpha);
  const int n = graph.workers;
  const MatrixXd mean = mean_laplacian(graph, p);
  const MatrixXd spread = weighted_laplacian(graph, [&p](std::size_t j) { return p[j] * (1 - p[j]); });
  const MatrixXd difference = MatrixXd::Identity(n, n) - 2 * alpha * mean +
                              alpha * alpha * (mean * mean + 2 * spread) - MatrixXd::Constant(n, n, 1.0 / n);
  const VectorXd eigenvalues = Solver(difference, Eigen::EigenvaluesOnly).eigenvalues();
  return std::max(std::fabs(eigenvalues(0)), std::fabs(eigenvalues(n - 1)));
}

// rho is the largest of parabolas in alpha, one for each unit vector v, whose least lies below
// v'Sv / v'S^2 v <= 1 / v'Sv <= 1 / lambda_2(S).
double best_alpha(const LogicalGraph& graph, const std::vector<double>& probabilities) {
  const double second = all_equal(probabilities) && !graph.laplacian_eigenvalues.empty()
                            ? probabilities.front() * graph.laplacian_eigenvalues[1]
                            : mean_connectivity(graph, probabilities);
  return least([&](double alpha) { return contraction(graph, probabilities, alpha); }, 0, 1 / second);
}

}  // namespace simsgd
