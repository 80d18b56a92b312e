#include "measure/gathering.hpp"

namespace simsgd {

namespace {

// One entry of the steps' ages; the rest of a record has a fixed size.
struct Age {
  std::int32_t steps;
  std::uint64_t count;
};

std::vector<Histogram> gather_histograms(MPI_Comm world, const Histogram& own) {
  std::vector<std::uint64_t> numbers{own.zero, static_cast<std::uint64_t>(own.first - Histogram::kFirst)};
  numbers.insert(numbers.end(), own.counts.begin(), own.counts.end());
  std::vector<Histogram> all;
  for (const std::vector<std::uint64_t>& theirs : gather_at_root(world, numbers))
    all.push_back({theirs[0],
                   Histogram::kFirst + static_cast<std::int32_t>(theirs[1]),
                   {theirs.begin() + 2, theirs.end()}});
  return all;
}

}  // namespace

std::vector<WorkerRecord> gather_records(MPI_Comm world, const WorkerRecord& own) {
  std::vector<Age> own_ages;
  for (const auto& [steps, count] : own.ages) own_ages.push_back({steps, count});
  const auto totals = gather_at_root(world, std::vector<WorkerTotals>{own});
  const std::vector<Histogram> wait = gather_histograms(world, own.step_wait),
                               straggle = gather_histograms(world, own.step_straggle);
  const auto ages = gather_at_root(world, own_ages);
  std::vector<WorkerRecord> records;
  for (std::size_t rank = 0; rank < totals.size(); ++rank) {
    WorkerRecord& record = records.emplace_back();
    static_cast<WorkerTotals&>(record) = totals[rank].front();
    record.step_wait = wait[rank];
    record.step_straggle = straggle[rank];
    for (const Age& age : ages[rank]) record.ages[age.steps] = age.count;
  }
  return records;
}

}  // namespace simsgd
