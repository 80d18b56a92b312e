#include "sim/learn/sampler.hpp"

#include <algorithm>

#include "sim/base/check.hpp"
#include "sim/base/random.hpp"
#include "sim/learn/partition.hpp"

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

}  // namespace simsgd
