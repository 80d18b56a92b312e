#pragma once

#include "algorithms/registry.hpp"

namespace simsgd {
AlgorithmPlugin matcha_plugin();
}
