// The real worker is held to what every worker does, on three ranks.
#include <doctest/doctest.h>

#include "measure/packing.hpp"
#include "sim/base/errors.hpp"
#include "tests/measure/world.hpp"
#include "tests/roles/behaviours.hpp"
#include "tests/support/refusal.hpp"

namespace simsgd::test::measure_roles {

namespace {

/// What rank 0 has gathered, at all ranks.
template <class T>
std::vector<T> at_all_ranks(std::vector<T> all) {
  std::uint64_t size = all.size();
  MPI_Bcast(&size, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
  all.resize(size);
  MPI_Bcast(all.data(), mpi_count(size * sizeof(T)), MPI_BYTE, 0, MPI_COMM_WORLD);
  return all;
}

std::string first_of(const std::string& error) {
  for (const auto& theirs : gather_at_root(MPI_COMM_WORLD, std::vector<char>(error.begin(), error.end())))
    if (!theirs.empty()) {
      const std::vector<char> all = at_all_ranks(theirs);
      return {all.begin(), all.end()};
    }
  const std::vector<char> all = at_all_ranks(std::vector<char>());
  return {all.begin(), all.end()};
}

Outcome on_mpi_as(Trial trial, bool by_scenario) {
  constexpr double kLittle_s = 0.3, kPlenty_s = 60;
  std::vector<Notes> notes;
  give_script(trial, notes);
  MpiWorker worker(
      trial.job, MPI_COMM_WORLD,
      RealRun{.patience_s = trial.stalls ? kLittle_s : kPlenty_s, .scenario_schedules = by_scenario});
  const std::string error = refusal_of<RunError>([&] {
    trial.job.algorithm->run(worker);
    if (!trial.stalls) worker.finish();
  });
  const Notes& mine = notes[static_cast<std::size_t>(worker.rank())];
  Outcome outcome;
  outcome.notes = unflattened(at_all_ranks(flattened(gather_at_root(MPI_COMM_WORLD, mine))));
  outcome.error = first_of(error);
  return outcome;
}

Outcome on_mpi(Trial trial) { return on_mpi_as(std::move(trial), false); }
Outcome by_schedules(Trial trial) { return on_mpi_as(std::move(trial), true); }

}  // namespace

TEST_CASE("MPI: messages") { check_behaviours(message_behaviours(), on_mpi); }
TEST_CASE("MPI: collectives") { check_behaviours(collective_behaviours(), on_mpi); }
TEST_CASE("MPI, message by message: collectives") { check_behaviours(collective_behaviours(), by_schedules); }
TEST_CASE("MPI: background and preemption") { check_behaviours(background_behaviours(), on_mpi); }
TEST_CASE("MPI: gradients and their hooks") { check_behaviours(hook_behaviours(), on_mpi); }

}  // namespace simsgd::test::measure_roles
