// The network of a Chakra trace: out of what we wrote ourselves, or of others' nodes.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "traces/chakra/chakra_nodes.hpp"
#include "traces/imported_file.hpp"

namespace simsgd {

enum class ChakraPass : std::uint8_t { forward, backward, micro_batches, straggle, other };

/// By our attribute, else by the node's name.
ChakraPass chakra_pass(const ChakraNode& node);

/// What is kept of a node.
struct ChakraWork {
  std::uint64_t id = 0;
  std::uint32_t first_dep = 0, deps = 0;  ///< in ChakraGraph::deps
  int type = 0;
  bool cpu = false;
  ChakraPass pass = ChakraPass::other;
  double seconds = 0;
  double gradient_bytes = 0;  ///< of an all-reduce or a reduce-scatter
  std::string name;           ///< of computing
};

/// All nodes of a file, as far as there is room for them.
class ChakraGraph {
 public:
  /// Counts what there is no room for, and nodes with the id of another.
  void add(const ChakraNode& node, ChakraWork work, ImportedFile& file);
  /// Node numbers in an order that the dependencies allow, of several that may come next the smallest id
  /// first. Counts what depends on nodes that are not there; throws ConfigError where they go in a circle.
  std::vector<std::uint32_t> order(ImportedFile& file) const;
  const std::vector<ChakraWork>& nodes() const { return nodes_; }
  const std::vector<std::uint64_t>& deps() const { return deps_; }
  /// The node with that id; nodes().size() where there is none.
  std::size_t find(std::uint64_t id) const;

 private:
  std::vector<ChakraWork> nodes_;
  std::vector<std::uint64_t> deps_;
  std::map<std::uint64_t, std::uint32_t> by_id_;
};

/// Layers of others' nodes: those of computing on the GPU (else on the CPU) in the forward pass, one each. A
/// backward node belongs to the forward node of its name, else, where both passes have as many, to the one in
/// its place from the end, else to the layer before. Bytes that are reduced belong to the layers whose
/// backward nodes the operation waits for. No layer where there is no forward node, or nothing takes time.
RecordedWorkload chakra_network(const ChakraGraph& graph, ImportedFile& file);

/// Layers of what we wrote ourselves: the mean over the steps.
class ChakraOwnNetwork {
 public:
  void add(const ChakraNode& node, ChakraPass pass, double seconds, ImportedFile& file);
  RecordedWorkload make(const ChakraMetadata& metadata, ImportedFile& file) const;

 private:
  struct Sums {
    RecordedLayer layer;
    double forward_s = 0, backward_s = 0;
    std::size_t forwards = 0, backwards = 0;
  };
  std::map<std::uint32_t, Sums> layers_;
};

}  // namespace simsgd
