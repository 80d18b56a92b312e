// What a job leaves out, assumes or does not use, told before anybody reads its numbers: docs/model.md,
// "Notes".
#pragma once

#include <optional>
#include <vector>

#include "scenarios/language/reader.hpp"
#include "sim/job.hpp"
#include "sim/record.hpp"

namespace simsgd {

/// Where the time of a step is not a measurement of this very step. `measured_samples`: of the one-device
/// time that is used; 0 where there is none.
void note_device_time(const Reader& reader, const Device& device, const Workload& workload,
                      int measured_samples, std::vector<Note>& notes);

/// What of the hosts' work in communication the cluster does not know; nothing where it knows all, or where
/// there is nobody to communicate with.
std::optional<Note> note_on_host_costs(const Cluster& cluster);

/// That messages between nodes take no time but for their bytes.
std::optional<Note> note_on_latency(const Cluster& cluster);

/// What else can be told before the run: imbalance of the workload, micro-batches of less than a sample,
/// options without effect.
void note_job(const Reader& reader, Job& job);

/// What only the run tells: schedules of operations that it never performed, how late a target is known.
std::vector<Note> notes_of_run(const Json& scenario, const Job& job, const RunRecord& record);

}  // namespace simsgd
