// What importers of networks share: names, batches, numbers per sample, and the times of passes as
// measurements.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <string>
#include <string_view>

#include "traces/imported_file.hpp"

namespace simsgd {

/// No file of a network has more layers, operators or edges; what is kept of so many is below 200 MB.
inline constexpr std::size_t kMostRecordedOperations = 200'000;

/// A network's name by its file's, without folders and the first ending of these that it has.
std::string network_name(const std::string& file, std::initializer_list<std::string_view> endings);

/// What the user set, else what the file tells (0: nothing); where they differ the user's, which is counted.
int settled_batch(ImportedFile& file, int told);

/// Outputs of a batch become those of a sample; of a product its FLOPs follow: 2 for each output and column.
void per_sample(RecordedLayer& layer, int batch);

/// Rows forward_s and backward_s of the whole network on one worker, where any layer tells them.
void add_pass_times(ImportedFile& file, const RecordedWorkload& network);

}  // namespace simsgd
