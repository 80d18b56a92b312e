// Flows share links as SimGrid's do, and as a model of 40 lines that looks at every flow at every instant.
#include "sim/engine/max_min.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <limits>

#include "sim/base/random.hpp"
#include "sim/engine/simgrid_time.hpp"
#include "sim/engine/transport.hpp"
#include "tests/support/in_child.hpp"
#include "tests/support/jobs.hpp"

namespace simsgd::test::engine_max_min {

namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

struct Request {
  double start_s, bytes;
  std::vector<LinkId> path;
};

/// A link changes to that bandwidth.
struct Change {
  double at_s;
  LinkId link;
  double Bps;
};

/// The fair rates of flows that are under way: raises all together, and stops those that meet a full link.
std::vector<double> fair_rates(const std::vector<double>& capacity, const std::vector<Request>& flows,
                               const std::vector<bool>& under_way) {
  std::vector<double> rate(flows.size(), 0), left = capacity;
  std::vector<bool> rising = under_way;
  while (std::find(rising.begin(), rising.end(), true) != rising.end()) {
    std::vector<int> crossing(capacity.size(), 0);
    for (std::size_t i = 0; i < flows.size(); ++i)
      for (const LinkId link : flows[i].path) crossing[static_cast<std::size_t>(link)] += rising[i] ? 1 : 0;
    double more = kNever;
    for (std::size_t l = 0; l < left.size(); ++l)
      if (crossing[l] > 0) more = std::min(more, left[l] / crossing[l]);
    for (std::size_t l = 0; l < left.size(); ++l) left[l] -= more * crossing[l];
    for (std::size_t i = 0; i < flows.size(); ++i) {
      if (!rising[i]) continue;
      rate[i] += more;
      for (const LinkId link : flows[i].path)
        if (left[static_cast<std::size_t>(link)] <= 1e-12 * capacity[static_cast<std::size_t>(link)])
          rising[i] = false;
    }
  }
  return rate;
}

std::vector<double> ends_by_hand(std::vector<double> capacity, const std::vector<Request>& flows,
                                 const std::vector<Change>& changes) {
  std::vector<double> left(flows.size()), ends(flows.size(), kNever);
  for (std::size_t i = 0; i < flows.size(); ++i) left[i] = flows[i].bytes;
  double now = 0;
  while (true) {
    std::vector<bool> under_way(flows.size());
    double next = kNever;
    for (std::size_t i = 0; i < flows.size(); ++i) {
      under_way[i] = flows[i].start_s <= now && ends[i] == kNever;
      if (flows[i].start_s > now) next = std::min(next, flows[i].start_s);
    }
    for (const Change& change : changes) {
      if (change.at_s <= now) capacity[static_cast<std::size_t>(change.link)] = change.Bps;
      if (change.at_s > now) next = std::min(next, change.at_s);
    }
    const std::vector<double> rate = fair_rates(capacity, flows, under_way);
    for (std::size_t i = 0; i < flows.size(); ++i)
      if (under_way[i]) next = std::min(next, now + left[i] / rate[i]);
    if (next == kNever) return ends;
    for (std::size_t i = 0; i < flows.size(); ++i) {
      if (!under_way[i]) continue;
      left[i] -= rate[i] * (next - now);
      if (left[i] <= 1e-9 * flows[i].bytes) ends[i] = next;
    }
    now = next;
  }
}

std::vector<double> ends_by_max_min(const std::vector<double>& capacity, const std::vector<Request>& flows,
                                    const std::vector<Change>& changes, std::uint64_t* recalled = nullptr) {
  MaxMin sharing(capacity);
  std::vector<double> ends(flows.size(), kNever);
  std::vector<bool> started(flows.size());
  std::vector<std::uint32_t> ended;
  for (double now = 0; now != kNever;) {
    for (const Change& change : changes)
      if (change.at_s == now) sharing.set_capacity(change.link, change.Bps);
    for (std::size_t i = 0; i < flows.size(); ++i)
      if (!started[i] && flows[i].start_s <= now) {
        started[i] = true;
        sharing.start(static_cast<std::uint32_t>(i), flows[i].path, flows[i].bytes, now);
      }
    double next = sharing.next_end_s(now);
    for (const Change& change : changes)
      if (change.at_s > now) next = std::min(next, change.at_s);
    for (std::size_t i = 0; i < flows.size(); ++i)
      if (!started[i]) next = std::min(next, flows[i].start_s);
    now = next;
    ended.clear();
    if (now != kNever) sharing.take_ended(now, ended);
    for (const std::uint32_t flow : ended) ends[flow] = now;
  }
  if (recalled) *recalled = sharing.recalled();
  return ends;
}

/// Messages at random instants between random ranks; some instants and sizes are equal, and a link is slower
/// for a while.
std::vector<double> ends_on(const Cluster& cluster, MakeTimeKeeper make_time, int messages) {
  auto* transport = new Transport(cluster, make_time);  // SimGrid's callbacks refer to it
  auto* ends = new std::vector<double>(static_cast<std::size_t>(messages), kNever);
  Stream draws({7, Purpose::placement, 0, 0});
  const auto ranks = static_cast<std::uint32_t>(cluster.workers());
  for (int i = 0; i < messages; ++i) {
    const int from = static_cast<int>(draws.below(ranks)),
              to = (from + 1 + static_cast<int>(draws.below(ranks - 1))) % cluster.workers();
    const double at_s = i % 3 == 0 ? 1e-3 * (i % 7) : 0.01 * draws.uniform(),
                 bytes = i % 4 == 0 ? 1e6 : 1e5 + 5e6 * draws.uniform();
    transport->at(at_s, [=] {
      transport->message(from, to, bytes, 5e-6,
                         [=] { (*ends)[static_cast<std::size_t>(i)] = transport->now(); });
    });
  }
  transport->at(2e-3, [=] { transport->set_bandwidth_share(0, 0.3); });
  transport->at(6e-3, [=] { transport->set_bandwidth_share(0, 1); });
  transport->run(nullptr);
  return *ends;
}

}  // namespace

