// What a schedule sends for real, counted where MPI takes it: three ranks, 3,000 bytes.
#include <doctest/doctest.h>
#include <mpi.h>

#include <fstream>
#include <string>

#include "measure/bench/campaigns.hpp"
#include "measure/bench/schedule_messages.hpp"
#include "sim/collectives/schedules.hpp"

namespace simsgd::test::measure_bench_messages {

namespace {

struct Sent {
  int messages = 0;
  long bytes = 0;
};
Sent sent;
bool counting = false;

}  // namespace

// MPI's profiling interface.
extern "C" int MPI_Isend(const void* data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm,
                         MPI_Request* request) {
  if (counting) {
    int size = 0;
    PMPI_Type_size(type, &size);
    ++sent.messages;
    sent.bytes += static_cast<long>(count) * size;
  }
  return PMPI_Isend(data, count, type, to, tag, comm, request);
}

namespace {

Sent sent_by(CollectiveOp op, const std::string& name, double bytes = 3000) {
  int ranks = 1;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  Waiting waiting(true);
  const SchedulePlugin* plugin = find_schedule(op, name);
  REQUIRE(plugin != nullptr);
  ScheduleMessages messages(plugin->make({.ranks = ranks, .bytes = bytes}), MPI_COMM_WORLD, waiting);
  sent = {};
  counting = true;
  messages.run();
  messages.run();  // as often as one likes
  counting = false;
  CHECK(sent.messages % 2 == 0);
  return {sent.messages / 2, sent.bytes / 2};
}

int rank() {
  int own = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &own);
  return own;
}

}  // namespace

TEST_CASE("a ring of three sends four thirds of the vector, in four messages") {
  const Sent ring = sent_by(CollectiveOp::all_reduce, "ring");
  CHECK(ring.messages == 4);
  CHECK(ring.bytes == 4000);
}

TEST_CASE("a binomial broadcast: the root sends to both, in turn, and the others to nobody") {
  const Sent tree = sent_by(CollectiveOp::broadcast, "tree");
  CHECK(tree.messages == (rank() == 0 ? 2 : 0));
  CHECK(tree.bytes == (rank() == 0 ? 6000 : 0));
}

TEST_CASE("a pairwise all-to-all: a third to each other rank; a barrier: two messages without bytes") {
  const Sent pairwise = sent_by(CollectiveOp::all_to_all, "pairwise");
  CHECK(pairwise.messages == 2);
  CHECK(pairwise.bytes == 2000);
  const Sent barrier = sent_by(CollectiveOp::barrier, default_schedule(CollectiveOp::barrier), 0);
  CHECK(barrier.messages == 2);
  CHECK(barrier.bytes == 0);
}

TEST_CASE("every schedule, and MPI's own of every operation, comes to its end, also of a byte and of none") {
  for (const SchedulePlugin& plugin : schedule_plugins())
    for (const double bytes : {0.0, 1.0, 70'000.0}) {
      CAPTURE(plugin.info.name);
      if (plugin.info.name == "recursive_halving") continue;  // of powers of two alone
      (void)sent_by(plugin.op, plugin.info.name, bytes);
      MpiOwn(plugin.op, bytes, MPI_COMM_WORLD).run();
    }
}

TEST_CASE("docs/micro_benchmarks.md has every column as the code says it") {
  std::ifstream file(SIMSGD_SOURCE_DIR "/docs/micro_benchmarks.md");
  const std::string page{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  std::string table = "| column | unit | definition |\n|---|---|---|\n";
  for (const SampleColumn& column : sample_columns())
    table += "| `" + std::string(column.name) + "` | " + column.unit + (*column.unit == 0 ? "| " : " | ") +
             column.definition + " |\n";
  CHECK(page.find(table) != std::string::npos);
}

}  // namespace simsgd::test::measure_bench_messages
