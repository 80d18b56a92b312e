// What the event models share. A model is some 50 lines written from a method's definition: a plain queue of
// events, the compute time of every worker's every step, and the time of a message. It gives when each
// worker's each step ends, and so does the simulation; they are compared up to the first instant at which a
// worker of the simulation has ended.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <tuple>
#include <vector>

#include "tests/support/graphs.hpp"
#include "tests/support/jobs.hpp"

namespace simsgd::test {

inline constexpr int kModelRanks = 8;
using StepEnds = std::vector<std::vector<double>>;  // by rank and step, from 0

/// Times of a model.
struct ModelSetup {
  std::function<double(int rank, std::size_t step)> compute_s;  ///< steps from 1
  double alpha_s = 0;                                           ///< of a message without bytes
  double model_s = 0;                                           ///< of a message with a model: alpha + m beta
  std::uint64_t seed = 1;
};

/// Events in the order of time; at one time those of computing first, then as they were put down.
class EventQueue {
 public:
  explicit EventQueue(double until_s) : until_s_(until_s) {}
  double now() const { return now_s_; }
  void computed(double time_s, std::function<void()> action) { put(time_s, 0, std::move(action)); }
  void told(double time_s, std::function<void()> action) { put(time_s, 1, std::move(action)); }
  void run() {
    while (!events_.empty() && events_.begin()->first < Key{until_s_, 2, 0}) {
      const auto event = events_.extract(events_.begin());
      now_s_ = std::get<0>(event.key());
      event.mapped()();
    }
  }

 private:
  using Key = std::tuple<double, int, std::uint64_t>;
  void put(double time_s, int kind, std::function<void()> action) {
    events_.emplace(Key{time_s, kind, count_++}, std::move(action));
  }
  double until_s_, now_s_ = 0;
  std::uint64_t count_ = 0;
  std::map<Key, std::function<void()>> events_;
};

/// How all ranks hear of number `n` from whoever reaches it first: who heard by phase j tells rank + 2^i for
/// all i > j, each once.
class HearingModel {
 public:
  HearingModel(EventQueue& queue, double alpha_s, std::function<void(int, std::uint64_t)> heard)
      : queue_(queue), alpha_s_(alpha_s), heard_(std::move(heard)) {}
  void tell(int rank, std::uint64_t n, int phase = 0) {
    const auto [lowest, first] = lowest_.try_emplace({rank, n}, 3);
    const int before = std::exchange(lowest->second, std::min(lowest->second, phase));
    if (first) heard_(rank, n);
    for (int i = phase; i < before; ++i)
      queue_.told(queue_.now() + alpha_s_, [=, this] { tell((rank + (1 << i)) % kModelRanks, n, i + 1); });
  }

