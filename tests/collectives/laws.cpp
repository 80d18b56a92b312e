// Laws of the recurrence, for every schedule: it is monotone and homogeneous (a linear map of max-plus
// algebra), and symmetric where the network is.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "naive.hpp"
#include "support.hpp"

namespace simsgd::test::collectives_laws {

namespace {

constexpr double kRounding = 1e-13;  // relative to the latest end

/// Calls `check(plan maker, ranks)` for every schedule on a few numbers of ranks.
template <class Body>
void for_each_schedule(const Body& body) {
  for (const SchedulePlugin& plugin : schedule_plugins()) {
    for (const int ranks : {2, 5, 8, 12}) {
      if (plugin.info.name == "recursive_halving" && power_of_two_below(ranks) != ranks) continue;
      CAPTURE(op_name(plugin.op));
      CAPTURE(plugin.info.name);
      CAPTURE(ranks);
      body([&plugin](const Cluster& cluster) { return plan_of(plugin.op, plugin.info.name, 1e6, cluster); },
           ranks);
    }
  }
}

bool nowhere_earlier(const std::vector<double>& later, const std::vector<double>& earlier) {
  const double tolerance = kRounding * *std::max_element(later.begin(), later.end());
  for (std::size_t i = 0; i < later.size(); ++i)
    if (later[i] < earlier[i] - tolerance) return false;
  return true;
}

}  // namespace

TEST_CASE("more bandwidth or less latency on any link never makes any rank later") {
  for_each_schedule([](const auto& plan_on, int ranks) {
    const Cluster cluster = uneven_star(ranks, 5);
    const std::vector<double> arrivals = spread(ranks, 1e-4, 20);
    const std::vector<double> ends = ends_of(plan_on(cluster), arrivals);
    for (std::size_t link = 0; link < cluster.network.links.size(); link += 2) {
      CAPTURE(link);
      Cluster faster = cluster;
      faster.network.links[link].bandwidth_Bps *= 1.7;
      CHECK(nowhere_earlier(ends, ends_of(plan_on(faster), arrivals)));
      Cluster sooner = cluster;
      sooner.network.links[link].latency_s *= 0.3;
      CHECK(nowhere_earlier(ends, ends_of(plan_on(sooner), arrivals)));
    }
  });
}

TEST_CASE("delaying one arrival never makes anyone earlier") {
  for_each_schedule([](const auto& plan_on, int ranks) {
    const Plan plan = plan_on(uneven_star(ranks, 6));
    const std::vector<double> arrivals = spread(ranks, 1e-4, 21);
    const std::vector<double> ends = ends_of(plan, arrivals);
    for (std::size_t rank = 0; rank < arrivals.size(); ++rank) {
      CAPTURE(rank);
      std::vector<double> delayed = arrivals;
      delayed[rank] += 1e-3;
      const std::vector<double> after = ends_of(plan, delayed);
      CHECK(nowhere_earlier(after, ends));
      // And nobody is delayed by more than the latecomer was.
      std::vector<double> shifted = ends;
      for (double& end : shifted) end += 1e-3;
      CHECK(nowhere_earlier(shifted, after));
    }
  });
}

TEST_CASE("shifting all arrivals by d shifts all ends by d, also with jitter") {
  const JitterTable table(lognormal(2e-6, 1.0));
  const JitterDraws draws{&table, 3, 1, 4};
  for_each_schedule([&](const auto& plan_on, int ranks) {
    const Plan plan = plan_on(uneven_star(ranks, 7));
    const std::vector<double> arrivals = spread(ranks, 1e-4, 22);
    for (const double shift : {1e-6, 0.125, 3.0}) {
      std::vector<double> shifted = arrivals;
      for (double& arrival : shifted) arrival += shift;
      for (const JitterDraws* jitter : {static_cast<const JitterDraws*>(nullptr), &draws}) {
        std::vector<double> ends = ends_of(plan, arrivals, jitter);
        for (double& end : ends) end += shift;
        CHECK(worst_difference(ends_of(plan, shifted, jitter), ends) < kRounding);
      }
    }
  });
}

TEST_CASE("ends are the maximum over who came last: the recurrence is linear in max-plus algebra") {
  for_each_schedule([](const auto& plan_on, int ranks) {
    const Plan plan = plan_on(uneven_star(ranks, 8));
    const std::vector<double> a = spread(ranks, 1e-3, 23), b = spread(ranks, 1e-3, 24);
    const auto larger = [](const std::vector<double>& x, const std::vector<double>& y) {
      std::vector<double> both;
      for (std::size_t i = 0; i < x.size(); ++i) both.push_back(std::max(x[i], y[i]));
      return both;
    };
    CHECK(worst_difference(ends_of(plan, larger(a, b)), larger(ends_of(plan, a), ends_of(plan, b))) <
          kRounding);
  });
}

TEST_CASE("on equal links a schedule that ends together ends T after the last arrival, at every rank") {
  for_each_schedule([](const auto& plan_on, int ranks) {
    const Plan plan = plan_on(star(ranks));
    const std::vector<double> arrivals = spread(ranks, 1e-3, 25);
    const double last = *std::max_element(arrivals.begin(), arrivals.end());
    const std::vector<double> ends = ends_of(plan, arrivals);
    CHECK(*std::max_element(ends.begin(), ends.end()) <= (last + plan.dedicated_time_s()) * (1 + kRounding));
    if (!plan.schedule().ends_together) return;
    std::vector<double> closed;
    plan.ends_by_closed_form(arrivals, closed);
    CHECK(worst_difference(ends, closed) < kRounding);
    for (const double end : ends) CHECK(std::fabs(end - last - plan.dedicated_time_s()) < kRounding * end);
  });
}

TEST_CASE("no rank ends before its own messages could have passed, nor after everything done in turn") {
  for_each_schedule([](const auto& plan_on, int ranks) {
    const Plan plan = plan_on(uneven_star(ranks, 9));
    const std::vector<double> arrivals = spread(ranks, 1e-3, 26);
    const double last = *std::max_element(arrivals.begin(), arrivals.end());
    const std::vector<double> ends = ends_of(plan, arrivals);
    double slowest = 0;
    std::vector<double> own(arrivals);
    for (std::size_t s = 0; s < plan.stages(); ++s) {
      const Stage& stage = plan.schedule().stages[s];
      double most = 0;
      for (std::size_t i = 0; i < own.size(); ++i) {
        if (stage.to[i] < 0) continue;
        own[i] += stage.repeat * plan.stage(s).message_s(i);
        most = std::max(most, plan.stage(s).message_s(i));
      }
      slowest += stage.repeat * most;
    }
    for (std::size_t i = 0; i < own.size(); ++i) {
      CHECK(ends[i] >= own[i] * (1 - kRounding));
      CHECK(ends[i] <= (last + slowest) * (1 + kRounding));
    }
  });
}

TEST_CASE("turning equal ranks of a ring around the ring turns their ends") {
  const Plan plan = plan_of(CollectiveOp::all_gather, "ring", 1e6, star(7));
  std::vector<double> arrivals = spread(7, 1e-3, 27);
  std::vector<double> ends = ends_of(plan, arrivals);
  std::rotate(arrivals.begin(), arrivals.begin() + 3, arrivals.end());
  std::rotate(ends.begin(), ends.begin() + 3, ends.end());
  CHECK(ends_of(plan, arrivals) == ends);
}

}  // namespace simsgd::test::collectives_laws
