#include "traces/units_of_text.hpp"

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

}  // namespace simsgd
