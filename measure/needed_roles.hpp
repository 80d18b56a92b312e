// What an algorithm needs of its machine, asked for before a real run begins.
#pragma once

namespace simsgd {

struct Job;
struct Scenario;

/// Throws ConfigError where the algorithm needs a role that a real run does not have.
void require_roles(const Scenario& scenario, const Job& job);

}  // namespace simsgd
