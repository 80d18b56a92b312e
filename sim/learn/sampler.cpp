#include "sim/learn/sampler.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "sim/base/check.hpp"

namespace simsgd {

Sampler::Sampler(SamplerSpec spec) : spec_(std::move(spec)) {
  CHECK(spec_.workers > 0 && spec_.batch > 0 && spec_.count > 0,
        "a sampler without workers, batch or samples");
  CHECK(spec_.shares.empty() || spec_.shares.size() == static_cast<std::size_t>(spec_.workers),
        "one share for each worker");
  for (const auto& share : spec_.shares) CHECK(!share.empty(), "a worker without samples");
  if (spec_.shares.empty()) {
    const std::size_t block = static_cast<std::size_t>(spec_.workers) * static_cast<std::size_t>(spec_.batch);
    kept_epochs_ = block / spec_.count + 2;
  }
  cache_.resize(std::max<std::size_t>(1, spec_.shares.size()));
}

std::size_t Sampler::share(int rank) const {
  return spec_.shares.empty() ? spec_.count : spec_.shares[static_cast<std::size_t>(rank)].size();
}

Sampler::Order Sampler::order(std::size_t source, std::uint64_t epoch) const {
  const std::lock_guard lock(mutex_);
  std::deque<Epoch>& kept = cache_[source];
  for (const Epoch& candidate : kept)
    if (candidate.number == epoch) return candidate.order;
  const Stream stream({spec_.seed, Purpose::data_order, static_cast<std::uint32_t>(source), epoch});
  const bool iid = spec_.shares.empty();
  auto made = std::make_shared<std::vector<std::int32_t>>(
      permutation(iid ? spec_.count : spec_.shares[source].size(), stream));
  if (!iid)
    for (std::int32_t& sample : *made) sample = spec_.shares[source][static_cast<std::size_t>(sample)];
  kept.push_front({epoch, std::move(made)});
  if (kept.size() > kept_epochs_) kept.pop_back();
  return kept.front().order;
}

std::vector<std::int32_t> Sampler::samples(int rank, std::uint64_t step) const {
  CHECK(rank >= 0 && rank < spec_.workers && step >= 1, "no such worker or step");
  const auto batch = static_cast<std::uint64_t>(spec_.batch);
  const auto worker = static_cast<std::uint64_t>(rank);
  const bool iid = spec_.shares.empty();
  const std::uint64_t begin =
      iid ? ((step - 1) * static_cast<std::uint64_t>(spec_.workers) + worker) * batch : (step - 1) * batch;
  const std::size_t source = iid ? 0 : static_cast<std::size_t>(rank);
  const std::uint64_t length = share(rank);
  std::vector<std::int32_t> chosen;
  chosen.reserve(batch);
  for (std::uint64_t at = begin; at < begin + batch;) {
    const Order epoch = order(source, at / length);
    const std::uint64_t offset = at % length;
    const std::uint64_t taken = std::min(length - offset, begin + batch - at);
    const auto from = epoch->begin() + static_cast<std::ptrdiff_t>(offset);
    chosen.insert(chosen.end(), from, from + static_cast<std::ptrdiff_t>(taken));
    at += taken;
  }
  return chosen;
}

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
