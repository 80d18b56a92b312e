// Reports, tables and exports of a single run; its curves for TensorBoard and W&B, decoded here without any
// code of theirs or ours.
#include <doctest/doctest.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "analysis/faces/figures.hpp"
#include "tests/analysis/support.hpp"
#include "tests/support/contents.hpp"

namespace simsgd::test::report_one_run {

namespace {

namespace fs = std::filesystem;

Json learning_scenario() {
  Json scenario = small_scenario();
  scenario["learner"] = small_learner();
  scenario["record"] = {{"evaluate_every", 4}};
  return scenario;
}

/// CRC-32C by long division of the bits, the first of each byte its least significant one (RFC 3720, 12.1).
std::uint32_t crc32c(const std::string& data) {
  constexpr std::uint64_t kPolynomial = 0x11EDC6F41;
  std::vector<int> bits;
  for (const char byte : data)
    for (int bit = 0; bit < 8; ++bit) bits.push_back(static_cast<unsigned char>(byte) >> bit & 1);
  bits.resize(bits.size() + 32, 0);
  for (std::size_t i = 0; i < 32; ++i) bits[i] ^= 1;
  std::uint64_t rest = 0;
  for (const int bit : bits) {
    rest = rest << 1 | static_cast<std::uint64_t>(bit);
    if ((rest >> 32 & 1) != 0) rest ^= kPolynomial;
  }
  std::uint32_t reversed = 0;
  for (int bit = 0; bit < 32; ++bit) reversed |= static_cast<std::uint32_t>(rest >> bit & 1) << (31 - bit);
  return ~reversed;
}

template <class Number>
Number number_at(const std::string& data, std::size_t at) {
  Number number;
  REQUIRE(at + sizeof number <= data.size());
  std::memcpy(&number, data.data() + at, sizeof number);
  return number;
}

/// The data of a file's records, each with the checks that it came with.
std::vector<std::string> records_of(const std::string& file) {
  const auto masked = [](const std::string& data) {
    const std::uint32_t crc = crc32c(data);
    return static_cast<std::uint32_t>((crc >> 15 | crc << 17) + 0xA282EAD8);
  };
  std::vector<std::string> records;
  for (std::size_t at = 0; at < file.size();) {
    const auto size = number_at<std::uint64_t>(file, at);
    CHECK(number_at<std::uint32_t>(file, at + 8) == masked(file.substr(at, 8)));
    records.push_back(file.substr(at + 12, size));
    CHECK(number_at<std::uint32_t>(file, at + 12 + size) == masked(records.back()));
    at += 16 + size;
  }
  return records;
}

/// Fields of a message: by number, its bytes; a varint's as its eight.
std::map<std::uint64_t, std::string> fields_of(const std::string& message) {
  std::map<std::uint64_t, std::string> fields;
  std::size_t at = 0;
  const auto varint = [&] {
    std::uint64_t number = 0;
    for (int shift = 0;; shift += 7) {
      REQUIRE(at < message.size());
      const auto byte = static_cast<unsigned char>(message[at++]);
      number |= static_cast<std::uint64_t>(byte & 0x7F) << shift;
      if (byte < 0x80) return number;
    }
  };
  while (at < message.size()) {
    const std::uint64_t key = varint();
    std::string value;
    if ((key & 7) == 0) {
      const std::uint64_t number = varint();
      value.assign(reinterpret_cast<const char*>(&number), sizeof number);
    } else {
      const std::size_t size = (key & 7) == 1 ? 8 : (key & 7) == 5 ? 4 : varint();
      value = message.substr(at, size);
      at += size;
    }
    fields[key >> 3] = value;
  }
  return fields;
}

}  // namespace

TEST_CASE("CRC-32C is the published one: RFC 3720, appendix B.4, 32 bytes of zeros and of ones") {
  CHECK(crc32c(std::string(32, '\0')) == 0x8A9136AA);
  CHECK(crc32c(std::string(32, '\xFF')) == 0x62A8AB43);
  const std::uint32_t crc = crc32c("123456789");
  CHECK(faces::masked_crc32c("123456789") ==
        static_cast<std::uint32_t>((crc >> 15 | crc << 17) + 0xA282EAD8));
}

TEST_CASE("a run's directory, its document and standard input are a study of one point") {
  const Folder folder;
  const std::string scenario = folder.write_json("s.json", learning_scenario()),
                    database = folder.path("s.db"), directory = folder.path("run");
  REQUIRE(run_simsgd({"sweep", "run", scenario, "-o", database}).code == 0);
  REQUIRE(run_simsgd({"run", scenario, "-o", directory}).code == 0);
  for (const std::vector<std::string>& asked :
       {std::vector<std::string>{"report", "--format", "csv"}, {"results", "show", "1", "--format", "csv"}}) {
    const auto of = [&](const std::string& file) {
      std::vector<std::string> words = asked;
      words.insert(words.begin() + (words[0] == "report" ? 1 : 2), file);
      const Ended ended = run_simsgd(words);
      CHECK(ended.code == 0);
      return ended.out;
    };
    const std::string stored = of(database);
    CHECK(stored.find(asked[0] == "report" ? "loss" : "throughput_samples_per_s") != std::string::npos);
    CHECK(of(directory) == stored);
    CHECK(of(directory + "/result.json") == stored);
  }
  const Ended page = run_simsgd({"results", "show", directory, "1", "--format", "html"});
  CHECK(page.out.starts_with("<table>\n<caption>"));
  CHECK(page.out.find("<td style=\"text-align: left\">throughput_samples_per_s</td>") != std::string::npos);

  const Ended other = run_simsgd({"report", scenario, "--format", "csv"});
  CHECK(other.code == 2);
  CHECK(other.err.find("is not the document of a run. Name a directory that simsgd run -o") !=
        std::string::npos);
  CHECK(run_simsgd({"report", folder.path("nowhere"), "--format", "csv"}).code == 2);
}

TEST_CASE("event files and JSON lines have a run's curves against simulated seconds") {
  const Folder folder;
  const std::string scenario = folder.write_json("s.json", learning_scenario()),
                    directory = folder.path("run");
  REQUIRE(run_simsgd({"run", scenario, "-o", directory}).code == 0);
  const OrderedJson series = OrderedJson::parse(contents(directory + "/result.json")).at("series");

  const Ended written =
      run_simsgd({"results", "export", directory, "--format", "tensorboard", "-o", folder.path("logs")});
  REQUIRE(written.code == 0);
  const std::vector<std::string> records =
      records_of(contents(folder.path("logs/events.out.tfevents.0.simsgd")));
  CHECK(fields_of(records.at(0)).at(3) == "brain.Event:2");
  std::vector<std::pair<double, float>> losses;
  for (std::size_t i = 1; i < records.size(); ++i) {
    auto event = fields_of(records[i]);
    auto value = fields_of(fields_of(event.at(5)).at(1));
    const auto time_s = number_at<double>(event.at(1), 0);
    CHECK(number_at<std::uint64_t>(event.at(2), 0) ==
          static_cast<std::uint64_t>(std::llround(1000 * time_s)));
    if (value.at(1) == "train_loss") losses.emplace_back(time_s, number_at<float>(value.at(2), 0));
  }
  REQUIRE(losses.size() == series.at("train").size());
  for (std::size_t i = 0; i < losses.size(); ++i) {
    CHECK(losses[i].first == series["train"][i].at("time_s").get<double>());
    CHECK(losses[i].second == series["train"][i].at("train_loss").get<float>());
  }

  const Ended lines = run_simsgd({"results", "export", directory, "--format", "wandb"});
  REQUIRE(lines.code == 0);
  std::istringstream text(lines.out);
  std::size_t step = 0, seen = 0;
  double last_s = -1;
  for (std::string line; std::getline(text, line); ++step) {
    const OrderedJson row = OrderedJson::parse(line);
    CHECK(row.at("_step") == step);
    CHECK(row.at("simulated_time_s").get<double>() > last_s);
    last_s = row["simulated_time_s"];
    seen += row.contains("train_loss") ? 1U : 0U;
  }
  CHECK(seen == series["train"].size());

  const Ended nowhere = run_simsgd({"results", "export", directory, "--format", "tensorboard"});
  CHECK(nowhere.code == 2);
  CHECK(nowhere.err.find("needs a folder for its event files") != std::string::npos);
}

TEST_CASE("of a study each run has an event file of its own, and its name in each line") {
  const Folder folder;
  Json study = learning_scenario();
  study["axes"] = {{{"pointer", "/cluster/workers"}, {"values", {2, 4}}}};
  const std::string scenario = folder.write_json("s.json", study), database = folder.path("s.db");
  REQUIRE(run_simsgd({"sweep", "run", scenario, "-o", database}).code == 0);
  const Ended written =
      run_simsgd({"results", "export", database, "--format", "tensorboard", "-o", folder.path("logs")});
  CHECK(written.code == 0);
  for (const char* name : {"0001-cluster-workers-2", "0002-cluster-workers-4"})
    CHECK(records_of(contents(folder.path("logs/" + std::string(name) + "/events.out.tfevents.0.simsgd")))
              .size() > 1);
  CHECK(run_simsgd({"results", "export", database, "--format", "wandb", "-o", folder.path("all.jsonl")})
            .out.empty());
  std::istringstream lines(contents(folder.path("all.jsonl")));
  std::set<std::string> runs;
  for (std::string line; std::getline(lines, line);)
    runs.insert(OrderedJson::parse(line).at("run").get<std::string>());
  CHECK(runs == std::set<std::string>{"cluster/workers=2", "cluster/workers=4"});
}

TEST_CASE("a notebook gets Vega-Lite of all charts together, and without Node their tables") {
  const Folder folder;
  setenv("SIMSGD_WEB", folder.path("web").c_str(), 1);
  const std::string scenario = folder.write_json("s.json", learning_scenario()),
                    directory = folder.path("run");
  REQUIRE(run_simsgd({"run", scenario, "-o", directory}).code == 0);
  const auto bundle = [&](const std::vector<std::string>& charts) {
    std::vector<std::string> words = {"report", directory, "--format", "notebook"};
    for (const std::string& chart : charts) words.insert(words.end(), {"--chart", chart});
    return OrderedJson::parse(run_simsgd(words).out);
  };
  const OrderedJson one = bundle({"loss"}), two = bundle({"loss", "breakdown"});
  const char* const kVega = "application/vnd.vegalite.v6+json";
  CHECK(one.at(kVega).contains("layer"));
  CHECK(one.at("text/html").get<std::string>().starts_with("<table>\n<caption>Training loss</caption>"));
  REQUIRE(two.at(kVega).at("vconcat").size() == 2);
  for (const OrderedJson& part : two[kVega]["vconcat"]) {
    CHECK(!part.at("data").at("values").empty());
    CHECK(!part.contains("config"));
  }
  CHECK(bundle({"winners"}).empty());
  unsetenv("SIMSGD_WEB");
}

}  // namespace simsgd::test::report_one_run
