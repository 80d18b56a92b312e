#include "topologies/network_file.hpp"

#include <expat.h>
#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <filesystem>
#include <fstream>
#include <limits>
#include <memory>
#include <queue>

#include "sim/base/printable.hpp"
#include "sim/base/units.hpp"

namespace simsgd {

namespace {

/// No file above is read: megabytes describe any cluster that fits the simulation.
constexpr std::size_t kMostFileBytes = std::size_t{8} << 20;

constexpr std::size_t kMostErrors = 20;
constexpr double kMostBps = 1e18, kMostLatency_s = 1e12;  // docs/model.md, Limits

[[noreturn]] void refuse_file(const std::string& path, const std::string& problem,
                              const std::string& remedy) {
  throw ConfigError(InputError{path, "", problem, "", remedy});
}

double quantity_of(const std::string& text, const std::string& what, Dimension dimension, int line,
                   FileErrors& errors) {
  const std::string example = fmt::format("Write {}", dimension_example(dimension));
  const ParsedQuantity parsed = parse_quantity(text, dimension);
  const bool bandwidth = dimension == Dimension::rate_Bps;
  if (text.empty())
    errors.add(line, "has no " + what, "", example);
  else if (!parsed.ok)
    errors.add(line, what + " " + parsed.problem, text, example);
  else if (bandwidth ? !(parsed.value > 0) : !(parsed.value >= 0))
    errors.add(line, what + (bandwidth ? " is not above 0" : " is below 0"), text, example);
  else if (parsed.value > (bandwidth ? kMostBps : kMostLatency_s))
    errors.add(line, what + " is too large to be simulated", text,
               bandwidth ? "Give at most 1e18 bytes per second" : "Give at most 1e12 s");
  else
    return parsed.value;
  return 1;
}

}  // namespace

void FileErrors::add(int line, const std::string& problem, const std::string& found, std::string remedy) {
  if (errors_.size() == kMostErrors) {
    ++more_;
    return;
  }
  const std::string place = line > 0 ? fmt::format("{}:{}", path_, line) : path_;
  errors_.push_back({place, "", printable(problem), printable(found), std::move(remedy)});
}

void FileErrors::refuse(int line, const std::string& problem, std::string remedy) {
  const std::string place = line > 0 ? fmt::format("{}:{}", path_, line) : path_;
  errors_.push_back({place, "", printable(problem), "", std::move(remedy)});
  throw ConfigError(errors_);
}

void FileErrors::throw_if_any() {
  if (more_ > 0)
    errors_.push_back({path_, "", fmt::format("has {} more error{}", more_, more_ == 1 ? "" : "s"), "",
                       "Correct those above first"});
  if (!errors_.empty()) throw ConfigError(errors_);
}

void FileNetwork::add_cable(int a, int b, double bandwidth_Bps, double latency_s) {
  const auto name = [this](int from, int to) {
    return vertices[static_cast<std::size_t>(from)].name + ">" + vertices[static_cast<std::size_t>(to)].name;
  };
  const auto id = static_cast<int>(links.size());
  links.push_back({name(a, b), bandwidth_Bps, latency_s, a, b});
  links.push_back({name(b, a), bandwidth_Bps, latency_s, b, a});
  steps.push_back({a, b, {id}});
  steps.push_back({b, a, {id + 1}});
}

void network_path_field(Fields& f, std::string& path) {
  f.text("path", path,
         "File of the network, found like a file of `use`; its hosts are the nodes, in the order of the file")
      .required();
}

void NetworkFileOptions::fields(Fields& f) {
  network_path_field(f, path);
  f.flag("hosts_forward", hosts_forward,
         "Whether hosts forward traffic for others, as in a network without switches");
}

std::string find_network_file(const std::string& path, const NodeShape& shape) {
  return shape.find_file ? shape.find_file(path) : path;
}

std::string network_file_text(const std::string& path) {
  std::error_code failed;
  const std::filesystem::file_status status = std::filesystem::status(path, failed);
  if (!std::filesystem::exists(status))
    refuse_file(path, "does not exist", "Write the path of a network's file");
  if (!std::filesystem::is_regular_file(status))
    refuse_file(path, "is not a file", "Write the path of a file");
  std::ifstream stream(path, std::ios::binary);
  std::string text(kMostFileBytes + 1, '\0');
  stream.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (stream.bad() || !stream.is_open()) refuse_file(path, "cannot be read", "Check its permissions");
  text.resize(static_cast<std::size_t>(stream.gcount()));
  if (text.size() > kMostFileBytes)
    refuse_file(path, fmt::format("is larger than {} MiB", kMostFileBytes >> 20),
                "Remove everything but the network, or use a topology of `simsgd list topologies`");
  return text;
}

double bandwidth_of(const std::string& text, const std::string& what, int line, FileErrors& errors) {
  return quantity_of(text, what, Dimension::rate_Bps, line, errors);
}

double latency_of(const std::string& text, const std::string& what, int line, FileErrors& errors) {
  return text.empty() ? 0 : quantity_of(text, what, Dimension::time_s, line, errors);
}

bool host_of(const std::string& type, const std::string& vertex, int line, FileErrors& errors) {
  if (!type.empty() && type != "host" && type != "switch")
    errors.add(line, fmt::format("type of \"{}\" is neither host nor switch", vertex), type,
               "Write type=host for the nodes of the cluster, type=switch for the rest");
  return type == "host";
}

namespace {

constexpr int kFar = std::numeric_limits<int>::max();
constexpr std::int64_t kMostEntries = 100'000'000;  // of the table of routes, 4 bytes each

/// The next step from every vertex towards every node; -1 where there is none.
class RouteTable {
 public:
  RouteTable(const FileNetwork& file, std::vector<int> hosts, bool hosts_forward, LinkId first)
      : steps_(file.steps), hosts_(std::move(hosts)), vertices_(file.vertices.size()), first_(first) {
    into_.resize(vertices_);
    out_of_.resize(vertices_);
    for (std::size_t s = 0; s < steps_.size(); ++s) {
      into_[static_cast<std::size_t>(steps_[s].to)].push_back(static_cast<int>(s));
      out_of_[static_cast<std::size_t>(steps_[s].from)].push_back(static_cast<int>(s));
    }
    next_.assign(hosts_.size() * vertices_, -1);
    for (std::size_t node = 0; node < hosts_.size(); ++node) fill(file, node, hosts_forward);
    into_ = {};
    out_of_ = {};
  }

