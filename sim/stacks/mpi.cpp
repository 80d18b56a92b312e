// mpi: MPI_Allreduce, or MPI_Iallreduce, called by the training program itself: tensor by tensor or once for
// the whole gradient, after the backward pass or beside it, from the host's memory or the device's.
// Decisions by size and number of ranks: Open MPI 4.1, mpi_decisions.hpp.
#include "sim/stacks/mpi.hpp"

#include <limits>
#include <nlohmann/json.hpp>

#include "sim/stacks/stack.hpp"

namespace simsgd::stacks {

namespace {

enum class MpiDecisions : std::uint8_t { by_calls, tuned, libnbc, cluster };

struct MpiOptions {
  StackCosts costs;
  Handover::Gradients gradients = Handover::Gradients::as_asked;
  bool blocking = false;
  MpiDecisions decisions = MpiDecisions::by_calls;

  void fields(Fields& f) {
    f.choice(
        "gradients", gradients,
        {{"as_asked", Handover::Gradients::as_asked},
         {"per_tensor", Handover::Gradients::tensor_by_tensor},
         {"fused", Handover::Gradients::all_at_once}},
        "How gradients are handed over where the algorithm's \"fusion\" is not given: by the algorithm's own default, tensor by tensor, or all in one vector");
    f.choice(
        "calls", blocking, {{"immediate", false}, {"blocking", true}},
        "An immediate operation travels while the worker computes on; a blocking one begins when the worker waits or has computed its gradient");
    f.choice(
        "decisions", decisions,
        {{"open_mpi", MpiDecisions::by_calls},
         {"tuned", MpiDecisions::tuned},
         {"libnbc", MpiDecisions::libnbc},
         {"cluster", MpiDecisions::cluster}},
        "Which algorithm serves an operation of a given size: those of Open MPI 4.1 for such calls (\"tuned\" of blocking ones, \"libnbc\" of immediate ones), those of one of its two components, or as the cluster's \"collectives\" say");
    costs.fields(f);
  }
};

MpiPolicies decisions_of(const MpiOptions& options, int workers) {
  switch (options.decisions) {
    case MpiDecisions::tuned:
      return tuned_decisions(workers);
    case MpiDecisions::libnbc:
      return libnbc_decisions(workers);
    case MpiDecisions::cluster:
      return {};
    default:
      return options.blocking ? tuned_decisions(workers) : libnbc_decisions(workers);
  }
}

}  // namespace

std::vector<StackPlugin> mpi() {
  return {
      {{.name = "mpi",
        .summary = "called by the program itself: per tensor or fused, blocking or overlapped",
        .citation =
            "MPI Forum, MPI 3.1, 2015, sections 5.9 and 5.12; Open MPI 4.1.4, coll/tuned and coll/libnbc"},
       +[](const MpiOptions& options, const StackContext& cluster) -> Stack {
         Stack stack{.costs = options.costs};
         stack.handover.gradients = options.gradients;
         stack.handover.blocking = options.blocking;
         stack.collectives = decisions_of(options, cluster.workers);
         return stack;
       }}};
}

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
