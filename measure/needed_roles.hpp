// What a real run cannot do for an algorithm, said before it begins.
#pragma once

namespace simsgd {

struct Job;
struct Scenario;

/// Throws ConfigError where the job asks for what a real run does not have. Every role of a worker is there.
void require_roles(const Scenario& scenario, const Job& job);

}  // namespace simsgd
