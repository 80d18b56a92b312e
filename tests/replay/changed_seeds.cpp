// The fuzzer's seeds (tests/fuzz/seeds) of every format, with bytes changed, moved, doubled or cut: what is
// read ends in rows, in a replay or in a ConfigError. Where clang is missing, this is what there is of
// fuzzing.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "analysis/replay/report.hpp"
#include "sim/base/errors.hpp"
#include "sim/base/random.hpp"
#include "traces/import.hpp"

namespace simsgd::test::replay_changed_seeds {

namespace {

namespace fs = std::filesystem;

const char* const kMap =
    R"({"values": [{"from": "t", "unit": "us", "quantity": "time_s", "samples": "n"}], "workers": "P"})";

std::string changed(std::string text, Stream& stream) {
  const auto place = [&] { return stream.below(static_cast<std::uint32_t>(text.size())); };
  for (std::uint32_t left = 1 + stream.below(4); left > 0 && !text.empty(); --left) switch (stream.below(6)) {
      case 0:
        text[place()] = static_cast<char>(stream.below(256));
        break;
      case 1:
        text[place()] = "0123456789-+.eE,\"{}[]:\n"[stream.below(23)];
        break;
      case 2:
        text.resize(place());
        break;
      case 3: {  // a piece twice
        const std::string piece = text.substr(place(), 1 + stream.below(64));
        text.insert(place(), piece);
        break;
      }
      case 4:
        text.erase(place(), 1 + stream.below(32));
        break;
      default: {
        const char* const numbers[] = {"1e308", "-1",   "9223372036854775808", "0",
                                       "NaN",   "null", "4294967295"};
        const std::size_t digit = text.find_first_of("0123456789", place());
        if (digit != std::string::npos) text.replace(digit, 1, numbers[stream.below(7)]);
      }
    }
  return text;
}

void replay_text_of(const std::string& text) {
  RecordedJob job = read_recorded_job("f", text);
  simsgd::replay::ReplayOptions options;
  options.at_once = 1 + text.size() % 5;
  options.network = 2;
  options.ideal = text.size() % 2 == 0;
  if (job.replicas > 1) options.heal = {0};
  (void)simsgd::replay::replay_document(simsgd::replay::replay_job(std::move(job), options));
}

void import_as(const std::string& format, const std::string& text) {
  ImportOptions options;
  options.set = {{"workers", "4"}, {"batch", "8"}};
  if (format != "any") options.format = format;
  if (format.starts_with("mapped_")) {
    options.map = RawValue(nlohmann::json::parse(kMap));
    options.map_path = "map";
  }
  const Imported all = import_text("f", text, options);
  for (const RecordedWorkload& workload : all.workloads)
    if (workload.batch > 0) (void)workload_file(workload, "f");
}

}  // namespace

TEST_CASE("every format's seed is read, and what becomes of its bytes ends in a result or an error") {
  const char* const more = std::getenv("SIMSGD_CHANGES");
  const int changes = more != nullptr ? std::atoi(more) : 100;
  std::vector<fs::path> seeds;
  for (const auto& each : fs::recursive_directory_iterator(SIMSGD_SOURCE_DIR "/tests/fuzz/seeds"))
    if (each.is_regular_file()) seeds.push_back(each.path());
  std::sort(seeds.begin(), seeds.end());
  CHECK(seeds.size() >= 20);
  int read = 0, refused = 0;
  for (std::size_t s = 0; s < seeds.size(); ++s) {
    const std::string format = seeds[s].parent_path().filename();
    if (format == "map") continue;  // a map comes first
    CAPTURE(seeds[s].string());
    std::ifstream file(seeds[s], std::ios::binary);
    const std::string seed{std::istreambuf_iterator<char>(file), {}};
    Stream stream({11, Purpose::algorithm, static_cast<std::uint32_t>(s), 0});
    for (int i = 0; i <= changes; ++i) {
      const std::string text = i == 0 ? seed : changed(seed, stream);
      try {
        if (format == "replay")
          replay_text_of(text);
        else
          import_as(format, text);
        ++read;
      } catch (const ConfigError& error) {
        ++refused;
        if (i == 0 && format == "replay") FAIL_CHECK(error.what());
      }
    }
  }
  // Neither is everything refused, nor everything taken for something.
  CHECK(read > refused / 10);
  CHECK(refused > read / 10);
}

}  // namespace simsgd::test::replay_changed_seeds
