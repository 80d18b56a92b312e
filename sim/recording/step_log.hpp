// Every step of every worker, one row each: when it began, when its gradient was there, when what it
// exchanged began, went and ended, and where its time went. The same for simulated and real runs, so that
// they can be laid side by side. Bounded: the first kMostSteps rows.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "sim/observer.hpp"
#include "sim/record.hpp"
#include "sim/recording/ledger.hpp"

namespace simsgd {

/// Seconds on the run's clock; NaN where there is none. Plain data.
struct StepRow {
  std::int32_t worker = 0;
  std::uint64_t step = 0;
  double begin_s = 0, end_s = 0;
  double computed_s = 0;         ///< end of its last backward pass
  double operation_begin_s = 0;  ///< the first operation (collective or message) that it began in this step
  double operation_went_s = 0;   ///< all that its last operation depends on had come
  double operation_end_s = 0;    ///< of that
  std::array<double, kActivities> activity_s{};
  double staleness = 0;  ///< mean of what was noted during the step
  double bytes_sent = 0;
};

class StepLog final : public Observer {
 public:
  static constexpr std::size_t kMostSteps = std::size_t{1} << 20;

  /// Of ranks `first`, `first` + 1, ...
  StepLog(int first, int count);

  const std::vector<StepRow>& rows() const { return rows_; }
  bool full() const { return rows_.size() >= kMostSteps; }

  void booked(int rank, Activity activity, double seconds) override;
  void waited(int rank, std::int32_t channel, double from_s, double to_s) override;
  void slowed(int rank, Traffic traffic, double seconds) override;
  void span(int rank, const char* name, double from_s, double to_s) override;
  void operation(int rank, std::int32_t channel, const OperationSpan& span) override;
  void sent(int rank, Traffic traffic, double bytes) override;
  void step_began(int rank, std::uint64_t step, double now_s) override;
  void step_ended(const StepEnd& end) override;
  void staleness(int rank, double steps) override;

 private:
  struct Open {
    StepRow row;
    std::array<double, kActivities> before_s{};  // of the ledger, when the step began
    double staleness_sum = 0;
    std::uint64_t staleness_count = 0;
  };
  Open& of(int rank) { return open_[static_cast<std::size_t>(rank - first_)]; }

  int first_;
  LedgerBook ledgers_;  // tells waiting from communication
  std::vector<Open> open_;
  std::vector<StepRow> rows_;
};

}  // namespace simsgd
