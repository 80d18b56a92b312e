// Campaigns of micro-benchmarks: every point once in each, in an order drawn anew, apart in time. What drifts
// from minute to minute then shows between campaigns, and is not taken for a property of a size.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "measure/machine.hpp"
#include "measure/waiting.hpp"
#include "sim/job.hpp"

namespace simsgd {

/// What was measured, apart from when: a cell for each column of its benchmark.
struct BenchPoint {
  std::string operation, schedule;  ///< empty of kernels
  int workers = 1, nodes = 1;
  double bytes = 0;                 ///< as CollectiveOptions::bytes; 0 and not written where there are none
  std::vector<std::string> labels;  ///< in the order of the table's
};

struct Campaign {
  int number = 1;  ///< from 1
  double begun_unix_s = 0;
  double load = 0;
};

/// The text of the table, RFC 4180.
class SampleTable {
 public:
  SampleTable(std::string benchmark, const BenchMachine& machine, const std::vector<std::string>& labels);
  void add(const Campaign& campaign, const BenchPoint& point, const std::vector<double>& times_s);
  const std::string& text() const { return text_; }

 private:
  std::string benchmark_;
  int cores_;
  double ranks_per_core_;
  std::size_t labels_;
  std::string text_;
};

struct SampleColumn {
  const char *name, *unit, *definition;
};
/// All but the labels'.
const std::vector<SampleColumn>& sample_columns();

struct BenchOptions {
  std::string output = "-", scenario;
  int campaigns = 1;
  double apart_s = 10;
  std::uint64_t seed = 1;
  int samples = 20;    ///< of a point in a campaign, at most
  double point_s = 1;  ///< a point stops after about so long, with 3 samples at least
  double min_bytes = 0, max_bytes = 0;
  std::vector<std::string> operations, schedules;  ///< empty: all
  bool all_pairs = false;
  bool at_once = false;  ///< also several pairs at the same time
};

/// So many samples of something that takes `once_s`.
int samples_for(const BenchOptions& options, double once_s);

/// From `options.min_bytes` to `max_bytes`: 2^k and, with `between`, 1.5 x 2^k where that is whole.
std::vector<double> sizes_of(const BenchOptions& options, bool between);

/// 0 to n - 1 in the order of a campaign: a function of seed and campaign alone.
std::vector<std::size_t> random_order(std::size_t n, std::uint64_t seed, int campaign);

struct Bench {
  const BenchOptions& options;
  const BenchMachine& machine;
  MPI_Comm world;
  Waiting& waiting;
};

/// Collective: calls `measure` for every point in every campaign, on all ranks alike. Rank 0 says on standard
/// error which campaign it is, and what to doubt.
void run_campaigns(const Bench& bench, std::size_t points,
                   const std::function<void(const Campaign&, std::size_t point)>& measure);

/// All have come. Sleeps meanwhile.
void quiet_barrier(MPI_Comm comm);

/// Times of operations that the ranks of a communicator do together.
class Together {
 public:
  Together(const Bench& bench, MPI_Comm comm);

  /// From the common start until the last rank is done, on rank 0 of the communicator; elsewhere nothing.
  /// Where all read one clock the start is an instant that they agree on, else the end of a barrier.
  std::vector<double> times(const std::function<void()>& operation);
  MPI_Comm comm() const { return comm_; }

 private:
  double agree(double own) const;  ///< the largest of all ranks'
  double start() const;
  double once(const std::function<void()>& operation) const;

  const Bench& bench_;
  MPI_Comm comm_;
  int rank_ = 0, size_ = 1;
};

/// Messages between two ranks: there and back, and both ways at once. With `all_pairs` of every two,
/// with `at_once` also of 1, 2, ... pairs at the same time.
SampleTable measure_network(const Bench& bench);

/// Every schedule that the simulation has, message by message, and MPI's own, among the first P ranks for
/// every P from 2.
SampleTable measure_collectives(const Bench& bench);
/// Throws ConfigError for operations and schedules that there are not.
void check_collective_names(const BenchOptions& options);

/// What real runs compute with, on every rank at once; with a job its model's layers too.
SampleTable measure_compute(const Bench& bench, const Job* job);

}  // namespace simsgd
