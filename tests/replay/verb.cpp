// simsgd replay: summary, document, files; exit codes.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "analysis/replay/replay.hpp"
#include "analysis/replay/report.hpp"
#include "sim/base/errors.hpp"
#include "sim/base/random.hpp"
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

// Files that are not a table or timeline of operations, or a broken one: an error that says where, or a
// warning that is counted; never a crash.

namespace {

const std::string kRow = "0,\"PP0, TP0, compute\",forward-compute,1,0,0,10\n";

std::string problem(const std::string& text) {
  try {
    make_graph(read_recorded_job("f", text));
    return "";
  } catch (const ConfigError& error) {
    return error.what();
  }
}

std::string event(const std::string& rest) {
  return R"({"ph":"X","name":"forward-compute","pid":0,"tid":0,)" + rest + "}";
}
const std::string kNames =
    R"({"ph":"M","name":"thread_name","pid":0,"tid":0,"args":{"name":"PP rank 0, TP rank 0, compute"}})";

}  // namespace

TEST_CASE("an event of negative length, and a step that a worker has twice, are counted and left out") {
  const std::string thread = ",\"PP0, TP0, compute\",forward-compute,";
  const RecordedJob job =
      read_recorded_job("f", kColumns + kRow + "0" + thread + "1,1,20,-5\n" +              // line 3
                                 "0" + thread + "2,0,100,9\n0" + thread + "2,0,120,9\n" +  // lines 4 and 5
                                 "0" + thread + "2,1,140,9\n0" + thread + "3,0,200,9\n");
  CHECK(job.ignored == std::map<std::string, std::size_t>{{"events of negative length, skipped", 1},
                                                          {"steps that a worker did twice, left out", 1}});
  CHECK(job.operations.size() == 2);  // of steps 1 and 3
  CHECK(make_graph(job).steps.size() == 2);
  CHECK(
      ConfigError(job.skipped).what() ==
      std::string(
          "f: line 3 ends before it begins. Found: -5. Give microseconds from 0, below 2^53.\n"
          "f: line 5 is the same operation as line 4. Found: forward-compute of micro-batch 0, chunk 0, in step 2 of replica 0, stage 0, slice 0. Give each once in a step."));
}

TEST_CASE("a step of one worker alone is not a step") {
  const RecordedJob job =
      read_recorded_job("f", kColumns + kRow + "1,\"PP0, TP0, compute\",forward-compute,1,0,0,10\n" +
                                 "1,\"PP0, TP0, compute\",forward-compute,2,0,0,10\n");
  const Graph graph = make_graph(job);
  CHECK(graph.steps.size() == 1);
  CHECK(graph.warnings.at("steps without operations of every worker, left out") == 1);
}

TEST_CASE("other people's events, and bytes that are not UTF-8, are left out and counted") {
  const std::string good =
      "[" + kNames + "," + event(R"("ts":1.5,"dur":2,"args":{"step":3,"mb_id":0,"model_chunk":0})") + "]";
  const RecordedJob mended = read_recorded_job("f", "[{\"note\":\"\xff\xfe\"}," + good.substr(1));
  CHECK(mended.operations.size() == 1);
  CHECK(mended.ignored.at("bytes that are control characters or not UTF-8, replaced") == 2);
  const RecordedJob job =
      read_recorded_job("f", "[" + kNames + ",{\"ph\":\"C\"},3,[{}]," + event(R"("ts":1,"dur":1,"args":{})") +
                                 "," + good.substr(1));
  CHECK(job.operations.size() == 1);
  CHECK(job.understood.at("names of threads and processes") == 2);
  CHECK(job.ignored.at("events that are not spans (ph is not X)") == 1);
  CHECK(job.ignored.at("spans that belong to no step") == 1);
  CHECK(job.operations[0].start_s == doctest::Approx(1.5e-6).epsilon(1e-12));
}

TEST_CASE("a table with any byte changed, or cut anywhere, is read or refused") {
  PipelineJob job;
  job.stages = 2;
  job.micro_batches = 1;
  job.make([](const Instruction&) { return 0.001; }, [](const Instruction&) { return 0.0; });
  job.run();
  const std::string table = kColumns + job.rows(1, 0, true);
  std::string timeline = "[" + kNames;
  for (int i = 0; i < 4; ++i)
    timeline += "," + event(fmt::format(R"("ts":{},"dur":5,"args":{{"step":1,"mb_id":{}}})", 10 * i, i));
  timeline += "]";
  Stream stream({3, Purpose::algorithm, 0, 0});
  int read = 0;
  for (const std::string& text : {table, timeline})
    for (int trial = 0; trial < 1500; ++trial) {
      std::string changed = text;
      if (trial % 3 == 0) changed.resize(stream.below(static_cast<std::uint32_t>(text.size())));
      for (int i = 0; i < 1 + trial % 4 && !changed.empty(); ++i)
        changed[stream.below(static_cast<std::uint32_t>(changed.size()))] =
            trial % 2 == 0 ? static_cast<char>(stream.below(256)) : "0123456789,\"-.PX[]{}"[stream.below(20)];
      read += problem(changed).empty() ? 1 : 0;
    }
  CHECK(read > 100);
  CHECK(read < 2900);
}

}  // namespace simsgd::test::replay_verb