TEST_CASE("random flows on random paths end when a model says that raises all rates together") {
  Stream draws({3, Purpose::placement, 0, 0});
  for (int round = 0; round < 60; ++round) {
    CAPTURE(round);
    const std::uint32_t links = 2 + draws.below(8), count = 1 + draws.below(30);
    std::vector<double> capacity;
    for (std::uint32_t l = 0; l < links; ++l)
      capacity.push_back(round % 2 ? 1e9 : 1e8 * (1 + draws.below(20)));
    std::vector<Request> flows;
    for (std::uint32_t i = 0; i < count; ++i) {
      Request flow{0.25 * draws.below(4), 1e8 * (1 + draws.below(5)), {}};
      for (std::uint32_t l = 0; l < links; ++l)
        if (draws.uniform() < 0.4) flow.path.push_back(static_cast<LinkId>(l));
      if (flow.path.empty()) flow.path.push_back(0);
      flows.push_back(flow);
    }
    const std::vector<Change> changes = {{0.1, 0, 1e8}, {0.6, 1, 3e9}};
    const std::vector<double> expected = ends_by_hand(capacity, flows, changes),
                              found = ends_by_max_min(capacity, flows, changes);
    for (std::size_t i = 0; i < flows.size(); ++i)
      CHECK(found[i] == doctest::Approx(expected[i]).epsilon(1e-9));
  }
}

TEST_CASE(
    "flows of long paths that meet again, in another order and once with a slower link, end as the model says") {
  constexpr double kRound_s = 4096;  // all of one have ended before the next
  constexpr LinkId kLinks = 80;
  Stream draws({5, Purpose::placement, 0, 0});
  std::vector<Request> round;
  for (int i = 0; i < 40; ++i) {
    Request flow{0.25 * draws.below(3), 1e8 * (1 + draws.below(20)), {}};
    const auto first = static_cast<LinkId>(draws.below(kLinks - 30));
    const auto end = first + 20 + static_cast<LinkId>(draws.below(11));
    for (LinkId link = first; link < end; ++link) flow.path.push_back(link);
    round.push_back(flow);
  }
  round.push_back(round.front());  // two of one path
  std::vector<Request> flows;
  for (std::size_t r = 0; r < 4; ++r)
    for (std::size_t i = 0; i < round.size(); ++i) {
      flows.push_back(round[(i * (2 * r + 1) + r) % round.size()]);
      flows.back().start_s += kRound_s * static_cast<double>(r);
    }
  const std::vector<double> capacity(kLinks, 1e9);
  const std::vector<Change> changes = {{2 * kRound_s, 40, 3e8}, {3 * kRound_s, 40, 1e9}};
  std::uint64_t recalled = 0;
  const std::vector<double> expected = ends_by_hand(capacity, flows, changes),
                            found = ends_by_max_min(capacity, flows, changes, &recalled);
  for (std::size_t i = 0; i < flows.size(); ++i)
    CHECK(found[i] == doctest::Approx(expected[i]).epsilon(1e-12));
  CHECK(recalled > 40);  // of the second round and the fourth, which have some 40 instants each
}

TEST_CASE(
    "two thousand flows of one link end together, and a narrower link beside it gives away what it cannot use") {
  MaxMin sharing({10.0, 1.0});
  const std::vector<LinkId> wide = {0}, both = {0, 1};
  for (std::uint32_t i = 0; i < 2000; ++i) sharing.start(i, wide, 10, 0);
  CHECK(sharing.next_end_s(0) == doctest::Approx(2000));
  std::vector<std::uint32_t> ended;
  sharing.take_ended(2000, ended);
  CHECK(ended.size() == 2000);
  CHECK(sharing.next_end_s(2000) == kNever);
  // One flow gets 1 B/s of the narrow link, so the other has 9 of the wide one's 10: 18 bytes in 2 s.
  sharing.start(5, both, 10, 2000);
  sharing.start(6, wide, 18, 2000);
  CHECK(sharing.next_end_s(2000) == doctest::Approx(2002));
}

TEST_CASE("messages on shared networks arrive when SimGrid says, at every size up to 256 ranks") {
  for (int ranks = 2; ranks <= 256; ++ranks) {
    CAPTURE(ranks);
    Cluster cluster;
    cluster.network = trunk(ranks, 1e-6, 12e9, 2e9);
    cluster.nodes = ranks;
    for (int rank = 0; rank < ranks; ++rank) cluster.endpoint_of_rank.push_back(rank);
    const int messages = ranks % 32 == 0 ? 1200 : std::min(200, 40 * ranks);
    const auto ends = [&](MakeTimeKeeper make_time) {
      return in_child([&] { return ends_on(cluster, make_time, messages); });
    };
    const std::vector<double> own = ends(own_time),
                              simgrid = ends(simgrid_time(SIMSGD_BINARY_DIR "/libsimsgd_simgrid.so"));
    for (std::size_t i = 0; i < own.size(); ++i) {
      CAPTURE(i);
      CHECK(own[i] == doctest::Approx(simgrid[i]).epsilon(1e-9));
    }
  }
}

}  // namespace simsgd::test::engine_max_min
