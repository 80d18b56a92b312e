// What the roles of every machine's worker do, said once: the simulation, the fake world and MPI are held to
// it. A behaviour runs a script on some ranks of a machine and looks at what they noted.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "sim/worker.hpp"
#include "tests/support/jobs.hpp"

namespace simsgd::test {

/// What a rank noted, in order.
using Notes = std::vector<double>;
using Script = std::function<void(Worker& worker, Notes& notes)>;

/// Three ranks, not a power of two: MPI has as many.
inline constexpr int kBehaviourRanks = 3;

struct Trial {
  Job job;
  Script script;
  bool stalls = false;  ///< ranks wait for what never comes: a real machine needs little patience
};

struct Outcome {
  std::vector<Notes> notes;  ///< by rank
  std::string error;         ///< the sentence that ended the run; empty if none
};

/// Runs a trial on a machine.
using Runner = std::function<Outcome(Trial trial)>;

struct Behaviour {
  const char* fact;
  void (*check)(const Runner& run);
};
const std::vector<Behaviour>& message_behaviours();
const std::vector<Behaviour>& collective_behaviours();
const std::vector<Behaviour>& hook_behaviours();
const std::vector<Behaviour>& background_behaviours();  ///< and preemption
/// Each as a subcase.
void check_behaviours(const std::vector<Behaviour>& behaviours, const Runner& run);

// For runners.
std::vector<double> flattened(const std::vector<Notes>& notes);
std::vector<Notes> unflattened(const std::vector<double>& flat);
/// Gives the job an algorithm that runs the script; notes of rank r go to `notes[r]`.
void give_script(Trial& trial, std::vector<Notes>& notes);

// For scripts.
/// Three ranks, one step; one layer that takes no time.
Job plain_job();
/// The same with a learner: 36 parameters, 4 samples a mini-batch.
Job learning_job();
Tensor vector(Worker& worker, std::vector<float> values);
/// Appends a tensor's values; nothing behind an empty handle.
void note(Worker& worker, Notes& notes, const Tensor& values);
Message message(Tensor values, std::vector<double> numbers = {});

/// Runs it where nothing goes wrong.
std::vector<Notes> noted(const Runner& run, Job job, Script script);

}  // namespace simsgd::test
