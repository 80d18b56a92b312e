// A simulated job as Chakra execution traces: one file per rank.
#pragma once

#include <filesystem>
#include <string>

#include "traces/chakra/chakra_writer.hpp"

namespace simsgd {

/// Writes DIR/NAME.RANK.et of every rank, and DIR/NAME.groups.json, members by name, where operations are
/// among some ranks only. Makes DIR; each file appears whole or not at all. Throws RunError, also where the
/// job cannot be written.
void write_chakra(const ChakraRecorder& recorder, const std::string& name,
                  const std::filesystem::path& directory);

}  // namespace simsgd
