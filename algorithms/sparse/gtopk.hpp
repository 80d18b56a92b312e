#pragma once

#include "algorithms/registry.hpp"

namespace simsgd {
AlgorithmPlugin gtopk_plugin();
}
