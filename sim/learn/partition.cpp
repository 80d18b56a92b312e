#include "sim/learn/partition.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "sim/base/check.hpp"

namespace simsgd {

namespace {

// Logarithm of a Gamma(alpha, 1) variate: Marsaglia and Tsang, ACM TOMS 26(3), 2000; below alpha = 1 by their
// section 6, G(alpha) = G(alpha + 1) U^(1 / alpha). The logarithm because U^(1 / alpha) underflows for a
// small alpha.
double log_gamma_variate(Stream& stream, double alpha) {
  double boost = 0;
  if (alpha < 1) {
    boost = std::log(stream.uniform()) / alpha;
    alpha += 1;
  }
  const double d = alpha - 1.0 / 3.0;
  const double c = 1.0 / std::sqrt(9.0 * d);
  for (;;) {
    const double x = stream.normal();
    const double v = std::pow(1.0 + c * x, 3);
    if (v > 0 && std::log(stream.uniform()) < 0.5 * x * x + d - d * v + d * std::log(v))
      return std::log(d * v) + boost;
  }
}

std::vector<double> dirichlet(Stream& stream, int size, double alpha) {
  std::vector<double> shares(static_cast<std::size_t>(size));
  for (double& share : shares) share = log_gamma_variate(stream, alpha);
  const double largest = *std::max_element(shares.begin(), shares.end());
  for (double& share : shares) share = std::exp(share - largest);
  const double sum = std::accumulate(shares.begin(), shares.end(), 0.0);
  for (double& share : shares) share /= sum;
  return shares;
}

// Every empty share takes the last sample of the largest one (the first, if several are the largest).
void fill_empty(std::vector<std::vector<std::int32_t>>& shares) {
  for (auto& share : shares) {
    if (!share.empty()) continue;
    auto& largest = *std::max_element(shares.begin(), shares.end(),
                                      [](const auto& a, const auto& b) { return a.size() < b.size(); });
    share.push_back(largest.back());
    largest.pop_back();
  }
}

}  // namespace

std::vector<std::int32_t> permutation(std::size_t count, Stream stream) {
  std::vector<std::int32_t> order(count);
  std::iota(order.begin(), order.end(), 0);
  for (std::size_t i = count; i > 1; --i)
    std::swap(order[i - 1], order[stream.below(static_cast<std::uint32_t>(i))]);
  return order;
}

std::vector<std::vector<std::int32_t>> dirichlet_shares(std::span<const std::int32_t> labels,
                                                        const DirichletSpec& spec) {
  CHECK(labels.size() >= static_cast<std::size_t>(spec.workers), "more workers than samples");
  std::vector<std::vector<std::int32_t>> of_class(static_cast<std::size_t>(spec.classes));
  for (std::size_t s = 0; s < labels.size(); ++s)
    of_class[static_cast<std::size_t>(labels[s])].push_back(static_cast<std::int32_t>(s));

  std::vector<std::vector<std::int32_t>> shares(static_cast<std::size_t>(spec.workers));
  for (std::size_t c = 0; c < of_class.size(); ++c) {
    Stream stream({spec.seed, Purpose::partition, static_cast<std::uint32_t>(c), 0});
    const std::vector<double> proportions = dirichlet(stream, spec.workers, spec.alpha);
    const std::vector<std::int32_t> order = permutation(of_class[c].size(), stream);
    double cumulative = 0;
    std::size_t begin = 0;
    for (std::size_t w = 0; w < shares.size(); ++w) {
      cumulative += proportions[w];
      const auto cut = static_cast<std::size_t>(std::llround(cumulative * static_cast<double>(order.size())));
      const std::size_t end = w + 1 == shares.size() ? order.size() : std::clamp(cut, begin, order.size());
      for (; begin < end; ++begin) shares[w].push_back(of_class[c][static_cast<std::size_t>(order[begin])]);
    }
  }
  for (auto& share : shares) std::sort(share.begin(), share.end());
  fill_empty(shares);
  return shares;
}

}  // namespace simsgd
