#include "tests/roles/behaviours.hpp"

#include <doctest/doctest.h>

namespace simsgd::test {

void check_behaviours(const std::vector<Behaviour>& behaviours, const Runner& run) {
  for (const Behaviour& behaviour : behaviours) {
    SUBCASE(behaviour.fact) { behaviour.check(run); }
  }
}

std::vector<double> flattened(const std::vector<Notes>& notes) {
  std::vector<double> flat;
  for (const Notes& of_rank : notes) {
    flat.push_back(static_cast<double>(of_rank.size()));
    flat.insert(flat.end(), of_rank.begin(), of_rank.end());
  }
  return flat;
}

std::vector<Notes> unflattened(const std::vector<double>& flat) {
  std::vector<Notes> notes;
  for (auto at = flat.begin(); at != flat.end();) {
    const auto end = at + 1 + static_cast<std::ptrdiff_t>(*at);
    notes.emplace_back(at + 1, end);
    at = end;
  }
  return notes;
}

void give_script(Trial& trial, std::vector<Notes>& notes) {
  notes.resize(static_cast<std::size_t>(trial.job.workers()));
  trial.job.algorithm = std::make_unique<ScriptedAlgorithm>([&notes, script = trial.script](Worker& worker) {
    script(worker, notes[static_cast<std::size_t>(worker.rank())]);
  });
}

Job plain_job() { return scripted_job(star(kBehaviourRanks, 1e-5, 1e9), nullptr, 1000); }

Job learning_job() {
  Job job = plain_job();
  add_learner(job, 4, 256);
  return job;
}

Tensor vector(Worker& worker, std::vector<float> values) {
  return worker.executor().constant({std::move(values), {}, {}});
}

void note(Worker& worker, Notes& notes, const Tensor& values) {
  if (!values) return;
  for (const float value : worker.executor().get(values).values) notes.push_back(value);
}

Message message(Tensor values, std::vector<double> numbers) {
  Message made;
  made.bytes = 1e6;
  made.traffic = Traffic::factor;
  made.values = std::move(values);
  made.numbers = std::move(numbers);
  return made;
}

std::vector<Notes> noted(const Runner& run, Job job, Script script) {
  const Outcome outcome = run({std::move(job), std::move(script)});
  CHECK(outcome.error == "");
  std::vector<Notes> notes = outcome.notes;
  notes.resize(kBehaviourRanks);
  return notes;
}

}  // namespace simsgd::test
