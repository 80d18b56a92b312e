#include "traces/reading/units_of_text.hpp"

#include <cmath>

namespace simsgd {

bool unit_scale(std::string_view unit, Dimension dimension, double& scale) {
  if (dimension == Dimension::number) {
    scale = unit == "%" ? 0.01 : 1;
    return unit == "%" || unit == "1" || (unit.ends_with("/s") && unit.size() > 2);
  }
  const ParsedQuantity parsed =
      unit.empty() ? ParsedQuantity{} : parse_quantity("1 " + std::string(unit), dimension);
  scale = parsed.value;
  return parsed.ok && parsed.value > 0;
}

// 1e-6 is no double, 1e6 is one.
double in_si(double value, double scale) {
  const double parts = std::round(1 / scale);
  return scale < 1 && 1 / parts == scale ? value / parts : value * scale;
}

}  // namespace simsgd
