// Several stores into one.
#pragma once

#include <filesystem>
#include <vector>

namespace simsgd {

/// Puts the studies and runs of `inputs` into `output`, which is made where it does not exist. An input is a
/// store, with the spool files beside it, or one spool file (.jsonl); inputs stay as they are, except that
/// `output` absorbs its own spool files. A result is better than a failure; of two results of one run, which
/// are equal but for their contexts, the first stays. The order of `inputs` does not change what
/// export_results() gives. Throws ConfigError, before anything is written, where one of them cannot be read;
/// RunError where `output` cannot be written.
void merge_stores(const std::vector<std::filesystem::path>& inputs, const std::filesystem::path& output);

}  // namespace simsgd