  bool joins(int from_node, int to_node) const { return next(host(from_node), to_node) >= 0; }
  void route(int from_node, int to_node, std::vector<LinkId>& path) const {
    for (int at = host(from_node); at != host(to_node);) {
      const FileNetwork::Step& step = steps_[static_cast<std::size_t>(next(at, to_node))];
      for (const int link : step.links) path.push_back(first_ + link);
      at = step.to;
    }
  }

 private:
  int host(int node) const { return hosts_[static_cast<std::size_t>(node)]; }
  int next(int vertex, int node) const {
    return next_[static_cast<std::size_t>(node) * vertices_ + static_cast<std::size_t>(vertex)];
  }
  int length(int step) const { return static_cast<int>(steps_[static_cast<std::size_t>(step)].links.size()); }

  /// Links from each vertex to `goal` (Dijkstra, 1959), backwards.
  std::vector<int> distances(const FileNetwork& file, int goal, bool hosts_forward) const {
    std::vector<int> distance(vertices_, kFar);
    using Entry = std::pair<int, int>;
    std::priority_queue<Entry, std::vector<Entry>, std::greater<>> open;
    distance[static_cast<std::size_t>(goal)] = 0;
    open.push({0, goal});
    while (!open.empty()) {
      const auto [so_far, vertex] = open.top();
      open.pop();
      const auto v = static_cast<std::size_t>(vertex);
      const bool ends = vertex != goal && (file.whole_routes || (file.vertices[v].host && !hosts_forward));
      if (so_far > distance[v] || ends) continue;
      for (const int step : into_[v]) {
        int& known = distance[static_cast<std::size_t>(steps_[static_cast<std::size_t>(step)].from)];
        if (so_far + length(step) >= known) continue;
        known = so_far + length(step);
        open.push({known, steps_[static_cast<std::size_t>(step)].from});
      }
    }
    return distance;
  }

  void fill(const FileNetwork& file, std::size_t node, bool hosts_forward) {
    const int goal = hosts_[node];
    const std::vector<int> distance = distances(file, goal, hosts_forward);
    std::vector<int> equal;
    for (std::size_t v = 0; v < vertices_; ++v) {
      if (distance[v] == kFar || static_cast<int>(v) == goal) continue;
      equal.clear();
      for (const int step : out_of_[v]) {
        const int to = steps_[static_cast<std::size_t>(step)].to;
        const auto t = static_cast<std::size_t>(to);
        const bool passes = to == goal || (!file.whole_routes && (hosts_forward || !file.vertices[t].host));
        if (passes && distance[t] != kFar && distance[t] + length(step) == distance[v]) equal.push_back(step);
      }
      next_[node * vertices_ + v] = equal[node % equal.size()];
    }
  }

