// Which samples which worker reads: laws of the sampler and of the partitions.
#include "sim/learn/sampler.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <thread>

namespace simsgd::test::learn_partition {

namespace {

std::vector<std::int32_t> block(const Sampler& sampler, int workers, std::uint64_t step) {
  std::vector<std::int32_t> all;
  for (int rank = 0; rank < workers; ++rank) {
    const std::vector<std::int32_t> mine = sampler.samples(rank, step);
    all.insert(all.end(), mine.begin(), mine.end());
  }
  return all;
}

bool is_permutation_of_all(std::vector<std::int32_t> samples, std::size_t count) {
  std::sort(samples.begin(), samples.end());
  for (std::size_t i = 0; i < samples.size(); ++i)
    if (samples[i] != static_cast<std::int32_t>(i)) return false;
  return samples.size() == count;
}

SamplerSpec iid(std::size_t count, int workers, int batch) {
  return {.count = count, .shares = {}, .workers = workers, .batch = batch, .seed = 1};
}

std::vector<std::int32_t> ten_classes(std::size_t count) {
  std::vector<std::int32_t> labels;
  for (std::size_t i = 0; i < count; ++i) labels.push_back(static_cast<std::int32_t>(i % 10));
  return labels;
}

}  // namespace

TEST_CASE("a permutation holds every number once, and depends on its stream alone") {
  const StreamKey key{7, Purpose::data_order, 0, 3};
  const std::vector<std::int32_t> order = permutation(100, Stream(key));
  CHECK(is_permutation_of_all(order, 100));
  CHECK(order == permutation(100, Stream(key)));
  CHECK(order != permutation(100, Stream({7, Purpose::data_order, 0, 4})));
}

TEST_CASE("P workers of batch b together read what one worker of batch P b reads") {
  // 101 samples: no block size divides it, so that blocks cross the ends of epochs.
  const Sampler one(iid(101, 1, 24));
  for (const int workers : {2, 3, 24}) {
    const int batch = 24 / workers;
    const Sampler many(iid(101, workers, batch));
    for (std::uint64_t step = 1; step <= 20; ++step) {
      CAPTURE(workers);
      CAPTURE(step);
      CHECK(block(many, workers, step) == one.samples(0, step));
    }
  }
}

TEST_CASE("every epoch reads every sample once, in a new order") {
  const Sampler sampler(iid(60, 3, 5));  // 15 samples per step: an epoch is 4 steps
  std::vector<std::vector<std::int32_t>> epochs(2);
  for (std::uint64_t step = 1; step <= 8; ++step)
    for (const std::int32_t sample : block(sampler, 3, step)) epochs[(step - 1) / 4].push_back(sample);
  CHECK(is_permutation_of_all(epochs[0], 60));
  CHECK(is_permutation_of_all(epochs[1], 60));
  CHECK(epochs[0] != epochs[1]);
}

TEST_CASE("a step may read more samples than there are: it goes on in the next epochs") {
  // 10 samples, 4 workers of batch 8: step 1 reads 3.2 epochs, step 2 the next 3.2.
  const Sampler sampler(iid(10, 4, 8));
  std::vector<std::int32_t> read = block(sampler, 4, 1);
  for (const std::int32_t sample : block(sampler, 4, 2)) read.push_back(sample);
  REQUIRE(read.size() == 64);
  for (std::ptrdiff_t epoch = 0; epoch < 6; ++epoch) {
    CAPTURE(epoch);
    CHECK(is_permutation_of_all({read.begin() + 10 * epoch, read.begin() + 10 * (epoch + 1)}, 10));
  }
}

TEST_CASE("what a worker reads does not depend on the order of asking, nor on the thread that asks") {
  const Sampler forward(iid(50, 2, 7)), backward(iid(50, 2, 7)), shared(iid(50, 2, 7));
  std::vector<std::vector<std::int32_t>> expected(41), found(41);
  for (std::uint64_t step = 1; step <= 40; ++step) expected[step] = forward.samples(1, step);
  for (std::uint64_t step = 40; step >= 1; --step) CHECK(backward.samples(1, step) == expected[step]);
  std::vector<std::thread> threads;
  for (std::uint64_t t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (std::uint64_t step = 1 + t; step <= 40; step += 4) found[step] = shared.samples(1, step);
    });
  for (std::thread& thread : threads) thread.join();
  CHECK(found == expected);
}

