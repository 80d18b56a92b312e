// Points of the unit cube: the one place that knows Boost.Random's Sobol' engine.
#include <boost/random/sobol.hpp>

#include "scenarios/language/axis_ranges.hpp"
#include "sim/base/random.hpp"

namespace simsgd {

namespace {

Stream stream_of(std::uint64_t seed, std::size_t dimension, std::size_t draw) {
  return Stream({seed, Purpose::study_draw, static_cast<std::uint32_t>(dimension), draw});
}

std::vector<std::vector<double>> random_shares(std::size_t count, std::size_t dimensions,
                                               std::uint64_t seed) {
  std::vector<std::vector<double>> points(count, std::vector<double>(dimensions));
  for (std::size_t i = 0; i < count; ++i)
    for (std::size_t d = 0; d < dimensions; ++d) points[i][d] = stream_of(seed, d, i).uniform();
  return points;
}

std::vector<std::vector<double>> sobol_shares(std::size_t count, std::size_t dimensions, std::uint64_t seed) {
  std::vector<std::uint64_t> shift;
  for (std::size_t d = 0; d < dimensions; ++d) {
    Stream stream = stream_of(seed, d, 0);
    const std::uint64_t high = stream();
    shift.push_back(high << 32 | stream());
  }
  boost::random::sobol engine(dimensions);
  std::vector<std::vector<double>> points(count, std::vector<double>(dimensions));
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t d = 0; d < dimensions; ++d) {
      // The engine begins after the origin, without which the points are not balanced.
      const std::uint64_t bits = (i == 0 ? 0 : engine()) ^ shift[d];
      points[i][d] = static_cast<double>(bits >> 11) * 0x1p-53;
    }
  }
  return points;
}

}  // namespace

std::vector<std::vector<double>> drawn_shares(const std::string& method, std::size_t count,
                                              std::size_t dimensions, std::uint64_t seed) {
  return method == "sobol" ? sobol_shares(count, dimensions, seed) : random_shares(count, dimensions, seed);
}

}  // namespace simsgd