 private:
  EventQueue& queue_;
  double alpha_s_;
  std::function<void(int, std::uint64_t)> heard_;
  std::map<std::pair<int, std::uint64_t>, int> lowest_;
};

/// A case: a job of 8 workers whose step takes 1 s at full speed, and the times of its model.
struct ModelCase {
  std::string name;
  Job job;
  ModelSetup setup;
};

/// A link of its own for each pair of ranks, each way.
inline Network pairs(int ranks, double alpha_s, const std::function<double(int from, int to)>& Bps) {
  Network network;
  network.topology = "test";
  network.endpoints = ranks;
  for (int from = 0; from < ranks; ++from)
    for (int to = 0; to < ranks; ++to) {
      Link link;
      link.name = "from " + std::to_string(from) + " to " + std::to_string(to);
      link.bandwidth_Bps = from == to ? 1 : Bps(from, to);
      link.latency_s = alpha_s;
      network.links.push_back(link);
    }
  network.route = [ranks](int from, int to, std::vector<LinkId>& path) { path.push_back(ranks * from + to); };
  return network;
}

/// 1,024 bytes each way on a `network` of that latency and bandwidth; `drawn`: every step's compute time is
/// drawn anew, else one worker is four times slower.
inline ModelCase model_case(bool drawn, Network network, double alpha_s, double bandwidth_Bps) {
  ModelCase made;
  made.name = std::string(drawn ? "drawn times" : "one four times slower") + ", " +
              std::to_string(alpha_s + 1024 / bandwidth_Bps) + " s a message";
  made.job = scripted_job(std::move(network), nullptr, 256);
  made.job.workload.layers.front().forward_s = 0.25;
  made.job.workload.layers.front().backward_s = 0.75;
  made.job.graph = graph_of("ring", kModelRanks);
  made.setup = {
      .compute_s = {}, .alpha_s = alpha_s, .model_s = alpha_s + 1024 / bandwidth_Bps, .seed = made.job.seed};
  if (drawn) {
    Distribution& factor = made.job.workload.compute_factor;
    factor = {Distribution::Kind::lognormal, 0, 0.8, 0.5, {}, {}};
    made.setup.compute_s = [factor, seed = made.job.seed](int rank, std::size_t step) {
      Stream draws({seed, Purpose::compute_time, static_cast<std::uint32_t>(rank), step});
      return factor.draw(draws);
    };
  } else {
    made.job.cluster.node_speed.assign(kModelRanks, 1.0);
    made.job.cluster.node_speed[5] = 0.25;
    made.setup.compute_s = [](int rank, std::size_t) { return rank == 5 ? 4.0 : 1.0; };
  }
  return made;
}

/// Without communication costs, and with a message of 1/64 s without and 5/64 s with a model: all exact in
/// binary.
inline std::vector<ModelCase> model_cases(bool own_links) {
  std::vector<ModelCase> cases;
  for (const bool drawn : {false, true})
    for (const double alpha_s : {0.0, 1.0 / 64}) {
      const double Bps = alpha_s == 0 ? 1e30 : 1024 * 16.0;
      const auto same = [Bps](int, int) { return Bps; };
      Network network = own_links ? pairs(kModelRanks, alpha_s, same) : star(kModelRanks, alpha_s, Bps);
      cases.push_back(model_case(drawn, std::move(network), alpha_s, Bps));
    }
  return cases;
}

/// Notes when each worker's each step ends.
class StepEndsObserver final : public Observer {
 public:
  explicit StepEndsObserver(std::size_t workers = kModelRanks) : ends(workers) {}
  void step_ended(const StepEnd& end) override {
    ends[static_cast<std::size_t>(end.rank)].push_back(end.end_s);
  }
  StepEnds ends;
};

/// When the steps end in the simulation.
inline StepEnds simulated_ends(const Job& job) {
  StepEndsObserver observer;
  simulate_job(job, 1, {&observer});
  return observer.ends;
}

/// Compares a method's simulation of `steps` steps with its model, to 1e-9.
inline void check_against(const std::function<StepEnds(const ModelSetup&, double until_s)>& model,
                          bool own_links, Fidelity fidelity, const std::string& method,
                          const Json& parameters, std::uint64_t steps = 60) {
  for (ModelCase& each : model_cases(own_links)) {
    CAPTURE(each.name);
    each.job.network.fidelity = fidelity;
    each.job.stop.steps = steps;
    use_algorithm(each.job, method, parameters);
    const StepEnds simulated = simulated_ends(each.job);
    REQUIRE(simulated.size() == kModelRanks);
    double until_s = std::numeric_limits<double>::infinity();
    for (const std::vector<double>& ends : simulated) until_s = std::min(until_s, ends.back());
    const StepEnds expected = model(each.setup, until_s);
    std::size_t compared = 0;
    for (std::size_t rank = 0; rank < kModelRanks; ++rank) {
      CAPTURE(rank);
      const std::size_t both = std::min(expected[rank].size(), simulated[rank].size());
      CHECK(both >= steps / 5);
      double worst = 0;
      for (std::size_t k = 0; k < both; ++k)
        worst = std::max(worst, std::fabs(simulated[rank][k] / expected[rank][k] - 1));
      CHECK(worst < 1e-9);
      // No step of the simulation is missing in the model, but for one that ends with the comparison.
      if (simulated[rank].size() > both) CHECK(simulated[rank][both] > until_s * (1 - 1e-9));
      compared += both;
    }
    CHECK(compared >= kModelRanks * steps / 2);
  }
}

}  // namespace simsgd::test
