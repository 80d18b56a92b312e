// GraphML: nodes and undirected edges, each edge a full-duplex cable.
//   <key id="b" for="edge" attr.name="bandwidth" .../>, "latency" (default 0), and for nodes "type": host or
//   switch (default). Values have units ("25 Gbps", "1 us") or are in SI; a key's <default> counts. What
//   other keys say is ignored; directed edges, hyperedges, ports and nested graphs are refused.
// Brandes et al., "GraphML progress report", Graph Drawing 2001, doi 10.1007/3-540-45848-4_59. Routes and
// checks: network_file.hpp. Tests: tests/topologies/network_files.cpp.

#include "topologies/network_file.hpp"

namespace simsgd::topologies {

namespace {

class GraphmlReader {
 public:
  explicit GraphmlReader(FileErrors& errors) : errors_(errors) {}

  FileNetwork read(const std::string& text) {
    read_xml(text,
             {.begin = [this](const XmlElement& element) { begin(element); },
              .end = [this](const std::string& name, const std::string& inside) { end(name, inside); }},
             errors_);
    if (graphs_ == 0)
      errors_.add(0, "is not GraphML: there is no <graph>", "",
                  "Write <graphml><graph edgedefault=\"undirected\">");
    for (Vertex& vertex : vertices_)
      network_.vertices.push_back(
          {vertex.id, host_of(value(vertex.data, "node", "type"), vertex.id, vertex.line, errors_),
           vertex.line});
    for (const Edge& edge : edges_) add(edge);
    return std::move(network_);
  }

 private:
  using Data = std::map<std::string, std::string>;  ///< by key
  struct Vertex {
    std::string id;
    int line;
    Data data;
  };
  struct Edge {
    std::string source, target;
    int line;
    Data data;
  };
  struct Key {
    std::string id, of, name, otherwise;
  };

  void begin(const XmlElement& element) {
    ++depth_;
    if (foreign_at_ > 0) return;
    const std::string& name = element.name;
    if (name == "key") {
      keys_.push_back({element["id"], element["for"], element["attr.name"], ""});
    } else if (name == "graph") {
      if (++graphs_ > 1) return refuse(element, "is a second graph", "Write one graph");
      directed_ = element["edgedefault"] == "directed";
    } else if (name == "node") {
      if (!index_.emplace(element["id"], static_cast<int>(vertices_.size())).second)
        errors_.add(element.line, "repeats the id of an earlier node", element["id"],
                    "Give each node its own id");
      vertices_.push_back({element["id"], element.line, {}});
      data_ = &vertices_.back().data;
    } else if (name == "edge") {
      const std::string directed = element["directed"];
      if (directed == "true" || (directed_ && directed != "false"))
        refuse(element, "is a directed edge, but cables go both ways",
               "Write edgedefault=\"undirected\", and each cable once");
      edges_.push_back({element["source"], element["target"], element.line, {}});
      data_ = &edges_.back().data;
    } else if (name == "data") {
      key_ = element["key"];
      foreign_at_ = known(key_) ? 0 : depth_;
    } else if (name == "hyperedge" || name == "port" || name == "endpoint" || name == "locator") {
      refuse(element, "is a <" + name + ">, which is not supported", "Write nodes and edges");
    } else if (depth_ == 1 && name != "graphml") {
      refuse(element, "is a <" + name + ">, no GraphML", "Write <graphml>");
    } else if (name != "graphml" && name != "desc" && name != "default") {
      foreign_at_ = depth_;  // an extension's, such as an editor's
    }
  }

  void end(const std::string& name, const std::string& text) {
    if (foreign_at_ == depth_) foreign_at_ = 0;
    const bool inside_foreign = foreign_at_ > 0;
    --depth_;
    if (inside_foreign) return;
    if (name == "default" && !keys_.empty()) keys_.back().otherwise = trimmed(text);
    if (name == "data" && data_ != nullptr) (*data_)[key_] = trimmed(text);
    if (name == "node" || name == "edge") data_ = nullptr;
  }

  static std::string trimmed(const std::string& text) {
    const std::size_t first = text.find_first_not_of(" \t\r\n");
    if (first == std::string::npos) return "";
    return text.substr(first, text.find_last_not_of(" \t\r\n") - first + 1);
  }

  bool known(const std::string& id) const {
    for (const Key& key : keys_)
      if (key.id == id) return key.name == "bandwidth" || key.name == "latency" || key.name == "type";
    return false;
  }
  /// The value of the attribute `name`; empty where there is none.
  std::string value(const Data& data, const std::string& of, const std::string& name) const {
    for (const Key& key : keys_) {
      if (key.name != name || (key.of != of && key.of != "all" && !key.of.empty())) continue;
      const auto found = data.find(key.id);
      return found == data.end() ? key.otherwise : found->second;
    }
    return "";
  }

  void refuse(const XmlElement& element, const std::string& problem, const std::string& remedy) {
    errors_.add(element.line, problem, "", remedy);
  }

  void add(const Edge& edge) {
    const auto a = index_.find(edge.source), b = index_.find(edge.target);
    for (const std::string& end : {edge.source, edge.target})
      if (!index_.contains(end))
        errors_.add(edge.line, "joins a node that does not exist", end, "Write the id of a node");
    const double bandwidth_Bps =
        bandwidth_of(value(edge.data, "edge", "bandwidth"), "bandwidth", edge.line, errors_);
    const double latency_s = latency_of(value(edge.data, "edge", "latency"), "latency", edge.line, errors_);
    if (a == index_.end() || b == index_.end()) return;
    if (a == b) return errors_.add(edge.line, "joins a node to itself", edge.source, "Remove that edge");
    network_.add_cable(a->second, b->second, bandwidth_Bps, latency_s);
  }

  FileErrors& errors_;
  FileNetwork network_;
  std::vector<Key> keys_;
  std::vector<Vertex> vertices_;
  std::vector<Edge> edges_;
  std::map<std::string, int> index_;
  int graphs_ = 0, depth_ = 0;
  int foreign_at_ = 0;  ///< depth of the element whose inside is ignored; 0: none
  bool directed_ = false;
  Data* data_ = nullptr;  ///< of the node or edge that is open
  std::string key_;
};

Network make_graphml(const NetworkFileOptions& options, const NodeShape& shape) {
  FileErrors errors(find_network_file(options.path, shape));
  FileNetwork file = GraphmlReader(errors).read(network_file_text(errors.path()));
  return network_of("graphml", std::move(file), options.hosts_forward, shape, errors);
}

}  // namespace

std::vector<TopologyPlugin> graphml() {
  return {{{.name = "graphml",
            .summary = "any network of cables, from a GraphML file with bandwidths and hosts",
            .citation = "Brandes et al., Graph Drawing 2001, doi 10.1007/3-540-45848-4_59"},
           make_graphml}};
}

}  // namespace simsgd::topologies
