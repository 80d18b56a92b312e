// A platform of SimGrid, of its XML (DTD 4.1) the flat part: one zone with routing Full, Floyd, Dijkstra or
// DijkstraCache that has hosts, routers, links (SHARED or SPLITDUPLEX) and routes of link_ctn.
//   Full: each pair of hosts needs its route. The others: routes join neighbours, and the fewest links win.
//   A SHARED link is one channel for both directions, a SPLITDUPLEX one a channel each way.
//   symmetrical="YES" (default) gives the way back too, its links reversed.
// Bandwidths and latencies are nominal: the factors of SimGrid's own network models (network/model LV08) are
// not applied. Speeds, cores and properties of hosts are ignored, since devices are the cluster's. Clusters,
// zones in zones, backbones, bypasses, traces, FATPIPE and WIFI are refused with their line.
// Casanova et al., J. Parallel Distrib. Comput. 74, 2014, doi 10.1016/j.jpdc.2014.06.008. Tests:
// tests/topologies/network_files.cpp.
#include <fmt/format.h>

#include <set>

#include "topologies/network_file.hpp"

namespace simsgd::topologies {

namespace {

struct SimgridXmlOptions {
  std::string path;
  void fields(Fields& f) { network_path_field(f, path); }
};

/// "125MBps" as "125MB/s"; the rest is as everywhere.
std::string bytes_per_second(std::string text) {
  if (text.ends_with("Bps")) text.replace(text.size() - 2, 2, "/s");
  return text;
}

class PlatformReader {
 public:
  explicit PlatformReader(FileErrors& errors) : errors_(errors) {}

  FileNetwork read(const std::string& text) {
    read_xml(text,
             {.begin = [this](const XmlElement& element) { begin(element); },
              .end = [this](const std::string& name, const std::string&) { end(name); }},
             errors_);
    if (zones_ == 0)
      errors_.add(0, "is not a platform of SimGrid: there is no <zone>", "", "Write <platform><zone ...>");
    for (const Route& route : routes_) add(route);
    return std::move(network_);
  }

 private:
  struct Channel {
    int up, down;
  };
  struct Crossing {
    std::string link, direction;
    int line;
  };
  struct Route {
    std::string from, to;
    bool symmetrical;
    int line;
    std::vector<Crossing> crossings;
  };

  void begin(const XmlElement& element) {
    const std::string& name = element.name;
    if (name == "zone" || name == "AS") {
      zone(element);
    } else if (name == "host" || name == "router") {
      vertex(element);
    } else if (name == "link") {
      link(element);
    } else if (name == "route") {
      const std::string symmetrical = element["symmetrical"];
      routes_.push_back(
          {element["src"], element["dst"], symmetrical != "NO" && symmetrical != "no", element.line, {}});
      in_route_ = true;
    } else if (name == "link_ctn" && in_route_) {
      routes_.back().crossings.push_back({element["id"], element["direction"], element.line});
    } else if (name == "platform") {
      if (element["version"] != "4" && element["version"] != "4.1")
        errors_.add(element.line, "has a version that is not supported", element["version"],
                    "Convert it to 4.1 with simgrid_update_xml");
    } else if (name != "prop") {
      errors_.add(element.line, "has a <" + name + ">, which is not supported", "",
                  "Write a single zone with hosts, routers, links and routes");
    }
  }
  void end(const std::string& name) {
    if (name == "route") in_route_ = false;
  }

  void zone(const XmlElement& element) {
    static const std::set<std::string> kGraphs = {"Floyd", "Dijkstra", "DijkstraCache"};
    const std::string routing = element["routing"];
    if (++zones_ > 1) errors_.add(element.line, "is a second zone", element["id"], "Write a single zone");
    if (routing != "Full" && !kGraphs.contains(routing))
      errors_.add(element.line, "has a routing that is not supported", routing,
                  "Write Full, Floyd or Dijkstra");
    network_.whole_routes = routing == "Full";
  }

  void vertex(const XmlElement& element) {
    const std::string id = element["id"];
    if (!index_.emplace(id, static_cast<int>(network_.vertices.size())).second)
      errors_.add(element.line, "repeats the id of an earlier host or router", id,
                  "Give each an id of its own");
    network_.vertices.push_back({id, element.name == "host", element.line});
  }

