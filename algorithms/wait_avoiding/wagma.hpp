#pragma once

#include "algorithms/registry.hpp"

namespace simsgd {
AlgorithmPlugin wagma_plugin();
}
