#include "measure/trust.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <fstream>

#include "measure/gathering.hpp"
#include "measure/machine.hpp"

namespace simsgd {

namespace {

double load_now() {
  double load = 0;
  std::ifstream("/proc/loadavg") >> load;
  return load;
}

}  // namespace

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
  trust.load_before = load_now();
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
        "a rank's values were not computed when the workload's time for them was over, for {:.3g} of {:.3g} s. Use a smaller learner, fewer ranks or more cores.",
        worst.late_values_s, worst.wall_s));
  if (std::abs(worst.clock_step_s) > kStep_s)
    note(fmt::format("the machine's clock was set by {:.3g} s during the run.", worst.clock_step_s));
  return notes;
}

}  // namespace simsgd
