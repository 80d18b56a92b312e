// mpi: MPI_Allreduce, or MPI_Iallreduce, called by the training program itself: tensor by tensor or once for
// the whole gradient, after the backward pass or beside it, from the host's memory or the device's.
// Decisions by size and number of ranks: Open MPI 4.1, mpi_decisions.hpp.
#include <nlohmann/json.hpp>

#include "sim/stacks/mpi_decisions.hpp"
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

}  // namespace simsgd::stacks
