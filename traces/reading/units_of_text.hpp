// Units as headers and maps write them.
#pragma once

#include <string>
#include <string_view>

#include "sim/base/units.hpp"

namespace simsgd {

/// How many SI units one `unit` is ("us": 1e-6), also "1" and "%" (0.01) of a plain number and "1/s",
/// "samples/s" and so on of a rate without a unit in sim/base/units; false where it is no unit of the
/// dimension.
bool unit_scale(std::string_view unit, Dimension dimension, double& scale);

/// `value` units of that scale in SI, rounded once: 332.4 us are 0.0003324 s, and not a bit less.
double in_si(double value, double scale);

}  // namespace simsgd
