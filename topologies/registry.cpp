#include "topologies/registry.hpp"

namespace simsgd {

Network make_network(const Json& object, const NodeShape& shape) {
  return find_plugin(topology_plugins(), RawValue(object).name(), "topology").make(object, shape);
}

}  // namespace simsgd
