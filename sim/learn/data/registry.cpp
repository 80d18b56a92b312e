#include "sim/learn/data/registry.hpp"

// One line per data source.
#define SIMSGD_DATA_SOURCES(SOURCE) \
  SOURCE(csv)                       \
  SOURCE(fashion_mnist)             \
  SOURCE(gaussian_mixture)          \
  SOURCE(idx)                       \
  SOURCE(quadratic)                 \
  SOURCE(teacher_student)

namespace simsgd {

namespace data_sources {
#define DECLARE(name) DataPlugin name();
SIMSGD_DATA_SOURCES(DECLARE)
#undef DECLARE
}  // namespace data_sources

const std::vector<DataPlugin>& data_plugins() {
#define ENTRY(name) data_sources::name(),
  static const std::vector<DataPlugin> table = {SIMSGD_DATA_SOURCES(ENTRY)};
#undef ENTRY
  return table;
}

}  // namespace simsgd
