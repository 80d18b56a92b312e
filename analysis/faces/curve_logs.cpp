#include "analysis/faces/curve_logs.hpp"

#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>

#include "analysis/faces/figures.hpp"
#include "results/atomic_file.hpp"
#include "sim/base/errors.hpp"

namespace simsgd::faces {

namespace fs = std::filesystem;

namespace {

/// The bytes of a number, the least significant first.
template <class Number>
std::string little_endian(Number number) {
  std::string bytes;
  for (std::size_t i = 0; i < sizeof number; ++i) bytes += static_cast<char>(number >> (8 * i) & 0xFF);
  return bytes;
}

// Protocol buffers (developers.google.com/protocol-buffers/docs/encoding): a field is its number and wire
// type as a varint, then its value.
enum class Wire : std::uint64_t { varint = 0, eight_bytes = 1, delimited = 2, four_bytes = 5 };

std::string varint(std::uint64_t number) {
  std::string bytes;
  for (; number >= 0x80; number >>= 7) bytes += static_cast<char>(number | 0x80);
  return bytes + static_cast<char>(number);
}
std::string key(std::uint64_t field, Wire wire) {
  return varint(field << 3 | static_cast<std::uint64_t>(wire));
}
std::string number_field(std::uint64_t field, double value) {
  return key(field, Wire::eight_bytes) + little_endian(std::bit_cast<std::uint64_t>(value));
}
std::string number_field(std::uint64_t field, float value) {
  return key(field, Wire::four_bytes) + little_endian(std::bit_cast<std::uint32_t>(value));
}
std::string number_field(std::uint64_t field, std::uint64_t value) {
  return key(field, Wire::varint) + varint(value);
}
std::string bytes_field(std::uint64_t field, const std::string& bytes) {
  return key(field, Wire::delimited) + varint(bytes.size()) + bytes;
}

// Numbers of fields in event.proto and summary.proto.
constexpr std::uint64_t kWallTime = 1, kStep = 2, kFileVersion = 3, kSummary = 5;  // of Event
constexpr std::uint64_t kSummaryValue = 1, kTag = 1, kSimpleValue = 2;

std::string record(const std::string& event) {
  const std::string size = little_endian(static_cast<std::uint64_t>(event.size()));
  return size + little_endian(masked_crc32c(size)) + event + little_endian(masked_crc32c(event));
}

std::string event(const std::string& curve, const CurvePoint& point) {
  const std::string value =
      bytes_field(kTag, curve) + number_field(kSimpleValue, static_cast<float>(point.value));
  return number_field(kWallTime, point.time_s) +
         number_field(kStep, static_cast<std::uint64_t>(std::llround(1000 * point.time_s))) +
         bytes_field(kSummary, bytes_field(kSummaryValue, value));
}

}  // namespace

std::uint32_t masked_crc32c(const std::string& data) {
  std::uint32_t crc = 0xFFFFFFFF;
  for (const char byte : data) {
    crc ^= static_cast<unsigned char>(byte);
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0x82F63B78 : 0);
  }
  crc = ~crc;
  return std::rotr(crc, 15) + 0xA282EAD8;
}

std::vector<LoggedRun> logged_runs(const frame::Frame& frame) {
  std::vector<LoggedRun> runs;
  for (const ResultPoint* point : frame.rows()) {
    if (point->status != RunStatus::ok) continue;
    LoggedRun& run = runs.emplace_back(LoggedRun{point->position + 1, point->label, {}});
    for (const char* name : kCurveNames)
      if (std::vector<CurvePoint> curve = frame.details().curve(point->key, name); !curve.empty())
        run.curves.emplace_back(name, std::move(curve));
  }
  return runs;
}

std::string history_lines(const std::vector<LoggedRun>& runs) {
  std::string text;
  for (const LoggedRun& run : runs) {
    std::map<double, Spec> instants;
    for (const auto& [name, curve] : run.curves)
      for (const CurvePoint& point : curve) instants[point.time_s][name] = point.value;
    std::size_t step = 0;
    for (const auto& [time_s, values] : instants) {
      Spec line = Spec::object();
      if (runs.size() > 1) line["run"] = run.label;
      line["_step"] = step++;
      line["simulated_time_s"] = time_s;
      line.update(values);
      text += line.dump(-1, ' ', false, Spec::error_handler_t::replace) + "\n";
    }
  }
  return text;
}

std::string event_file(const LoggedRun& run) {
  std::string file = record(number_field(kWallTime, 0.0) + bytes_field(kFileVersion, "brain.Event:2"));
  for (const auto& [name, curve] : run.curves)
    for (const CurvePoint& point : curve) file += record(event(name, point));
  return file;
}

std::vector<fs::path> write_event_files(const std::vector<LoggedRun>& runs, const fs::path& directory) {
  std::vector<fs::path> paths;
  for (const LoggedRun& run : runs) {
    const fs::path folder =
        runs.size() == 1 ? directory : directory / fmt::format("{:04}-{}", run.point, plain_name(run.label));
    std::error_code failed;
    fs::create_directories(folder, failed);
    if (failed) throw RunError(fmt::format("Cannot make {}: {}", folder.string(), failed.message()));
    paths.push_back(folder / "events.out.tfevents.0.simsgd");
    write_file_atomically(paths.back(), event_file(run));
  }
  return paths;
}

}  // namespace simsgd::faces
