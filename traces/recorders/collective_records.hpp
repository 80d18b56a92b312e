// Collective operations of a job, as each of its ranks recorded them. A rank's time includes waiting for the
// others, so that the last starter's, the smallest, is nearest the transfer: it becomes the measurement. The
// ranks' clocks need not agree: only durations are compared, and ends, once each clock is aligned on them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "traces/imported_file.hpp"

namespace simsgd {

/// The files of a job whose ranks write one each: which ranks there are, and whether any file tells
/// something.
struct RankFiles {
  std::vector<ImportedFile*> files;
  std::set<int> ranks;
  int workers = 0;  ///< of the job; 0: not told

  /// Another rank's file may have all rows.
  void add(ImportedFile& file) {
    file.need_no_row();
    files.push_back(&file);
  }
  /// The least rank from `rank` on that has no file yet.
  int free_rank(int rank = 0) const {
    while (rank < 0 || ranks.contains(rank)) ++rank;
    return rank;
  }
  /// After the last file. A job of which nothing can be used is an error.
  void finish() const;
};

/// One rank's record of one operation.
struct CollectiveRecord {
  ImportedFile* file = nullptr;
  int rank = 0;
  std::string group;            ///< of processes: its name, and its ranks where they are told
  int group_size = 0;           ///< 0: not told
  double sequence = kNotGiven;  ///< the number of the operation in its group
  std::uint64_t step = 0;  ///< where there is no `sequence`: operations of a step are told by their order
  bool in_step = false;
  std::string operation, type, algorithm, protocol;
  double bytes = kNotGiven;  ///< the whole array
  double time_s = 0;
  double end_s = 0;       ///< by the rank's clock
  bool exact_end = true;  ///< whether ends of ranks can be compared
};

class CollectiveRecords {
 public:
  /// In the order in which each rank began them.
  void add(CollectiveRecord record);
  /// One measurement per operation, in the file of the last starter; what does not fit together is counted.
  void finish();
  bool empty() const { return operations_.empty(); }

 private:
  struct Operation {
    CollectiveRecord best;
    std::vector<std::pair<int, double>> ends_s;  // by rank, exact ones
    double longest_s = 0;
    std::size_t records = 0;
    bool contradictory = false;
  };
  using Key = std::tuple<std::string, double, std::uint64_t, std::uint64_t>;  // group, sequence, step, place

  using Offsets = std::map<std::pair<int, int>, double>;  // by an operation's first rank, and another

  Offsets clock_offsets() const;
  static bool ends_agree(const Operation& operation, const Offsets& offsets_s);
  static void measure(CollectiveRecord record, std::size_t ranks);

  std::map<Key, Operation> operations_;
  std::map<std::tuple<int, std::string, double, std::uint64_t>, std::uint64_t> places_;  // by rank
};

/// Where the periods of `what` begin, in order: with the operation before which the pause is longest, on
/// average; `at_s` are the operations' instants. Empty where less than half of the list, or less than two
/// periods, repeat up to its end, and where all operations are alike, of which nobody can tell how many make
/// a step.
std::vector<std::size_t> beginnings_of_periods(const std::vector<std::string>& what,
                                               const std::vector<double>& at_s);

}  // namespace simsgd
