#include <algorithm>
#include <cmath>
#include <numbers>
#include <set>

#include "topologies/graphs/graph.hpp"

namespace simsgd {

namespace {

/// cos(2 pi k / n) with k < n: the same for k and n - k, to the last bit.
double cosine(std::int64_t k, std::int64_t n) {
  return std::cos(2 * std::numbers::pi * static_cast<double>(std::min(k, n - k)) / static_cast<double>(n));
}

}  // namespace

std::vector<double> cycle_eigenvalues(int n) {
  if (n <= 2) return n == 2 ? std::vector<double>{0, 2} : std::vector<double>{0};
  std::vector<double> all;
  for (int k = 0; k < n; ++k) all.push_back(2 - 2 * cosine(k, n));
  return all;
}

GraphShape circulant(int n, const std::vector<int>& offsets) {
  std::set<int> both;  // directions of each offset
  for (const int offset : offsets) {
    if (offset % n == 0) continue;
    both.insert(offset % n);
    both.insert(n - offset % n);
  }
  GraphShape shape;
  for (int i = 0; i < n; ++i)
    for (const int offset : both)
      if (i < (i + offset) % n) shape.edges.emplace_back(i, (i + offset) % n);
  for (std::int64_t k = 0; k < n; ++k) {
    double sum = 0;
    for (const int offset : both) sum += 1 - cosine(k * offset % n, n);
    shape.laplacian_eigenvalues.push_back(sum);
  }
  return shape;
}

}  // namespace simsgd
