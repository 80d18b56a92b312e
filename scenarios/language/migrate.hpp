// Rewrites the text of a scenario, study, cluster, device or workload file from old names to new ones, by the
// table in renames.hpp. Only what changes is touched: comments, order and layout stay.
#pragma once

#include <string>
#include <vector>

namespace simsgd {

struct Migrated {
  std::string text;  ///< as it is to be written
  std::vector<std::string>
      changes;  ///< "/algorithm/mini_batches: now \"micro_batches\""; none: nothing to do
};

/// `text`: of the file that errors call `file`. Throws ConfigError with everything that stands in the way.
Migrated migrate(const std::string& text, const std::string& file);

}  // namespace simsgd