TEST_CASE("a worker with its own share permutes it every epoch and reads nothing else") {
  SamplerSpec spec{
      .count = 10, .shares = {{1, 3, 5}, {0, 2, 4, 6, 7, 8, 9}}, .workers = 2, .batch = 3, .seed = 1};
  const Sampler sampler(spec);
  CHECK(sampler.share(0) == 3);
  CHECK(sampler.share(1) == 7);
  for (std::uint64_t step = 1; step <= 5; ++step) {  // batch 3 of 3 samples: each step is an epoch
    std::vector<std::int32_t> mine = sampler.samples(0, step);
    std::sort(mine.begin(), mine.end());
    CHECK(mine == std::vector<std::int32_t>{1, 3, 5});
  }
}

TEST_CASE("a Dirichlet partition gives every sample to exactly one worker, and every worker a sample") {
  for (const double alpha : {0.001, 0.1, 1.0, 100.0})
    for (const int workers : {1, 2, 7, 60}) {
      CAPTURE(alpha);
      CAPTURE(workers);
      const std::vector<std::int32_t> labels = ten_classes(60);
      const auto shares =
          dirichlet_shares(labels, {.workers = workers, .classes = 10, .alpha = alpha, .seed = 5});
      REQUIRE(shares.size() == static_cast<std::size_t>(workers));
      std::vector<std::int32_t> all;
      for (const auto& share : shares) {
        CHECK(!share.empty());
        all.insert(all.end(), share.begin(), share.end());
      }
      CHECK(is_permutation_of_all(all, 60));
    }
}

TEST_CASE("a Dirichlet partition depends on the seed alone") {
  const std::vector<std::int32_t> labels = ten_classes(1000);
  const DirichletSpec spec{.workers = 8, .classes = 10, .alpha = 0.5, .seed = 1};
  DirichletSpec other = spec;
  other.seed = 2;
  CHECK(dirichlet_shares(labels, spec) == dirichlet_shares(labels, spec));
  CHECK(dirichlet_shares(labels, spec) != dirichlet_shares(labels, other));
}

TEST_CASE("a large concentration gives everybody the class mix of the whole set, a small one few classes") {
  const std::vector<std::int32_t> labels = ten_classes(10000);  // 1,000 of each class
  const auto count = [&](const std::vector<std::int32_t>& share, std::int32_t label) {
    return std::count_if(share.begin(), share.end(), [&](std::int32_t sample) {
      return labels[static_cast<std::size_t>(sample)] == label;
    });
  };
  // alpha = 1e6: each of 10 workers gets 100 of each class, give or take rounding and a spread of 0.1.
  for (const auto& share : dirichlet_shares(labels, {.workers = 10, .classes = 10, .alpha = 1e6, .seed = 1}))
    for (std::int32_t label = 0; label < 10; ++label) CHECK(std::abs(count(share, label) - 100) <= 2);
  // alpha = 0.01: nearly all of a class goes to one worker.
  const auto skewed = dirichlet_shares(labels, {.workers = 10, .classes = 10, .alpha = 0.01, .seed = 1});
  std::ptrdiff_t concentrated = 0;
  for (std::int32_t label = 0; label < 10; ++label) {
    std::ptrdiff_t most = 0;
    for (const auto& share : skewed) most = std::max<std::ptrdiff_t>(most, count(share, label));
    concentrated += most >= 900 ? 1 : 0;
  }
  CHECK(concentrated >= 8);
}

TEST_CASE("the proportions of a Dirichlet partition have the mean and variance of the distribution") {
  // One class, 4 workers, alpha = 0.5: a proportion has mean 1/4 and variance (1/4)(3/4) / (4 * 0.5 + 1) =
  // 0.0625. Over 2,000 seeds the mean is known to 0.25 / sqrt(2000) = 0.0056, the variance to about 0.002.
  const std::vector<std::int32_t> labels(1000, 0);
  double sum = 0, squares = 0;
  for (std::uint64_t seed = 1; seed <= 2000; ++seed) {
    const auto shares = dirichlet_shares(labels, {.workers = 4, .classes = 1, .alpha = 0.5, .seed = seed});
    const double proportion = static_cast<double>(shares[0].size()) / 1000;
    sum += proportion;
    squares += proportion * proportion;
  }
  const double mean = sum / 2000;
  CHECK(std::abs(mean - 0.25) < 4 * 0.0056);
  CHECK(std::abs(squares / 2000 - mean * mean - 0.0625) < 4 * 0.002);
}

}  // namespace simsgd::test::learn_partition
