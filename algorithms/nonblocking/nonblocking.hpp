#pragma once

#include "algorithms/registry.hpp"

namespace simsgd {
AlgorithmPlugin nonblocking_plugin();
}
