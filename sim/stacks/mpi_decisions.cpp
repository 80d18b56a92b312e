#include "sim/stacks/mpi_decisions.hpp"

#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace simsgd::stacks {

namespace {

constexpr double kAnySize = std::numeric_limits<double>::infinity();
constexpr int kManyRanks = 4096;  // where the number is not known
constexpr int kAnyNumber = std::numeric_limits<int>::max();

/// Smaller sizes than `below_bytes` by this schedule.
struct MpiSize {
  double below_bytes;
  const char* schedule;
};

/// Of communicators of fewer ranks than `below_ranks`.
struct MpiRanks {
  int below_ranks;
  std::vector<MpiSize> sizes;
};
using MpiTable = std::vector<MpiRanks>;

/// Which size a decision looks at: of the whole vector, or of the part that one rank contributes.
enum class MpiMeasure : std::uint8_t { whole, part };

constexpr const char* kDoubling = "recursive_doubling";
constexpr const char* kHalving = "recursive_halving";
constexpr const char* kScattered = "scatter_all_gather";

/// Entries for all communicators of at most `workers` ranks; 0: of any number.
class MpiPolicy {
 public:
  MpiPolicy(MpiMeasure measure, int workers)
      : up_to_(measure == MpiMeasure::whole ? "up_to" : "up_to_part"), workers_(workers) {}

  Json of(const MpiTable& table) {
    const int most = workers_ > 0 ? workers_ : kManyRanks;
    int from = 1;
    for (const MpiRanks& ranks : table) {
      if (from > most && workers_ > 0) break;
      // recursive_halving is for powers of two: those of the range first, all others around rings.
      for (int power = 2; power < ranks.below_ranks && power <= most; power *= 2)
        if (power >= from && halves(ranks)) add(ranks, {{"workers", power}}, false);
      Json range = Json::object();
      if (ranks.below_ranks != kAnyNumber) range["up_to_workers"] = ranks.below_ranks - 1;
      add(ranks, range, true);
      from = ranks.below_ranks;
    }
    return std::move(policy_);
  }

 private:
  static bool halves(const MpiRanks& ranks) {
    for (const MpiSize& size : ranks.sizes)
      if (size.schedule == std::string(kHalving)) return true;
    return false;
  }

  void add(const MpiRanks& ranks, const Json& among, bool any_number) {
    for (auto size = ranks.sizes.begin(); size != ranks.sizes.end(); ++size) {
      const auto schedule_of = [&](const MpiSize& each) {
        return any_number && each.schedule == std::string(kHalving) ? std::string("ring") : each.schedule;
      };
      if (size + 1 != ranks.sizes.end() && schedule_of(size[0]) == schedule_of(size[1])) continue;
      Json entry = among;
      entry["schedule"] = schedule_of(*size);
      if (size->below_bytes != kAnySize) entry[up_to_] = size->below_bytes - 1;
      policy_.push_back(std::move(entry));
    }
  }

  const char* up_to_;
  int workers_;
  Json policy_ = Json::array();
};

// Schedules of ours in place of Open MPI's: see mpi_decisions.hpp.
MpiTable all_reduce_table() {
  return {
      {4,
       {{4096, kDoubling}, {8192, "ring"}, {16384, kDoubling}, {262144, "ring"}, {kAnySize, "rabenseifner"}}},
      {16, {{8192, kDoubling}, {kAnySize, "rabenseifner"}}},
      {32, {{4096, kDoubling}, {kAnySize, "rabenseifner"}}},
      {64, {{128, kDoubling}, {kAnySize, "rabenseifner"}}},
      {128, {{262144, kDoubling}, {kAnySize, "rabenseifner"}}},
      {256, {{131072, "tree"}, {262144, kDoubling}, {kAnySize, "rabenseifner"}}},
      {512, {{4096, "tree"}, {kAnySize, "rabenseifner"}}},
      {4096, {{2048, "tree"}, {16384, kDoubling}, {kAnySize, "rabenseifner"}}},
      {kAnyNumber, {{2048, "tree"}, {32768, kDoubling}, {kAnySize, "rabenseifner"}}}};
}

MpiTable broadcast_table() {
  return {{16, {{kAnySize, "tree"}}},
          {32, {{1048576, "tree"}, {kAnySize, kScattered}}},
          {1024, {{kAnySize, "tree"}}},
          {2048, {{524288, "tree"}, {kAnySize, kScattered}}},
          {kAnyNumber, {{262144, "tree"}, {kAnySize, kScattered}}}};
}

MpiTable all_gather_table() {
  return {{32, {{kAnySize, "bruck"}}},
          {64, {{1024, "bruck"}, {kAnySize, "ring"}}},
          {256, {{512, "bruck"}, {kAnySize, "ring"}}},
          {512, {{1024, "bruck"}, {kAnySize, "ring"}}},
          {1024, {{2048, "bruck"}, {kAnySize, "ring"}}},
          {kAnyNumber, {{4096, "bruck"}, {kAnySize, "ring"}}}};
}

MpiTable reduce_scatter_table() {
  return {{4, {{65536, "ring"}, {131072, kHalving}, {kAnySize, "ring"}}},
          {32, {{262144, kHalving}, {kAnySize, "ring"}}},
          {64, {{524288, kHalving}, {kAnySize, "ring"}}},
          {kAnyNumber, {{kAnySize, kHalving}}}};
}

MpiTable immediate_all_reduce_table() {
  return {{4, {{kAnySize, "tree"}}}, {kAnyNumber, {{65536, "tree"}, {kAnySize, "rabenseifner"}}}};
}

MpiTable immediate_broadcast_table() {
  return {{5, {{kAnySize, "tree"}}}, {kAnyNumber, {{65536, "tree"}, {kAnySize, kScattered}}}};
}

}  // namespace

MpiPolicies tuned_decisions(int workers) {
  return {{"all_reduce", MpiPolicy(MpiMeasure::whole, workers).of(all_reduce_table())},
          {"broadcast", MpiPolicy(MpiMeasure::whole, workers).of(broadcast_table())},
          {"all_gather", MpiPolicy(MpiMeasure::part, workers).of(all_gather_table())},
          {"reduce_scatter", MpiPolicy(MpiMeasure::whole, workers).of(reduce_scatter_table())},
          {"barrier", "dissemination"}};
}

MpiPolicies libnbc_decisions(int workers) {
  return {{"all_reduce", MpiPolicy(MpiMeasure::whole, workers).of(immediate_all_reduce_table())},
          {"broadcast", MpiPolicy(MpiMeasure::whole, workers).of(immediate_broadcast_table())},
          {"all_gather", "bruck"},
          {"reduce_scatter", "ring"},
          {"barrier", "dissemination"}};
}

}  // namespace simsgd::stacks
