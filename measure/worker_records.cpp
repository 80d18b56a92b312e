#include "measure/worker_records.hpp"

#include <limits>

#include "measure/gathering.hpp"

namespace simsgd {

namespace {

// One entry of one of a record's histograms.
struct Bin {
  enum class Of : std::int32_t { wait, straggle, age } of;
  std::int32_t place;
  std::uint64_t count;
};
constexpr std::int32_t kZero = std::numeric_limits<std::int32_t>::min();

std::vector<Bin> bins_of(const WorkerRecord& record) {
  std::vector<Bin> bins;
  const auto add = [&](Bin::Of of, const Histogram& histogram) {
    bins.push_back({of, kZero, histogram.zero});
    for (const auto& [place, count] : histogram.bins) bins.push_back({of, place, count});
  };
  add(Bin::Of::wait, record.step_wait);
  add(Bin::Of::straggle, record.step_straggle);
  for (const auto& [steps, count] : record.ages) bins.push_back({Bin::Of::age, steps, count});
  return bins;
}

void put(WorkerRecord& record, const Bin& bin) {
  if (bin.of == Bin::Of::age) {
    record.ages[bin.place] = bin.count;
    return;
  }
  Histogram& histogram = bin.of == Bin::Of::wait ? record.step_wait : record.step_straggle;
  (bin.place == kZero ? histogram.zero : histogram.bins[bin.place]) = bin.count;
}

}  // namespace

std::vector<WorkerRecord> gather_records(MPI_Comm world, const WorkerRecord& own) {
  const std::vector<std::vector<WorkerTotals>> totals = gather_at_root(world, std::vector<WorkerTotals>{own});
  const std::vector<std::vector<Bin>> bins = gather_at_root(world, bins_of(own));
  std::vector<WorkerRecord> records;
  for (std::size_t rank = 0; rank < totals.size(); ++rank) {
    WorkerRecord& record = records.emplace_back();
    static_cast<WorkerTotals&>(record) = totals[rank].front();
    for (const Bin& bin : bins[rank]) put(record, bin);
  }
  return records;
}

}  // namespace simsgd