  std::vector<FileNetwork::Step> steps_;
  std::vector<int> hosts_;  ///< vertex of each node
  std::size_t vertices_;
  LinkId first_;
  std::vector<std::vector<int>> into_, out_of_;
  std::vector<int> next_;  ///< [node][vertex]
};

/// The first of `names`, and how many more there are.
std::string some_of(const std::vector<std::string>& names) {
  std::string text;
  for (std::size_t i = 0; i < std::min<std::size_t>(names.size(), 3); ++i)
    text += (i == 0 ? "\"" : ", \"") + names[i] + "\"";
  return names.size() > 3 ? fmt::format("{} and {} more", text, names.size() - 3) : text;
}

/// The vertices of the nodes.
std::vector<int> hosts_of(const FileNetwork& file, const NodeShape& shape, FileErrors& errors) {
  std::vector<int> hosts;
  for (std::size_t v = 0; v < file.vertices.size(); ++v)
    if (file.vertices[v].host) hosts.push_back(static_cast<int>(v));
  if (hosts.empty())
    errors.add(0, "has no host", "", "Mark hosts with type=host in GraphML and DOT");
  else if (hosts.size() < static_cast<std::size_t>(shape.nodes))
    errors.add(
        0, fmt::format("has {} host{} for {} nodes", hosts.size(), hosts.size() == 1 ? "" : "s", shape.nodes),
        "", fmt::format("Set /cluster/nodes to at most {}, or use another network", hosts.size()));
  hosts.resize(std::min(hosts.size(), static_cast<std::size_t>(shape.nodes)));
  return hosts;
}

void check_vertices(const FileNetwork& file, FileErrors& errors) {
  std::vector<char> joined(file.vertices.size(), 0);
  for (const FileNetwork::Step& step : file.steps)
    joined[static_cast<std::size_t>(step.from)] = joined[static_cast<std::size_t>(step.to)] = 1;
  for (std::size_t v = 0; v < file.vertices.size(); ++v)
    if (!joined[v] && file.vertices.size() > 1)
      errors.add(file.vertices[v].line,
                 fmt::format("{} \"{}\" has no cable", file.vertices[v].host ? "host" : "switch",
                             file.vertices[v].name),
                 "", "Add a cable, or remove it");
}

void check_joined(const FileNetwork& file, const std::vector<int>& hosts, const RouteTable& table,
                  bool hosts_forward, FileErrors& errors) {
  std::vector<std::string> apart;
  const auto nodes = static_cast<int>(hosts.size());
  const auto name = [&](int node) {
    return file.vertices[static_cast<std::size_t>(hosts[static_cast<std::size_t>(node)])].name;
  };
  for (int from = 0; from < nodes; ++from)
    for (int to = 0; to < nodes; ++to)
      if (from != to && !table.joins(from, to)) apart.push_back(name(from) + "\" to \"" + name(to));
  if (apart.empty()) return;
  errors.add(0, fmt::format("has no route from host {}", some_of(apart)), "",
             file.whole_routes ? "List a route for each pair of hosts, in both directions"
             : hosts_forward
                 ? "Add the cables that are missing"
                 : "Add the cables that are missing, or let hosts pass messages on: \"hosts_forward\": true");
}

/// "#2", "#3", ... after a name that another link has. `taken`: the last number given of each name.
std::string own_name(std::map<std::string, int>& taken, const std::string& name) {
  if (taken.emplace(name, 1).second) return name;
  std::string own;
  do own = fmt::format("{}#{}", name, ++taken[name]);
  while (!taken.emplace(own, 1).second);
  return own;
}

}  // namespace

Network network_of(const std::string& topology, FileNetwork file, bool hosts_forward, const NodeShape& shape,
                   FileErrors& errors) {
  check_vertices(file, errors);
  const std::vector<int> hosts = hosts_of(file, shape, errors);
  errors.throw_if_any();
  const auto entries =
      static_cast<std::int64_t>(hosts.size()) * static_cast<std::int64_t>(file.vertices.size());
  if (entries > kMostEntries) {
    errors.add(0,
               fmt::format("has {} vertices, too many for a table of routes to {} nodes",
                           file.vertices.size(), hosts.size()),
               "", "Use a topology of `simsgd list topologies`");
    errors.throw_if_any();
  }
  Network network;
  network.topology = topology;
  const NodeLinks nodes(network, shape, static_cast<int>(file.vertices.size()),
                        [&](int node) { return hosts[static_cast<std::size_t>(node)]; });
  const auto first = static_cast<LinkId>(network.links.size());
  std::map<std::string, int> taken;
  for (const Link& link : network.links) taken.emplace(link.name, 1);
  for (Link& link : file.links) {
    link.name = own_name(taken, link.name);
    for (int* vertex : {&link.from_vertex, &link.to_vertex})
      if (*vertex >= 0) *vertex += NodeLinks::first_switch(shape);
    network.add_link(std::move(link));
  }
  // Shared by the copies of the routing rule, which is copied with the network.
  const auto table = std::make_shared<const RouteTable>(file, hosts, hosts_forward, first);
  check_joined(file, hosts, *table, hosts_forward, errors);
  errors.throw_if_any();
  nodes.route(network, [nodes, table](int from, int to, std::vector<LinkId>& path) {
    table->route(nodes.node_of(from), nodes.node_of(to), path);
  });
  return network;
}

namespace {

constexpr std::size_t kDeepestXml = 64;

struct XmlReading {
  XML_Parser parser;
  const XmlEvents& events;
  FileErrors& errors;
  std::vector<std::pair<std::string, std::string>> open;  ///< name and text
  std::exception_ptr thrown;                              ///< Expat is C: nothing is thrown through it

