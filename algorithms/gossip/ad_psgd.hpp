#pragma once

#include "algorithms/registry.hpp"

namespace simsgd {
AlgorithmPlugin ad_psgd_plugin();
}
