// The fake world is held to what every worker does.
#include <doctest/doctest.h>

#include "tests/roles/behaviours.hpp"
#include "tests/support/fake_world.hpp"
#include "tests/support/refusal.hpp"

namespace simsgd::test::roles_worlds {

namespace {
Outcome on_fake(Trial trial) {
  Outcome outcome;
  give_script(trial, outcome.notes);
  try {
    run_fake(trial.job);
  } catch (const std::exception& error) {
    outcome.error = error.what();
  }
  return outcome;
}
}  // namespace

TEST_CASE("the fake world: messages") { check_behaviours(message_behaviours(), on_fake); }
TEST_CASE("the fake world: collectives") { check_behaviours(collective_behaviours(), on_fake); }
TEST_CASE("the fake world: gradients and their hooks") { check_behaviours(hook_behaviours(), on_fake); }
TEST_CASE("the fake world: background and preemption") { check_behaviours(background_behaviours(), on_fake); }

TEST_CASE("ranks of the fake world that wait for ever are named, with what they wait for") {
  const Outcome outcome = on_fake({plain_job(), [](Worker& worker, Notes&) {
                                     worker.next_step();
                                     if (worker.rank() == 2) worker.messages().receive(0, 7);
                                     worker.collectives().run(Barrier());
                                   }});
  CHECK(
      outcome.error ==
      "Nothing is left to happen, and these ranks wait for ever: 0 (step 1) for barrier among 3, 1 (step 1) for barrier among 3, 2 (step 1) for a message from rank 0 (tag 7). The algorithm's ranks do not agree on what they exchange.");
}

// The simulated worker is held to what every worker does, whatever its collectives' fidelity.

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

}  // namespace simsgd::test::roles_worlds
