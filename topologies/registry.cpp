#include "topologies/registry.hpp"

namespace simsgd {

TopologyPlugin dragonfly_topology();    // dragonfly.cpp
TopologyPlugin fat_tree_topology();     // fat_tree.cpp
TopologyPlugin star_topology();         // star.cpp
TopologyPlugin switch_tree_topology();  // switch_tree.cpp

const std::vector<TopologyPlugin>& topology_plugins() {
  static const std::vector<TopologyPlugin> table = {
      star_topology(),
      switch_tree_topology(),
      fat_tree_topology(),
      dragonfly_topology(),
  };
  return table;
}

}  // namespace simsgd
