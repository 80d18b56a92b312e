#include "measure/gathering.hpp"

namespace simsgd {

namespace {

// One entry of the steps' ages; the rest of a record has a fixed size.
struct Age {
  std::int32_t steps;
  std::uint64_t count;
};

// Fixed in size, so that it travels as it is.
struct Fixed {
  WorkerTotals totals;
  Histogram wait, straggle;
};

}  // namespace

std::vector<WorkerRecord> gather_records(MPI_Comm world, const WorkerRecord& own) {
  std::vector<Age> own_ages;
  for (const auto& [steps, count] : own.ages) own_ages.push_back({steps, count});
  const auto fixed = gather_at_root(world, std::vector<Fixed>{{own, own.step_wait, own.step_straggle}});
  const auto ages = gather_at_root(world, own_ages);
  std::vector<WorkerRecord> records;
  for (std::size_t rank = 0; rank < fixed.size(); ++rank) {
    const Fixed& theirs = fixed[rank].front();
    WorkerRecord& record = records.emplace_back();
    static_cast<WorkerTotals&>(record) = theirs.totals;
    record.step_wait = theirs.wait;
    record.step_straggle = theirs.straggle;
    for (const Age& age : ages[rank]) record.ages[age.steps] = age.count;
  }
  return records;
}

}  // namespace simsgd
