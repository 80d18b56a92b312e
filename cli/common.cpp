#include <sched.h>

#include <algorithm>
#include <csignal>

#include <CLI/CLI.hpp>

#include "cli/verbs.hpp"

namespace simsgd {

namespace {
volatile std::sig_atomic_t signal_seen = 0;
}

void OverrideOptions::add_to(CLI::App& verb) {
  verb.add_option("--set", set,
                  "Set a value of the scenario: /pointer=value; the value is JSON where it parses")
      ->type_name("/POINTER=VALUE")
      ->allow_extra_args(false);
  seed_option = verb.add_option("--seed", seed, "Seed of all random numbers, instead of the scenario's");
}

Overrides OverrideOptions::overrides() const {
  Overrides result;
  for (const std::string& argument : set) result.set.push_back(parse_set(argument));
  if (seed_option && seed_option->count() > 0) result.seed = seed;
  return result;
}

int available_threads() {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return 1;
  return std::max(1, CPU_COUNT(&allowed));
}

void catch_interrupts() {
  struct sigaction action = {};
  action.sa_handler = [](int) { signal_seen = 1; };
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

bool interrupted() { return signal_seen != 0; }

}  // namespace simsgd
