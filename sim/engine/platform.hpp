// SimGrid's platform, made from a plain Network. One zone of our own routes by the network's rule, so that a
// new topology needs nothing here. Links carry bandwidth only: every message pays its latency on a timer
// before its flow starts (see transport.hpp), which makes a lone message take exactly alpha + m beta and lets
// flows share links fairly whatever their latencies.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "sim/cluster/network.hpp"
#include "sim/engine/time_keeper.hpp"

namespace simgrid::s4u {
class Engine;
class Host;
class Link;
}  // namespace simgrid::s4u

namespace simsgd {

/// Creates SimGrid's engine with the settings that make it exact. One per process, ever.
std::unique_ptr<simgrid::s4u::Engine> make_engine();

struct Platform {
  std::vector<simgrid::s4u::Host*> hosts;  ///< one per endpoint
  std::vector<simgrid::s4u::Link*> links;  ///< by LinkId
};

/// Makes it and seals it.
Platform build_platform(const Network& network);

}  // namespace simsgd
