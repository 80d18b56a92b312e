// A record of a run of two workers, small enough to check by hand.
#pragma once

#include "sim/record.hpp"
#include "tests/scenarios/support.hpp"

namespace simsgd::test {

inline RunRecord example_record() {
  const auto at = [](auto kind) { return static_cast<std::size_t>(kind); };
  WorkerRecord first;
  first.steps = 4;
  first.end_s = 3;
  first.samples = 32;
  first.activity_s = {2, 0.1, 0.01, 0.02, 0.03, 0.04, 0.4, 0.4};
  first.exposed_s[at(Traffic::gradient)] = 0.3;
  first.exposed_s[at(Traffic::model)] = 0.1;
  first.communication_s[at(Traffic::gradient)] = 0.8;
  first.communication_s[at(Traffic::model)] = 0.1;
  first.bytes_sent[at(Traffic::gradient)] = 900;
  first.bytes_sent[at(Traffic::control)] = 100;
  first.staleness_sum = 6;
  first.staleness_max = 3;
  first.staleness_count = 4;
  WorkerRecord second;
  second.steps = 2;
  second.end_s = 2.9;
  second.samples = 16;
  second.activity_s = {2, 0.1, 0, 0, 0, 0.1, 0.2, 0.5};
  second.exposed_s[at(Traffic::gradient)] = 0.2;
  second.communication_s[at(Traffic::gradient)] = 0.2;
  second.bytes_sent[at(Traffic::gradient)] = 1000;

  RunRecord record;
  record.workers = {first, second};
  record.step_times_s = {0.5, 0.6, 0.7, 0.8};
  record.series = {{1, 1, 2}, {2, 2, 1}, {3, 3, 0.5}};
  record.evaluations = {{2, 1, 0.7, 0.7, 0.02, {}}, {4, 3, 0.6, 0.8, 0.01, {}}};
  record.links = {{"nic0>", 1000, 300}, {"nic1>", 1000, 900}, {"nic2>", 1000, 900}};
  record.fidelities = {{"all_reduce by ring among 2", "closed", "dedicated and homogeneous", true, 4}};
  record.end_s = 3;
  record.events = 1234;
  record.extra["groups_formed"] = 5;
  return record;
}

}  // namespace simsgd::test
