#include "sim/engine/platform.hpp"

#include <fmt/format.h>
#include <signal.h>

#include <simgrid/s4u.hpp>  // first: the headers below need it

#include <simgrid/version.h>
#include <simgrid/kernel/routing/NetPoint.hpp>
#include <simgrid/kernel/routing/NetZoneImpl.hpp>

#include "sim/base/check.hpp"
#include "sim/engine/simulate.hpp"

namespace simsgd {

namespace {

namespace routing = simgrid::kernel::routing;

// A zone that asks the Network for the links between two endpoints.
class NetworkZone final : public routing::NetZoneImpl {
 public:
  explicit NetworkZone(const Network& network) : NetZoneImpl("cluster"), route_(network.route) {}

  Platform fill(const Network& network) {
    Platform made;
    for (int i = 0; i < network.endpoints; ++i) {
      made.hosts.push_back(create_host(fmt::format("gpu{}", i), {1e9}));
      const std::size_t netpoint = made.hosts.back()->get_netpoint()->id();
      endpoint_of_netpoint_.resize(netpoint + 1, -1);
      endpoint_of_netpoint_[netpoint] = i;
    }
    for (std::size_t id = 0; id < network.links.size(); ++id) {
      const Link& link = network.links[id];
      made.links.push_back(
          create_link(fmt::format("{}#{}", link.name, id), {link.bandwidth_Bps * kUnitsPerByte}));
      made.links.back()->set_latency(0);
      links_.push_back(made.links.back()->get_impl());
    }
    return made;
  }

 private:
  void get_local_route(const routing::NetPoint* source, const routing::NetPoint* destination,
                       routing::Route* into, double* /*latency*/) override {
    path_.clear();
    route_(endpoint_of_netpoint_[source->id()], endpoint_of_netpoint_[destination->id()], path_);
    for (const LinkId id : path_) into->link_list_.push_back(links_[static_cast<std::size_t>(id)]);
  }

  std::function<void(int, int, std::vector<LinkId>&)> route_;
  std::vector<int> endpoint_of_netpoint_;
  std::vector<simgrid::kernel::resource::StandardLinkImpl*> links_;
  std::vector<LinkId> path_;
};

}  // namespace

std::unique_ptr<simgrid::s4u::Engine> make_engine() {
  static bool made = false;
  CHECK(!made, "one process simulates one scenario: SimGrid 3.32 leaks its clock into a second engine");
  made = true;
  // SimGrid keeps pointers into the arguments.
  static std::vector<std::string> words = {"simsgd", "--log=xbt_cfg.thres:warning",
                                           "--log=root.thres:critical",
                                           // Its words on a deadlock; ours say more (Simulation::deadlock).
                                           "--log=ker_engine.app:file:/dev/null", "--log=ker_engine.add:0",
                                           fmt::format("--cfg=contexts/stack-size:{}", kStackBytes / 1024)};
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  words.push_back("--cfg=contexts/factory:thread");  // sanitizers lose their way where a stack is swapped
#endif
  static std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  int count = static_cast<int>(arguments.size());
  arguments.push_back(nullptr);
  // SimGrid's own answer to Ctrl-C is exit(), from wherever a thread stands: who called us keeps theirs.
  struct sigaction interrupt = {};
  sigaction(SIGINT, nullptr, &interrupt);
  auto engine = std::make_unique<simgrid::s4u::Engine>(&count, arguments.data());
  sigaction(SIGINT, &interrupt, nullptr);
  // The precision of a clock at 0; Transport raises it as time goes on.
  for (const char* setting :
       {"network/model:CM02", "network/crosstraffic:0", "network/TCP-gamma:0", "surf/precision:1e-300"})
    simgrid::s4u::Engine::set_config(setting);
  return engine;
}

Platform build_platform(const Network& network) {
  auto* zone = new NetworkZone(network);  // owned by SimGrid's engine from set_parent on
  zone->set_parent(nullptr);
  Platform platform = zone->fill(network);
  zone->seal();
  return platform;
}

std::string simgrid_version() { return fmt::format("{}.{}", SIMGRID_VERSION_MAJOR, SIMGRID_VERSION_MINOR); }

}  // namespace simsgd
