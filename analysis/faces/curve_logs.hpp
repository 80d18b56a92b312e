// Curves against simulated seconds for programs that show training: event files of TensorBoard, and JSON
// lines as the history of Weights & Biases has them. Without their libraries.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "analysis/frame/frame.hpp"

namespace simsgd::faces {

/// A run, and its curves that have values, by name.
struct LoggedRun {
  std::size_t point = 0;  ///< its number, from 1
  std::string label;
  std::vector<std::pair<std::string, std::vector<CurvePoint>>> curves;
};
/// Those of a frame that ended well.
std::vector<LoggedRun> logged_runs(const frame::Frame& frame);

/// An object a line and instant, in the order of time: "_step" from 0, "simulated_time_s", and each curve
/// that has a value then. Of several runs each line says its "run" first.
std::string history_lines(const std::vector<LoggedRun>& runs);

/// TFRecords (tensorflow/core/lib/io/record_writer.h: length, its masked CRC-32C, data, theirs) of Events
/// (tensorflow/core/util/event.proto). Simulated seconds are the wall time; the step is in milliseconds.
std::string event_file(const LoggedRun& run);

/// DIR/events.out.tfevents.0.simsgd of one run; of several DIR/POINT-LABEL/... of each. Each file appears
/// whole or not at all. Returns their paths. Throws RunError.
std::vector<std::filesystem::path> write_event_files(const std::vector<LoggedRun>& runs,
                                                     const std::filesystem::path& directory);

/// CRC-32C (Castagnoli; RFC 3720, appendix B.4), masked as TFRecords have it.
std::uint32_t masked_crc32c(const std::string& data);

}  // namespace simsgd::faces
