// A sweep as an array of Slurm, up to the script that is submitted; tests/slurm submits one.
#include "analysis/runs/slurm.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <set>

#include "sim/base/errors.hpp"
#include "tests/cli/scratch.hpp"
#include "tests/support/refusal.hpp"

namespace simsgd::test::analysis_slurm {

namespace {

using Parts = std::vector<std::vector<std::size_t>>;

std::string points_refusal(const std::string& text) {
  return refusal_of<ConfigError>([&] { parse_points(text); });
}

double cost_of(const std::vector<std::size_t>& part, const std::vector<WeightedPoint>& points) {
  double sum = 0;
  for (const std::size_t position : part) sum += points[position].cost;
  return sum;
}

}  // namespace

TEST_CASE("points are numbers and ranges from 1, and their text reads back") {
  CHECK(parse_points("3,1-2 7\n").positions == std::vector<std::size_t>{0, 1, 2, 6});
  CHECK(points_text({0, 1, 2, 6, 8, 9}) == "1-3,7,9-10");
  CHECK(parse_points("2,2,1-3").positions == std::vector<std::size_t>{0, 1, 2});
  for (const char* wrong :
       {"", ",", "0", "-1", "1-", "3-1", "a", "1;2", "1-2-3", "1-99999999999", "18446744073709551617"}) {
    CAPTURE(wrong);
    CHECK(points_refusal(wrong).starts_with("--points: is not a list of points."));
  }
}

TEST_CASE("a list of points is a shard of its own: no other has its spool file") {
  const Shard some = parse_points("1-3"), other = parse_points("1-4");
  CHECK(some.has(2, 2));
  CHECK(!some.has(3, 3));
  CHECK(!some.whole());
  CHECK(shard_name(some) == shard_name(parse_points("3,2,1")));
  CHECK(shard_name(some) != shard_name(other));
  CHECK(shard_name(Shard{2, 4, {}}) == "shard-2-of-4");
}

TEST_CASE("parts have all points once and about the same cost, whatever the order of the points") {
  // By hand: 7 | 6 | 5, then 4 to the third (9), 3 to the second (9), 2 to the first (9).
  std::vector<WeightedPoint> points;
  for (std::size_t i = 0; i < 6; ++i) points.push_back({i, static_cast<double>(7 - i)});
  const Parts parts = {{0, 5}, {1, 4}, {2, 3}};
  CHECK(balanced_parts(points, 3) == parts);
  std::reverse(points.begin(), points.end());
  CHECK(balanced_parts(points, 3) == parts);
  CHECK(balanced_parts({{4, 0}, {9, 0}}, 5) == Parts{{4}, {9}});
  CHECK(balanced_parts({}, 3).empty());
}

TEST_CASE("of a thousand points from 4 to 1,024 workers no part exceeds Graham's bound") {
  std::vector<WeightedPoint> points;
  double total = 0, dearest = 0;
  for (std::size_t i = 0; i < 1000; ++i) {
    points.push_back({i, std::pow(2.0, 2 + static_cast<double>(i % 9))});
    total += points.back().cost;
    dearest = std::max(dearest, points.back().cost);
  }
  for (const int tasks : {1, 7, 64, 999}) {
    const Parts parts = balanced_parts(points, tasks);
    REQUIRE(parts.size() == static_cast<std::size_t>(tasks));
    std::multiset<std::size_t> all;
    for (const auto& part : parts) {
      CHECK(!part.empty());
      CHECK(std::is_sorted(part.begin(), part.end()));
      all.insert(part.begin(), part.end());
      CHECK(cost_of(part, points) <= (4.0 / 3 - 1.0 / (3 * tasks)) * std::max(total / tasks, dearest));
    }
    CHECK(all.size() == 1000);
    CHECK(std::set<std::size_t>(all.begin(), all.end()).size() == 1000);
  }
}

TEST_CASE("what would become another line of the script is refused") {
  const SlurmArray array{"simsgd-0123abcd", {}, {{0}}};
  CHECK_THROWS_AS(array_script(array, {.options = "", .command = {"x"}}, "/a\n#SBATCH --uid=0", "l"),
                  ConfigError);
  CHECK_THROWS_AS(array_script(array, {.options = "", .command = {"x"}}, "/a\"b", "l"), ConfigError);
  CHECK_THROWS_AS(array_script(array, {.options = "-p test\ntouch x", .command = {"x"}}, "/a", "l"),
                  ConfigError);
}

TEST_CASE("the script is a function of the array, and the shell reads every word as it was") {
  const SlurmArray array{"simsgd-0123abcd", {}, {{0, 1, 2}, {4}}};
  const ArrayScript script{.options = "-p test",
                           .command = {"printf", "%s\\n", "it's $HOME `x` \"y\"", "/a b/f.db"}};
  const std::string text = array_script(array, script, "/logs 100%", "array-1-%a.log");
  CHECK(
      text ==
      "#!/bin/bash\n"
      "# Written by simsgd sweep submit. Each task runs its points and keeps them; it may be killed and requeued.\n"
      "#SBATCH --job-name=simsgd-0123abcd\n#SBATCH --array=1-2\n#SBATCH --output=\"/logs 100%%/array-1-%a.log\"\n"
      "#SBATCH --open-mode=append\n#SBATCH -p test\n\n"
      "case \"$SLURM_ARRAY_TASK_ID\" in\n1) points='1-3' ;;\n2) points='5' ;;\nesac\n\n"
      "exec 'printf' '%s\\n' 'it'\\''s $HOME `x` \"y\"' '/a b/f.db' --jobs \"${SLURM_CPUS_PER_TASK:-1}\" --points - <<< \"$points\"\n");
  const cli::Scratch scratch;
  const std::filesystem::path file = scratch.write("array.sh", text);
  const ProgramEnd end =
      run_program({"env", "SLURM_ARRAY_TASK_ID=2", "SLURM_CPUS_PER_TASK=3", "bash", file.string()});
  CHECK(end.code == 0);
  CHECK(end.out == "it's $HOME `x` \"y\"\n/a b/f.db\n--jobs\n3\n--points\n-\n");
}

TEST_CASE("programs: exit codes, both outputs beyond a pipe's size, none of that name") {
  const ProgramEnd end =
      run_program({"sh", "-c", "head -c 300000 /dev/zero >&2; head -c 200000 /dev/zero; exit 7"});
  CHECK(end.code == 7);
  CHECK(end.out.size() == 200'000);
  CHECK(end.err.size() == 300'000);
  CHECK(run_program({"no-such-program-of-ours"}).code == 127);
}

TEST_CASE("without sbatch nothing is left behind, and status has nothing to say") {
  const cli::Scratch scratch;
  scratch.write(
      "s.json",
      R"({"cluster": {"use": "clusters/ethernet-1g.json", "workers": 2}, "workload": {"use": )"
      R"("workloads/resnet20.json", "batch": 8}, "algorithm": {"name": "allreduce_sgd"}, "stop": {"steps": 1},)"
      R"("axes": [{"pointer": "/cluster/workers", "values": [2, 3, 4, 5]}]})");
  std::filesystem::create_directory(scratch.path() / "bin");  // a PATH without Slurm
  const std::string path = ::getenv("PATH");
  ::setenv("PATH", (scratch.path() / "bin").c_str(), 1);
  std::filesystem::create_symlink("/bin/sh", scratch.path() / "bin/sh");
  const cli::Outcome submitted = scratch.simsgd("sweep submit s.json -o f.db --tasks 2");
  ::setenv("PATH", path.c_str(), 1);
  CHECK(submitted.code == 2);
  CHECK(submitted.err.find("sbatch: is not installed on this machine.") != std::string::npos);
  CHECK(!std::filesystem::exists(scratch.path() / "f.db.slurm"));
  CHECK(!std::filesystem::exists(scratch.path() / "f.db"));

  const cli::Outcome nothing = scratch.simsgd("sweep status f.db");
  CHECK(nothing.code == 2);
  CHECK(nothing.err.starts_with("f.db: does not exist, and nothing was spooled or submitted for it."));

  // Parts by hand: what is spooled is seen, then merged.
  CHECK(scratch.simsgd("sweep run s.json -o f.db --points 2-3").code == 0);
  CHECK(
      scratch.simsgd("sweep status f.db --json").out ==
      "{\"sweeps\":[{\"study\":\"s\",\"points\":4,\"done\":[2,3],\"running\":[],\"queued\":[],\"failed\":[],\"missing\":[1,4]}],\"queue_known\":true}\n");
  const cli::Outcome beyond = scratch.simsgd("sweep run s.json -o f.db --points 5");
  CHECK(beyond.code == 2);
  CHECK(beyond.err.starts_with("--points: names a point that the study does not have. Found: 5."));
  CHECK(scratch.simsgd("sweep run s.json -o f.db").code == 0);
  CHECK(scratch.simsgd("sweep status f.db --json").out.find("\"done\":[1,2,3,4]") != std::string::npos);
}

TEST_CASE("--points of a study whose seeds go on until it is certain: whole combinations, which it decides") {
  const cli::Scratch scratch;
  scratch.write(
      "s.json",
      R"({"cluster": {"use": "clusters/ethernet-1g.json", "workers": 2}, "workload": {"use": )"
      R"("workloads/resnet20.json", "batch": 8}, "algorithm": {"name": "allreduce_sgd"}, "stop": {"steps": 2},)"
      R"("learner": null, "stragglers": [{"name": "lognormal", "mean": "20 ms", "sigma": 1}],)"
      R"("axes": [{"pointer": "/cluster/workers", "values": [2, 4]}], "seeds": {"at_least": 2, "at_most": 9,)"
      R"("until": {"metric": "throughput_samples_per_s", "half_width": "25 %"}}})");
  const cli::Outcome part = scratch.simsgd("sweep run s.json -o f.db --points 1-9,11-18");
  CHECK(part.code == 2);
  CHECK(
      part.err ==
      "--points: names only some seeds of a combination, which runs seeds until its mean is certain. Found: 11. Name all of its seeds, or use --shard, which keeps them together.\n");
  CHECK(!std::filesystem::exists(scratch.path() / "f.db.spool"));
  CHECK(scratch.simsgd("sweep run s.json -o f.db --points 1-9").code == 0);
  CHECK(scratch.simsgd("sweep run s.json -o f.db --points 10-18").code == 0);
  CHECK(scratch.simsgd("sweep run s.json -o f.db").err.find("(--force") != std::string::npos);
  CHECK(scratch.simsgd("sweep run s.json -o one.db").code == 0);
  const std::string one = scratch.simsgd("results export one.db").out;
  CHECK(one == scratch.simsgd("results export f.db").out);
  const auto runs = std::count(one.begin(), one.end(), '\n') - 1;
  CHECK(runs > 4);
  CHECK(runs < 18);
}

}  // namespace simsgd::test::analysis_slurm
