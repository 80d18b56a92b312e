// What the profiles of a job's ranks show together: measurements, each worker's steps, the network. A file
// each, read by kineto::Events.
#pragma once

#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "traces/recorders/collective_records.hpp"
#include "traces/recorders/kineto_events.hpp"

namespace simsgd::kineto {

class Ranks {
 public:
  /// Takes the events of one file, which are all read. `timed`: whether spans are times; else they tell the
  /// network alone.
  void take(Events& events, const TraceHead& head, ImportedFile& file, bool timed = true);
  /// After the last file. A job of which nothing can be used is an error.
  void finish();

  /// The rank of a file that does not tell its own is the next one.
  int rank_of(double told) const;

 private:
  void take(Recording& recording, const TraceHead& head, int rank, bool timed, ImportedFile& file);
  void check_steps(const Recording& recording, int rank, const ImportedFile& file);
  void add_step(const StepTimes& times, std::uint64_t number, int rank, ImportedFile& file) const;
  void add_collective(Nccl& nccl, const Recording& recording, const std::vector<bool>& used, int rank,
                      ImportedFile& file);

  std::vector<ImportedFile*> files_;
  CollectiveRecords collectives_;
  std::set<int> ranks_;
  std::set<std::pair<int, std::uint64_t>> steps_seen_;
  int workers_ = 0;
  std::optional<RecordedWorkload> network_;
  ImportedFile* network_file_ = nullptr;
  int network_rank_ = 0;
};

}  // namespace simsgd::kineto
