#include "measure/machine.hpp"

#include <fmt/format.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <set>

#include "measure/packing.hpp"

namespace simsgd {

namespace {

// Tells the running kernel: the same for all that read one monotonic clock.
std::uint64_t boot_hash() {
  std::string id;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> id;
  return hash_of(id);
}

// The cores of the machine that its ranks may use, each alone or all together: mpirun may bind them.
int usable_cores(MPI_Comm machine) {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  if (sched_getaffinity(0, sizeof(cores), &cores) != 0) return 1;
  MPI_Allreduce(MPI_IN_PLACE, &cores, static_cast<int>(sizeof(cores)), MPI_BYTE, MPI_BOR, machine);
  return std::max(1, CPU_COUNT(&cores));
}

// The least rank of each rank's node, as MPI sees nodes: by host name.
std::vector<int> first_of_node(MPI_Comm world, int rank, int ranks) {
  MPI_Comm node = MPI_COMM_NULL;
  MPI_Comm_split_type(world, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &node);
  int first = rank;
  MPI_Allreduce(MPI_IN_PLACE, &first, 1, MPI_INT, MPI_MIN, node);
  MPI_Comm_free(&node);
  std::vector<int> all(static_cast<std::size_t>(ranks));
  MPI_Allgather(&first, 1, MPI_INT, all.data(), 1, MPI_INT, world);
  return all;
}

}  // namespace

int BenchMachine::nodes(int first_ranks) const {
  return static_cast<int>(std::set<int>(node_of.begin(), node_of.begin() + first_ranks).size());
}

int BenchMachine::ranks_per_node(int first_ranks) const {
  std::vector<int> lengths;
  for (int r = 0; r < first_ranks; ++r) {
    const auto i = static_cast<std::size_t>(r);
    if (r == 0 || node_of[i] != node_of[i - 1])
      lengths.push_back(1);
    else
      ++lengths.back();
  }
  const bool equal =
      std::all_of(lengths.begin(), lengths.end(), [&](int length) { return length == lengths.front(); });
  return equal && static_cast<int>(lengths.size()) == nodes(first_ranks) ? lengths.front() : 0;
}

BenchMachine look_at_machine(MPI_Comm world) {
  BenchMachine machine;
  MPI_Comm_rank(world, &machine.rank);
  MPI_Comm_size(world, &machine.ranks);
  machine.node_of = first_of_node(world, machine.rank, machine.ranks);
  const std::uint64_t own = boot_hash();
  std::vector<std::uint64_t> kernels(static_cast<std::size_t>(machine.ranks));
  MPI_Allgather(&own, 1, MPI_UINT64_T, kernels.data(), 1, MPI_UINT64_T, world);
  const auto here = std::count(kernels.begin(), kernels.end(), own);
  machine.ranks_here = static_cast<int>(here);
  const auto first = std::find(kernels.begin(), kernels.end(), own) - kernels.begin();
  machine.one_clock = here == machine.ranks;
  MPI_Comm neighbours = MPI_COMM_NULL;
  MPI_Comm_split(world, static_cast<int>(first), machine.rank, &neighbours);
  machine.cores = usable_cores(neighbours);
  MPI_Comm_free(&neighbours);
  machine.ranks_per_core = static_cast<double>(here) / machine.cores;
  MPI_Allreduce(MPI_IN_PLACE, &machine.ranks_per_core, 1, MPI_DOUBLE, MPI_MAX, world);
  return machine;
}

double load_of_last_minute() {
  double load = 0;
  return getloadavg(&load, 1) == 1 ? load : std::numeric_limits<double>::quiet_NaN();
}

std::string doubt_about(const BenchMachine& machine, double load) {
  std::string doubt;
  if (machine.crowded())
    doubt += fmt::format(
        "WARNING: {:.3g} ranks share a core: every time includes waiting for a turn. MPI's own collectives poll, and slow each other down more than schedules sent message by message, which sleep.\n",
        machine.ranks_per_core);
  constexpr double kBusy = 0.3;
  if (load > kBusy * machine.cores)
    doubt += fmt::format(
        "WARNING: a load of {:.2f} on {} {} before this campaign: times include other work. Measure when the machine is idle, or compare campaigns.\n",
        load, machine.cores, machine.cores == 1 ? "core" : "cores");
  return doubt;
}

double calendar_offset_s() {
  using std::chrono::duration;
  return duration<double>(std::chrono::system_clock::now().time_since_epoch()).count() -
         duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

Trust begin_trust(MPI_Comm world) {
  Trust trust;
  const BenchMachine machine = look_at_machine(world);
  trust.ranks_here = machine.ranks_here;
  trust.cores = machine.cores;
  trust.load_before = load_of_last_minute();
  return trust;
}

std::vector<Note> doubts(MPI_Comm world, const Trust& own) {
  // assumed: a hundredth is what real and simulated times are compared to; half a core is somebody's work.
  constexpr double kShare = 0.01, kStep_s = 1e-3, kOthersLoad = 0.5;
  std::vector<Note> notes;
  const auto note = [&notes](std::string text) {
    add_note(notes, {"real-run", "These times are doubtful: " + std::move(text)});
  };
  const auto all = gather_at_root(world, std::vector<Trust>{own});
  Trust worst;
  double slept_s = 0, overslept_s = 0;
  for (const std::vector<Trust>& each : all) {
    const Trust& rank = each.front();
    slept_s += rank.slept_s;
    overslept_s += rank.overslept_s;
    worst.longest_oversleep_s = std::max(worst.longest_oversleep_s, rank.longest_oversleep_s);
    worst.late_values_s = std::max(worst.late_values_s, rank.late_values_s);
    worst.wall_s = std::max(worst.wall_s, rank.wall_s);
    worst.load_before = std::max(worst.load_before, rank.load_before);
    if (std::abs(rank.clock_step_s) > std::abs(worst.clock_step_s)) worst.clock_step_s = rank.clock_step_s;
    if (rank.ranks_here * worst.cores > worst.ranks_here * rank.cores) {
      worst.ranks_here = rank.ranks_here;
      worst.cores = rank.cores;
    }
  }
  if (all.empty()) return notes;
  if (worst.ranks_here > worst.cores && !own.emulates)
    note(fmt::format("{} ranks share {} cores. Ranks that wait sleep, and computing waits for a core.",
                     worst.ranks_here, worst.cores));
  if (worst.load_before > kOthersLoad)
    note(
        fmt::format("in the minute before the run {:.1f} other processes wanted a core.", worst.load_before));
  if (overslept_s > kShare * slept_s)
    note(fmt::format("sleeps that stand for computing took {:.1f} % too long, one of them {:.3g} ms.",
                     100 * overslept_s / slept_s, 1e3 * worst.longest_oversleep_s));
  if (worst.late_values_s > kShare * worst.wall_s)
    note(fmt::format(
        "for {:.3g} of {:.3g} s a rank was still computing its values after the workload's time for them. Use a smaller learner, fewer ranks or more cores.",
        worst.late_values_s, worst.wall_s));
  if (std::abs(worst.clock_step_s) > kStep_s)
    note(fmt::format("the machine's clock was set by {:.3g} s during the run.", worst.clock_step_s));
  return notes;
}

}  // namespace simsgd
