#pragma once

#include "algorithms/registry.hpp"

namespace simsgd {
AlgorithmPlugin sgp_plugin();
}
