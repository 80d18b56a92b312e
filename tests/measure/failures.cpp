// A rank that is killed: the others end soon, somebody says so, and no half-written file has a final name.
#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "tests/measure/run_command.hpp"

namespace simsgd::test::measure_failures {

namespace fs = std::filesystem;

namespace {

constexpr const char* kEndless = R"({
  "name": "endless",
  "cluster": {"use": "clusters/infiniband-100g.json", "workers": 3, "gpus_per_node": 1},
  "workload": {"name": "tiny", "batch": 8,
               "layers": [{"type": "fc", "tensors": [600], "forward": "1 ms", "backward": "1 ms"}]},
  "learner": null,
  "algorithm": {"name": "allreduce_sgd"},
  "stop": {"steps": 10000000}
})";

// Starts three ranks, kills the second when all are there, and says the exit code, how many milliseconds the
// others lived on, and which of them still do.
std::string script(const fs::path& folder) {
  std::ostringstream text;
  text << SIMSGD_MPIRUN << " -n 3 " << SIMSGD_MEASURE_PROGRAM << " run " << (folder / "endless.json").string()
       << " --steps -o " << (folder / "out").string() << R"( &
parent=$!
listens() { # to SIGTERM, number 15
  [ $(( 0x$(sed -n 's/^SigCgt:.*\(....\)$/\1/p' /proc/$1/status) >> 14 & 1 )) = 1 ]
}
for wait in $(seq 600); do
  set -- $(cat /proc/$parent/task/*/children)
  [ $# -ge 3 ] && listens $1 && listens $2 && listens $3 && break
  sleep 0.1
done
begin=$(date +%s%N)
kill -9 $2
wait $parent
code=$?
lives() { [ -e /proc/$1 ] && ! grep -q '^State:.Z' /proc/$1/status 2> /dev/null; }
for wait in $(seq 100); do
  lives $1 || lives $3 || break
  sleep 0.1
done
echo $code $(( ($(date +%s%N) - begin) / 1000000 ))
for rank in $1 $3; do lives $rank && echo alive && kill -9 $rank; done
exit 0
)";
  return text.str();
}

}  // namespace

TEST_CASE("a rank that is killed ends the others within 10 s with a sentence, and leaves no file") {
  const fs::path folder = fs::path(SIMSGD_BINARY_DIR) / "test_measure_killed";
  fs::remove_all(folder);
  fs::create_directories(folder);
  std::ofstream(folder / "endless.json") << kEndless;
  std::ofstream(folder / "script.sh") << script(folder);
  const Ran ran = run_command("sh " + (folder / "script.sh").string());
  INFO(ran.output);
  INFO(ran.errors);
  int code = 0;
  double milliseconds = 1e9;
  std::istringstream said(ran.output);
  said >> code >> milliseconds;
  CHECK(code != 0);
  CHECK(milliseconds < 10000);
  CHECK(ran.output.find("alive") == std::string::npos);
  CHECK(ran.errors.find("exited on signal 9 (Killed)") != std::string::npos);  // mpirun's
  // One of the others says it too.
  const std::size_t said_at = ran.errors.find("Rank 1 (process ");
  REQUIRE(said_at != std::string::npos);
  CHECK(ran.errors.find(") has died, so the run ends here. It has no result, and no file was written.",
                        said_at) != std::string::npos);
  CHECK(ran.errors.find("has died", said_at + 40) == std::string::npos);
  if (fs::exists(folder / "out")) CHECK(fs::is_empty(folder / "out"));
  fs::remove_all(folder);
}

// The boundary that lets one source run in both worlds; tests/base/arrows.cpp looks at the includes.

TEST_CASE("simsgd-measure is linked with MPI and not with SimGrid, which exports MPI's names") {
  const Ran ldd = run_command("ldd " SIMSGD_MEASURE_PROGRAM);
  REQUIRE(ldd.code == 0);
  CHECK(ldd.output.find("libmpi.so") != std::string::npos);
  CHECK(ldd.output.find("simgrid") == std::string::npos);
}

TEST_CASE("no name of SimGrid and nothing of the engine is in simsgd-measure") {
  const Ran names = run_command("nm -C " SIMSGD_MEASURE_PROGRAM);
  REQUIRE(names.code == 0);
  CHECK(names.output.find("simsgd::MpiWorker") != std::string::npos);
  CHECK(names.output.find("simgrid::") == std::string::npos);
  CHECK(names.output.find("simsgd::SimWorker") == std::string::npos);
}

}  // namespace simsgd::test::measure_failures