  int line() const { return static_cast<int>(XML_GetCurrentLineNumber(parser)); }
  template <class Body>
  void guarded(Body body) {
    if (thrown) return;
    try {
      body();
    } catch (...) {
      thrown = std::current_exception();
      XML_StopParser(parser, XML_FALSE);
    }
  }
  [[noreturn]] void refuse(const std::string& problem, const std::string& remedy) {
    errors.refuse(line(), problem, remedy);
  }
};

XmlReading& reading(void* user) { return *static_cast<XmlReading*>(user); }

std::string local(const char* name) {
  const std::string whole = name;
  const std::size_t colon = whole.rfind(':');
  return colon == std::string::npos ? whole : whole.substr(colon + 1);
}

void xml_begin(void* user, const char* name, const char** attributes) {
  reading(user).guarded([&] {
    XmlReading& all = reading(user);
    if (all.open.size() == kDeepestXml)
      all.refuse(fmt::format("nests elements deeper than {}", kDeepestXml),
                 "Write a network without such nesting");
    XmlElement element{.name = local(name), .attributes = {}, .line = all.line()};
    for (; *attributes != nullptr; attributes += 2) element.attributes[attributes[0]] = attributes[1];
    all.open.emplace_back(element.name, "");
    all.events.begin(element);
  });
}

void xml_end(void* user, const char*) {
  reading(user).guarded([&] {
    const auto [name, text] = std::move(reading(user).open.back());
    reading(user).open.pop_back();
    reading(user).events.end(name, text);
  });
}

void xml_text(void* user, const char* text, int length) {
  reading(user).guarded(
      [&] { reading(user).open.back().second.append(text, static_cast<std::size_t>(length)); });
}

// A document type that is only named, as in every platform of SimGrid, is not fetched; what one declares
// could blow up (entities of entities) or read files.
void xml_doctype(void* user, const char*, const char*, const char*, int declares) {
  reading(user).guarded([&] {
    if (declares != 0)
      reading(user).refuse("declares its own document type", "Remove what stands in <!DOCTYPE ... [ ... ]>");
  });
}

void xml_skipped_entity(void* user, const char*, int) {
  reading(user).guarded([&] {
    reading(user).refuse("has an entity that XML does not define", "Write the text itself, or &#NUMBER;");
  });
}

}  // namespace

void read_xml(const std::string& text, const XmlEvents& events, FileErrors& errors) {
  const std::unique_ptr<XML_ParserStruct, decltype(&XML_ParserFree)> parser(XML_ParserCreate(nullptr),
                                                                            XML_ParserFree);
  XmlReading state{.parser = parser.get(), .events = events, .errors = errors, .open = {}, .thrown = {}};
  XML_SetUserData(parser.get(), &state);
  XML_SetElementHandler(parser.get(), xml_begin, xml_end);
  XML_SetCharacterDataHandler(parser.get(), xml_text);
  XML_SetStartDoctypeDeclHandler(parser.get(), xml_doctype);
  XML_SetSkippedEntityHandler(parser.get(), xml_skipped_entity);
  const auto status = XML_Parse(parser.get(), text.data(), static_cast<int>(text.size()), XML_TRUE);
  if (state.thrown) std::rethrow_exception(state.thrown);
  if (status != XML_STATUS_ERROR) return;
  errors.refuse(state.line(), fmt::format("is not XML: {}", XML_ErrorString(XML_GetErrorCode(parser.get()))),
                "Write a whole, well-formed file");
}

}  // namespace simsgd
