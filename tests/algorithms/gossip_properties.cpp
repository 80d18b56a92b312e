// What must hold whatever is drawn: every run ends with all steps done, and averaging between neighbours
// loses no message and applies none twice, because then the mean of the models would move.
#include <doctest/doctest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>

#include "tests/algorithms/gossip_support.hpp"

namespace simsgd::test::algorithms_gossip_properties {

namespace {

constexpr const char* kAlgorithms[] = {"allreduce_sgd", "local_sgd",   "d_psgd", "ad_psgd",
                                       "sgp",           "matcha",      "wagma",  "eager_sgd",
                                       "gtopk",         "nonblocking", "wagma"};

/// A scenario drawn from `seed`: algorithm, workers, group sizes, graph, pace, network, crashes.
class Drawn {
 public:
  explicit Drawn(std::uint64_t seed) : seed_(seed), draws_({seed, Purpose::resampling, 1, 0}) {}

  Method method(const std::string& name) {
    Method method{name};
    Json& parameters = method.parameters;
    if (name == "d_psgd" || name == "sgp" || name == "matcha")
      parameters["coupling"] = either("neighbour", "global");
    if (name == "wagma" || name == "eager_sgd") parameters["activation"] = either("solo", "majority");
    if (name == "local_sgd" || name == "wagma") parameters["period"] = 1 + draws_.below(6);
    if (name == "wagma") {
      workers_ = 1 << draws_.below(6);
      parameters["group_size"] = 1 << draws_.below(static_cast<std::uint32_t>(ceil_log2(workers_)) + 1);
      parameters["groups"] = either("dynamic", "fixed");
    } else if (name == "ad_psgd") {
      workers_ = 2 * (1 + static_cast<int>(draws_.below(8)));
      parameters["averagings_per_step"] = 1 + draws_.below(3);
    } else {
      workers_ = 2 + static_cast<int>(draws_.below(15));
    }
    if (name == "sgp")
      parameters["neighbours"] = 1 + draws_.below(static_cast<std::uint32_t>(ceil_log2(workers_)));
    if (name == "gtopk") parameters["density"] = 0.25;
    if (name == "d_psgd" || name == "matcha") {
      constexpr const char* kGraphs[] = {"ring", "complete", "exponential", "erdos_renyi"};
      method.graph = workers_ == 8 ? "matcha8" : workers_ == 12 ? "torus" : kGraphs[draws_.below(4)];
    }
    if (name == "ad_psgd" && workers_ == 8) method.graph = either("ring", "hypercube");
    if (name == "d_psgd") parameters["weights"] = either("metropolis", "laplacian");
    if (name == "d_psgd" || name == "sgp") parameters["fusion"] = either("none", "all");
    if (name == "matcha") parameters["budget"] = 0.3 + 0.1 * draws_.below(4);
    return method;
  }

  Job job(const Method& method, std::uint64_t steps) {
    Job made = drawn_job({seed_, workers_, steps, 4}, draws_, nullptr);
    use_method(made, method);
    return made;
  }

  int workers() const { return workers_; }

 private:
  std::string either(const char* one, const char* other) { return draws_.below(2) == 0 ? one : other; }

  std::uint64_t seed_;
  Stream draws_;
  int workers_ = 8;
};

}  // namespace

TEST_CASE("no deadlock: 1,000 random scenarios end with all steps done by everybody") {
  for (std::uint64_t seed = 1; seed <= 1000; ++seed) {
    const std::string name = kAlgorithms[seed % std::size(kAlgorithms)];
    CAPTURE(seed);
    CAPTURE(name);
    Drawn drawn(seed);
    const Method method = drawn.method(name);
    const std::uint64_t steps = 4 + seed % 9;
    std::vector<double> missing;
    for (const WorkerRecord& worker : simulate_job(drawn.job(method, steps)).workers)
      missing.push_back(static_cast<double>(steps) - static_cast<double>(worker.steps));
    if (name == "ad_psgd" || name == "eager_sgd") {
      // All together, and perhaps some more at that very instant.
      const double sum = std::accumulate(missing.begin(), missing.end(), 0.0);
      CHECK((sum <= 0 && sum > -static_cast<double>(missing.size())));
    } else {
      CHECK(missing == std::vector<double>(missing.size(), 0.0));
    }
  }
}

TEST_CASE("no message is lost or applied twice: the mean of the models stays, in 200 random runs") {
  for (std::uint64_t seed = 5001; seed <= 5200; ++seed) {
    constexpr const char* kSymmetric[] = {"local_sgd", "d_psgd", "ad_psgd", "sgp", "matcha"};
    const std::string name = kSymmetric[seed % std::size(kSymmetric)];
    CAPTURE(seed);
    CAPTURE(name);
    Drawn counted(seed);
    counted.method(name);
    const int workers = counted.workers();
    const std::vector<double> models = settled_models([&] {
      Drawn drawn(seed);
      Job job = drawn.job(drawn.method(name), 6 + seed % 9);
      add_learner(job, 8, 512, 0);  // learning rate 0: averaging alone
      start_from_drawn_models(job);
      return job;
    });
    std::vector<double> before;
    for (int rank = 0; rank < workers; ++rank)
      for (const float entry : drawn_model(rank, models.size() / static_cast<std::size_t>(workers)))
        before.push_back(entry);
    CHECK(worst_difference(mean_of(before, workers), mean_of(models, workers)) < 2e-6);
    CHECK(spread_of(models, workers) < 0.9 * spread_of(before, workers));
  }
}

}  // namespace simsgd::test::algorithms_gossip_properties
