// Networks that a file describes: what its reader fills in, what is checked, and the routes.
// The cables of the file lie beyond the NICs: a message pays the NIC's latency and those of the cables on its
// way, and takes the narrowest bandwidth of both. Node i of the cluster is the i-th host of the file (of DOT,
// by name, numbers in names by value); hosts beyond the cluster's nodes stay idle.
// A route has as few links as there can be; where several next steps are as short, destination node d takes
// the (d mod their number)-th in the order of the file, so that routes are static and spread over equal ways.
// Hosts end routes; "hosts_forward" lets them pass on what is for others, as in a network without switches.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "sim/base/errors.hpp"
#include "topologies/topology.hpp"

namespace simsgd {

/// What is wrong with a file, to be thrown at once.
class FileErrors {
 public:
  explicit FileErrors(std::string path) : path_(std::move(path)) {}
  /// `line`: 0 where it is not known. Beyond 20 errors they are counted only.
  void add(int line, const std::string& problem, const std::string& found, std::string remedy);
  /// Throws all with this one, after which nothing can be read.
  [[noreturn]] void refuse(int line, const std::string& problem, std::string remedy);
  /// Throws ConfigError with all that were added.
  void throw_if_any();
  const std::string& path() const { return path_; }

 private:
  std::string path_;
  std::vector<InputError> errors_;
  std::size_t more_ = 0;
};

struct FileNetwork {
  struct Vertex {
    std::string name;
    bool host = false;
    int line = 0;
  };
  /// A way from one vertex to another over links, in order.
  struct Step {
    int from = 0, to = 0;
    std::vector<int> links;
  };

  std::vector<Vertex> vertices;
  std::vector<Link> links;  ///< from_vertex and to_vertex are of `vertices`, or -1
  std::vector<Step> steps;
  bool whole_routes = false;  ///< a step is a route: they are not joined to longer ones

  /// A full-duplex cable, "a>b" and "b>a" by its ends; the k-th one between them is "a>b#k".
  void add_cable(int a, int b, double bandwidth_Bps, double latency_s);
};

/// Options of formats that list cables.
struct NetworkFileOptions {
  std::string path;
  bool hosts_forward = false;

  void fields(Fields& f);
};
void network_path_field(Fields& f, std::string& path);

/// The path where it lies, and its text. Throws ConfigError where it is not a file, or too large.
std::string find_network_file(const std::string& path, const NodeShape& shape);
std::string network_file_text(const std::string& path);

/// A bandwidth (above 0) or a latency (at least 0, and 0 where it is empty) with its unit or in SI; what is
/// wrong goes to `errors`.
double bandwidth_of(const std::string& text, const std::string& what, int line, FileErrors& errors);
double latency_of(const std::string& text, const std::string& what, int line, FileErrors& errors);
/// "host" is one, "switch" and nothing are none.
bool host_of(const std::string& type, const std::string& vertex, int line, FileErrors& errors);

/// Checks the whole and adds the nodes. Throws `errors` with what else is wrong.
Network network_of(const std::string& topology, FileNetwork file, bool hosts_forward, const NodeShape& shape,
                   FileErrors& errors);

// XML as a stream of elements, for files from anywhere: Expat, nothing fetched, no entity of the file's own,
// no deep nesting.

struct XmlElement {
  std::string name;  ///< without its namespace's prefix
  std::map<std::string, std::string> attributes;
  int line = 0;

  /// Empty where it is not there.
  std::string operator[](const std::string& attribute) const {
    const auto found = attributes.find(attribute);
    return found == attributes.end() ? "" : found->second;
  }
};

struct XmlEvents {
  std::function<void(const XmlElement&)> begin;
  std::function<void(const std::string& name, const std::string& text)> end;  ///< text directly inside it
};

/// Throws `errors` with the line where the text is not XML, or has a document type with declarations.
void read_xml(const std::string& text, const XmlEvents& events, FileErrors& errors);

}  // namespace simsgd