  void link(const XmlElement& element) {
    const std::string id = element["id"], policy = element["sharing_policy"];
    const bool split = policy == "SPLITDUPLEX";
    if (!split && !policy.empty() && policy != "SHARED")
      errors_.add(element.line, fmt::format("link \"{}\" has a policy that is not supported", id), policy,
                  policy == "FATPIPE" ? "Write SHARED with a bandwidth that is never used up"
                                      : "Write SHARED or SPLITDUPLEX");
    const double bandwidth_Bps =
        bandwidth_of(bytes_per_second(element["bandwidth"]), "bandwidth", element.line, errors_);
    const double latency_s = latency_of(element["latency"], "latency", element.line, errors_);
    const auto first = static_cast<int>(network_.links.size());
    if (!channels_.emplace(id, Channel{first, split ? first + 1 : first}).second)
      errors_.add(element.line, "repeats the id of an earlier link", id, "Give each link its own id");
    network_.links.push_back({split ? id + "_UP" : id, bandwidth_Bps, latency_s});
    if (split) network_.links.push_back({id + "_DOWN", bandwidth_Bps, latency_s});
  }

  void add(const Route& route) {
    const auto from = index_.find(route.from), to = index_.find(route.to);
    for (const std::string& end : {route.from, route.to})
      if (!index_.contains(end))
        errors_.add(route.line, "names a host or router that does not exist", end,
                    "Write the id of a host or router");
    std::vector<int> there, back;
    for (const Crossing& crossing : route.crossings) {
      const auto found = channels_.find(crossing.link);
      if (found == channels_.end()) {
        errors_.add(crossing.line, "crosses a link that does not exist", crossing.link,
                    "Write the id of a link");
        continue;
      }
      const auto [up, down] = found->second;
      if (up != down && crossing.direction != "UP" && crossing.direction != "DOWN")
        errors_.add(crossing.line, "does not say in which direction it crosses a SPLITDUPLEX link",
                    crossing.link, "Write direction=\"UP\" or direction=\"DOWN\"");
      const bool downwards = crossing.direction == "DOWN";
      there.push_back(downwards ? down : up);
      back.insert(back.begin(), downwards ? up : down);
    }
    if (route.crossings.empty())
      errors_.add(route.line, "is a route without links", "", "List a <link_ctn/>");
    if (from == index_.end() || to == index_.end() || there.empty()) return;
    if (from == to) return;  // a loopback: nothing of ours crosses it
    step(route, from->second, to->second, std::move(there));
    if (route.symmetrical) step(route, to->second, from->second, std::move(back));
  }

  void step(const Route& route, int from, int to, std::vector<int> links) {
    if (!pairs_.emplace(from, to).second)
      return errors_.add(route.line, "repeats an earlier route", route.from + " to " + route.to,
                         "List each route once; write symmetrical=\"NO\" where both directions are listed");
    network_.steps.push_back({from, to, std::move(links)});
  }

  FileErrors& errors_;
  FileNetwork network_;
  std::map<std::string, int> index_;
  std::map<std::string, Channel> channels_;
  std::set<std::pair<int, int>> pairs_;
  std::vector<Route> routes_;
  int zones_ = 0;
  bool in_route_ = false;
};

Network make_simgrid_xml(const SimgridXmlOptions& options, const NodeShape& shape) {
  FileErrors errors(find_network_file(options.path, shape));
  FileNetwork file = PlatformReader(errors).read(network_file_text(errors.path()));
  return network_of("simgrid_xml", std::move(file), true, shape, errors);
}

}  // namespace

std::vector<TopologyPlugin> simgrid_xml() {
  return {
      {{.name = "simgrid_xml",
        .summary = "hosts, links and routes of a SimGrid platform file (one flat zone)",
        .citation = "Casanova et al., J. Parallel Distrib. Comput. 74, 2014, doi 10.1016/j.jpdc.2014.06.008"},
       make_simgrid_xml}};
}

}  // namespace simsgd::topologies
