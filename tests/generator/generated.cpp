// Generated scenarios, right and wrong. Whatever a scenario says: nothing crashes or hangs; what `check`
// accepts is not refused by `run`; every refusal says where; a run that fails says why; no document holds a
// number that is none, or a negative time, byte count or cost. SIMSGD_GENERATED=10000 asks for more cases,
// SIMSGD_GENERATED_FIRST begins with another one.
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <unistd.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <cstdlib>

#include "analysis/runner.hpp"
#include "scenarios/language/scenario.hpp"
#include "scenarios/language/study.hpp"
#include "sim/base/printable.hpp"
#include "tests/generator/generator.hpp"
#include "tests/scenarios/support.hpp"
#include "tests/support/in_child.hpp"

namespace simsgd::test::generator_generated {

namespace {

enum Ending : int { refused, ran, failed, cut_short, endings };

constexpr unsigned kHang_s = 40;
constexpr int kMostProgress = 300;  // worker steps that a run is followed for

std::uint64_t from_environment(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

bool is_amount(const std::string& name) {
  if (name.find("bytes") != std::string::npos || name.starts_with("cost_") || name.starts_with("energy_"))
    return true;
  return name.ends_with("_s") && !name.ends_with("per_s");
}

/// Throws at a number that is none, and at a negative amount.
void examine_document(const OrderedJson& node, const std::string& name) {
  if (node.is_number()) {
    const double value = node.get<double>();
    if (!std::isfinite(value))
      throw std::runtime_error(fmt::format("the document holds {} = {}", name, value));
    if (value < 0 && is_amount(name))
      throw std::runtime_error(fmt::format("the document holds {} = {}", name, value));
  }
  if (!node.is_structured()) return;
  for (const auto& member : node.items()) {
    if (name.empty() && (member.key() == "scenario" || member.key() == "context")) continue;
    examine_document(member.value(), node.is_object() ? member.key() : name);
  }
}

void examine_sentence(const std::string& text) {
  if (text.empty() || text.back() != '.' || printable(text) != text)
    throw std::runtime_error("this is not a sentence: " + printable(text));
  for (const char* wrong : {"Deadlock", "defect", "json.exception", "std::"})
    if (text.find(wrong) != std::string::npos) throw std::runtime_error("a wrong diagnosis: " + text);
}

/// A key that the whole file lacks, a file that is not a scenario, and what is wrong in a network's own file
/// have no pointer.
void examine_refusal(const ConfigError& refusal) {
  for (const InputError& error : refusal.errors()) {
    examine_sentence(error.text());
    if (getenv("SIMSGD_TELL") != nullptr) fmt::print(stderr, "{}\n", error.text());
    const bool whole =
        error.problem.starts_with("lacks the key") || error.problem.starts_with("is not a scenario");
    const bool of_network = !error.file.ends_with(".json");
    if (error.pointer.empty() && !whole && !of_network)
      throw std::runtime_error("a refusal without a pointer: " + error.text());
  }
}

Ending run(const Scenario& scenario) {
  int progress = 0;
  SimulationOptions options;
  options.threads = 1;
  options.interrupted = [&progress] { return ++progress > kMostProgress; };
  try {
    const RunOutcome outcome = run_scenario(scenario, options);
    examine_document(outcome.document, "");
    return ran;
  } catch (const ConfigError& error) {
    throw std::runtime_error(std::string("run refuses what check accepts: ") + error.what());
  } catch (const RunError& error) {
    examine_sentence(error.what());
    return failed;
  } catch (const Interrupted&) {
    return cut_short;
  }
}

/// What becomes of the scenario in the file; `run` does not take studies.
Ending examine(const std::string& file, bool is_study) {
  std::optional<Study> study;
  try {
    study = expand_study(file);
    for (std::size_t i = 0; i < std::min<std::size_t>(study->points.size(), 3); ++i)
      make_job(load_point(*study, study->points[i]));
  } catch (const ConfigError& refusal) {
    examine_refusal(refusal);
    if (is_study) return refused;
    try {
      make_job(load_scenario(file));
    } catch (const ConfigError& same) {
      const bool equal = std::string(same.what()) == refusal.what();
      if (study && !equal)
        throw std::runtime_error(fmt::format("run says {}\nand check {}", same.what(), refusal.what()));
      return refused;
    }
    throw std::runtime_error(std::string("check refuses what run accepts: ") + refusal.what());
  }
  if (!is_study) {
    try {
      (void)load_scenario(file);
    } catch (const ConfigError& refusal) {
      throw std::runtime_error(std::string("run refuses what check accepts: ") + refusal.what());
    }
  }
  return run(load_point(*study, study->points.front()));
}

/// The scenario of a seed, in a file of its own.
Ending examine_seed(const Folder& folder, std::uint64_t seed) {
  alarm(kHang_s);
  const Json scenario = ScenarioGenerator(seed).scenario();
  const std::string file =
      folder.write("s.json", scenario.dump(-1, ' ', false, Json::error_handler_t::replace));
  return examine(file, scenario.contains("axes") || scenario.contains("seeds"));
}

/// One after another in one child: one for each would take five times as long.
ChildResult examine_seeds(const Folder& folder, std::uint64_t begin, std::uint64_t end) {
  return run_in_child([&] {
    std::vector<double> found;
    for (std::uint64_t seed = begin; seed < end; ++seed)
      found.push_back(static_cast<double>(examine_seed(folder, seed)));
    return found;
  });
}

}  // namespace

TEST_CASE("generated scenarios are run or refused, and never anything else") {
  constexpr std::uint64_t kOfAChild = 200;
  const std::uint64_t cases = from_environment("SIMSGD_GENERATED", 2000);
  const std::uint64_t first = from_environment("SIMSGD_GENERATED_FIRST", 1);
  const Folder folder;
  write_data_files(std::filesystem::path(folder.path("x")).parent_path());
  // The parent reads schemas and tables, and its children have them.
  (void)make_job(load_scenario(folder.write_json("s.json", small_scenario())));
  std::vector<int> count(endings, 0);
  for (std::uint64_t begin = first; begin < first + cases; begin += kOfAChild) {
    const std::uint64_t end = std::min(begin + kOfAChild, first + cases);
    ChildResult result = examine_seeds(folder, begin, end);
    CAPTURE(begin);
    CHECK(result.error == "");
    // Which one it was.
    for (std::uint64_t seed = begin; !result.error.empty() && seed < end; ++seed) {
      const ChildResult alone = examine_seeds(folder, seed, seed + 1);
      CAPTURE(seed);
      CAPTURE(ScenarioGenerator(seed).scenario().dump(-1, ' ', false, Json::error_handler_t::replace));
      CHECK(alone.error == "");
      result.numbers.insert(result.numbers.end(), alone.numbers.begin(), alone.numbers.end());
    }
    for (const double ending : result.numbers) ++count[static_cast<std::size_t>(ending)];
  }
  MESSAGE(fmt::format("{} refused, {} ran, {} failed with a sentence, {} cut short", count[refused],
                      count[ran], count[failed], count[cut_short]));
  // The generator is worth little if it is always right or always wrong.
  CHECK(count[refused] > static_cast<int>(cases) / 10);
  CHECK(count[ran] > static_cast<int>(cases) / 10);
  CHECK(count[cut_short] < static_cast<int>(cases) / 20);
}

}  // namespace simsgd::test::generator_generated
