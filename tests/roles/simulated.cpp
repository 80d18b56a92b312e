// The simulated worker is held to what every worker does, whatever its collectives' fidelity.
#include <doctest/doctest.h>

#include "tests/roles/behaviours.hpp"
#include "tests/support/refusal.hpp"

namespace simsgd::test::roles_simulated {

namespace {

Runner simulated(Fidelity fidelity) {
  return [fidelity](Trial trial) {
    trial.job.network.fidelity = fidelity;
    std::vector<Notes> notes;
    give_script(trial, notes);
    const std::string error = refusal_of<std::exception>([&] { simulate_job(trial.job); });
    return Outcome{error.empty() ? notes : std::vector<Notes>(), error};
  };
}

void check_simulated(const std::vector<Behaviour>& behaviours) {
  for (const Fidelity fidelity : {Fidelity::automatic, Fidelity::messages}) {
    SUBCASE(fidelity_name(fidelity).c_str()) { check_behaviours(behaviours, simulated(fidelity)); }
  }
}

}  // namespace

TEST_CASE("the simulation: messages") { check_simulated(message_behaviours()); }
TEST_CASE("the simulation: collectives") { check_simulated(collective_behaviours()); }
TEST_CASE("the simulation: gradients and their hooks") { check_simulated(hook_behaviours()); }
TEST_CASE("the simulation: background and preemption") { check_simulated(background_behaviours()); }

}  // namespace simsgd::test::roles_simulated
