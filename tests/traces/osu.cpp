// The OSU micro-benchmarks' text.
#include <doctest/doctest.h>

#include "tests/traces/imports.hpp"

namespace simsgd::test::traces_osu {

using namespace traces;

TEST_CASE("a collective's average latency; with -f also iterations") {
  const Measurements all = imported(
      "\n# OSU MPI Allreduce Latency Test v7.3\n# Datatype: MPI_FLOAT.\n"
      "# Size       Avg Latency(us)   Min Latency(us)   Max Latency(us)  Iterations\n"
      "4                       2.50              2.00              3.00        1000\n"
      "1048576               900.00            800.00            950.00         100\n",
      with("workers", "16"));
  CHECK(rows_text(all) ==
        "time_s 2.5e-06 all_reduce, 16 workers, 4 B, 1000 samples, line 5; type=MPI_FLOAT.\n"
        "time_s 0.0009 all_reduce, 16 workers, 1048576 B, 100 samples, line 6; type=MPI_FLOAT.\n");
}

TEST_CASE("point to point: two workers; a latency is of one way, a bandwidth in 10^6 bytes per second") {
  const Measurements all = imported(
      "# OSU MPI Latency Test v5.6.2\n# Size          Latency (us)\n0                       1.00\n8                       1.25\n"
      "# OSU MPI Bandwidth Test v5.6.2\n# Size      Bandwidth (MB/s)\n8                       2.50\n");
  CHECK(rows_text(all) ==
        "time_s 1e-06 ping_pong, 2 workers, 0 B, line 3\n"
        "time_s 1.25e-06 ping_pong, 2 workers, 8 B, line 4\n"
        "bandwidth_Bps 2500000 stream, 2 workers, 8 B, line 7\n");
}

TEST_CASE("sizes that OSU counts per process become whole arrays: 8 x 16 bytes of an all-gather") {
  const std::string log = "# OSU MPI Allgather Latency Test v7.3\n# Size       Avg Latency(us)\n8   5.00\n";
  CHECK(imported(log, with("workers", "16")).rows.at(0).bytes == 128);
  CHECK(
      import_errors(log) ==
      "f: counts the sizes of all_gather per process, and does not tell how many there were. Say so: --set workers=16.\n");
}

TEST_CASE("other tests' columns are not guessed at") {
  const std::string log =
      "# OSU MPI Multiple Bandwidth / Message Rate Test v7.3\n# [ pairs: 2 ] [ window size: 64 ]\n"
      "# Size                  MB/s        Messages/s\n1                       3.05        3048551.04\n";
  CHECK(import_errors(log) ==
        "f: holds no measurement that can be used (osu). Left out: 1 lines that belong to no table.\n");
}

TEST_CASE("a non-blocking collective is labelled, and one without sizes has none") {
  const Measurements all = imported(
      "# OSU MPI Non-blocking Ibcast Latency Test v7.3\n"
      "# Size          Overall(us)       Compute(us)    Pure Comm.(us)        Overlap(%)\n"
      "4                      7.00              3.00              4.00             50.00\n"
      "# OSU MPI Barrier Latency Test v7.3\n# Avg Latency(us)\n             2.00\n");
  CHECK(rows_text(all) == "time_s 7e-06 broadcast, 4 B, line 3; blocking=no\ntime_s 2e-06 barrier, line 6\n");
}

}  // namespace simsgd::test::traces_osu
