// simsgd replay: summary, document, files; exit codes.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "analysis/replay/report.hpp"
#include "tests/cli/scratch.hpp"
#include "tests/replay/pipeline_model.hpp"

namespace simsgd::test::replay_verb {

using namespace replay;
using namespace simsgd::replay;
using cli::Outcome;
using cli::Scratch;

namespace {

// Stage 1 of replica 1 is twice as slow in its second step.
std::string table() {
  std::string text = kColumns;
  for (int step = 1; step <= 2; ++step) {
    PipelineJob job;
    job.make(
        [step](const Instruction& i) {
          return (i.communication() ? 0.001 : 0.010) * (step == 2 && i.replica == 1 && i.stage == 1 ? 2 : 1);
        },
        [](const Instruction&) { return 0.0; });
    job.run();
    text += job.rows(step, step, true);
  }
  return text;
}

}  // namespace

TEST_CASE("replay tells slow-downs, and names the worker, the step and what healing gains") {
  const Scratch scratch;
  scratch.write("ops.csv", table());
  const Outcome summary = scratch.simsgd("replay ops.csv --heal 3");
  CHECK(summary.code == 0);
  CHECK(summary.out.find("ops.csv: 2 steps of 6 workers (2 replicas x 3 stages), ") == 0);
  CHECK(summary.out.find("worker 3 healed") != std::string::npos);
  const Outcome outcome = scratch.simsgd("replay ops.csv --heal 3 --json -o out");
  REQUIRE(outcome.code == 0);
  const nlohmann::json document = nlohmann::json::parse(outcome.out);
  CHECK(document["schema_version"] == 1);
  CHECK(document["steps"][1]["recorded_s"].get<double>() > document["steps"][0]["recorded_s"].get<double>());
  // Computing as in the first step; its messages and collectives are still the slow ones.
  CHECK(document["steps"][1]["what_if_s"].get<double>() <
        document["steps"][1]["recorded_s"].get<double>() - 0.02);
  double most = 0;
  int worst = -1;
  for (const auto& each : document["slowdown"]["by_worker"])
    if (each["slowdown_by_step"][1].get<double>() > most) {
      most = each["slowdown_by_step"][1];
      worst = each["worker"];
    }
  CHECK(worst == 3);
  for (const char* file : {"heatmap.csv", "heatmap.svg", "timeline.json", "replay.json"})
    CHECK_FALSE(contents(scratch.path() / "out" / file).empty());
  const nlohmann::json timeline = nlohmann::json::parse(contents(scratch.path() / "out/timeline.json"));
  std::size_t spans = 0;
  for (const auto& each : timeline["traceEvents"]) spans += each["ph"] == "X" ? 1 : 0;
  CHECK(spans == 2 * document["operations"].get<std::size_t>());
  CHECK(cli::without_context(scratch.simsgd("replay ops.csv --heal 3 --json").out) ==
        cli::without_context(outcome.out));
}

TEST_CASE("replay refuses what it cannot do, all at once, and writes nothing") {
  const Scratch scratch;
  scratch.write("ops.csv", table());
  scratch.write("no.csv", "a,b\n1,2\n");
  const Outcome outcome = scratch.simsgd("replay ops.csv --heal 3,x,-1 -o out");
  CHECK(outcome.code == 2);
  CHECK(outcome.out.empty());
  CHECK(outcome.err ==
        "--heal: does not list workers. Found: x. Write numbers of workers, such as 3 or 3,4.\n"
        "--heal: does not list workers. Found: -1. Write numbers of workers, such as 3 or 3,4.\n"
        "2 errors; nothing was run or written.\n");
  CHECK(
      scratch.simsgd("replay ops.csv --network fast").err ==
      "--network: is not a factor above 0. Found: fast. Write 2x for twice the recorded speed, 0.5x for half of it.\n");
  CHECK(scratch.simsgd("replay ops.csv --workers 8").code == 2);
  CHECK(scratch.simsgd("replay ops.csv --workers 12 --ideal").code == 2);
  CHECK(scratch.simsgd("replay no.csv -o out").code == 2);
  CHECK(scratch.simsgd("replay none.csv").code == 2);
  CHECK(scratch.simsgd("replay").code == 2);
  CHECK_FALSE(std::filesystem::exists(scratch.path() / "out"));
}

TEST_CASE("what cannot be right is skipped and counted; --strict refuses it") {
  const Scratch scratch;
  const std::string row = "0,\"PP1, TP0, compute\",optimizer,";
  scratch.write("ops.csv", table() + row + "1,-1,5,-7\n");
  const Outcome lenient = scratch.simsgd("replay ops.csv");
  CHECK(lenient.code == 0);
  CHECK(lenient.err.find("WARNING: events of negative length, skipped (1)\n") != std::string::npos);
  const Outcome strict = scratch.simsgd("replay ops.csv --strict -o out");
  CHECK(strict.code == 2);
  CHECK(strict.out.empty());
  CHECK(strict.err.find(" ends before it begins. Found: -7. Give microseconds from 0, below 2^53.\n") !=
        std::string::npos);
  CHECK_FALSE(std::filesystem::exists(scratch.path() / "out"));
  scratch.write("well.csv", table());
  CHECK(scratch.simsgd("replay well.csv --strict").code == 0);
}

TEST_CASE("a job that is read in pieces of a step is the same job as one that is held whole") {
  ReplayOptions whole;
  whole.heal = {3};
  whole.ideal = true;
  ReplayOptions pieces = whole;
  pieces.at_once = 1;
  const auto document = [](const ReplayOptions& options, const std::string& text) {
    return replay_document(replay_job(read_recorded_job("ops.csv", text), options)).dump();
  };
  const std::string text = table();
  CHECK(document(pieces, text) == document(whole, text));
  // Without what is recorded of the norm, something unrecorded holds workers together: found over all pieces.
  std::string less;
  for (std::size_t at = 0; at < text.size(); at = text.find('\n', at) + 1)
    if (const std::string line = text.substr(at, text.find('\n', at) + 1 - at);
        line.find("optimizer-clip-main-grad") == std::string::npos)
      less += line;
  CHECK(less.size() < text.size());
  CHECK(document(pieces, less) == document(whole, less));
  // More workers are drawn from the same steps.
  pieces.heal = whole.heal = {};
  pieces.ideal = whole.ideal = false;
  pieces.workers = whole.workers = 12;
  CHECK(document(pieces, text) == document(whole, text));
}

}  // namespace simsgd::test::replay_verb
