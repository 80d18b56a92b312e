// A simulated job as Chakra execution traces: one file per rank.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "results/run_files.hpp"
#include "traces/chakra/chakra_writer.hpp"

namespace simsgd {

/// Writes DIR/NAME.RANK.et of every rank, and DIR/NAME.groups.json, members by name, where operations are
/// among some ranks only. Makes DIR; each file appears whole or not at all. Throws RunError, also where the
/// job cannot be written.
void write_chakra(const ChakraRecorder& recorder, const std::string& name,
                  const std::filesystem::path& directory);

/// Before a run: makes `directory`. Throws ConfigError, which calls `option`, where it cannot be made or
/// written to, or holds traces that this run's will not replace: whoever reads NAME.*.et, or *.et, would take
/// both for one job. A directory that was made and stays empty is removed.
class ChakraDirectory {
 public:
  ChakraDirectory(const std::filesystem::path& directory, const std::string& name, int workers,
                  const std::string& option);

 private:
  std::optional<OutputDirectory> directory_;
};

}  // namespace simsgd
