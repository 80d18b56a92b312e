// mpi: MPI_Allreduce, or MPI_Iallreduce, called by the training program itself: tensor by tensor or once for
// the whole gradient, after the backward pass or beside it, from the host's memory or the device's.
// Decisions by size: Open MPI, coll_tuned_decision_fixed.c (4.0 and before, which later versions fall back
// to in kind): all-reduces below 10,000 bytes by recursive doubling, larger ones around a ring; broadcasts
// below 2,048 bytes by a binomial tree, larger ones here by scatter and all-gather in place of Open MPI's
// pipelines; all-gathers below 50,000 bytes in all by Bruck's algorithm, larger ones around a ring.
#include <nlohmann/json.hpp>

#include "sim/stacks/stack.hpp"

namespace simsgd::stacks {

namespace {

enum class MpiDecisions : std::uint8_t { tuned, cluster };

struct MpiOptions {
  StackCosts costs;
  Handover::Gradients gradients = Handover::Gradients::as_asked;
  bool blocking = false;
  MpiDecisions decisions = MpiDecisions::tuned;

  void fields(Fields& f) {
    f.choice("gradients", gradients,
             {{"as_asked", Handover::Gradients::as_asked},
              {"per_tensor", Handover::Gradients::tensor_by_tensor},
              {"fused", Handover::Gradients::all_at_once}},
             "How they are handed over where the algorithm's \"fusion\" is not given: as its own default has "
             "it, tensor by tensor, or all in one vector");
    f.choice("calls", blocking, {{"immediate", false}, {"blocking", true}},
             "immediate: an operation travels while the worker computes on; blocking: it begins when the "
             "worker waits or has computed its gradient");
    f.choice(
        "decisions", decisions, {{"tuned", MpiDecisions::tuned}, {"cluster", MpiDecisions::cluster}},
        "Which algorithm does an operation of a size: those of Open MPI's component \"tuned\", or as the "
        "cluster's \"collectives\" say");
    costs.fields(f);
  }
};

std::vector<std::pair<std::string, Json>> tuned_decisions() {
  const auto below = [](double bytes, const char* small, const char* large) {
    return Json::array({{{"up_to", bytes}, {"schedule", small}}, {{"schedule", large}}});
  };
  return {{"all_reduce", below(9999, "recursive_doubling", "ring")},
          {"broadcast", below(2047, "tree", "scatter_all_gather")},
          {"all_gather", below(49999, "bruck", "ring")}};
}

}  // namespace

std::vector<StackPlugin> mpi() {
  return {{{.name = "mpi",
            .summary = "called by the program itself: per tensor or fused, blocking or overlapped",
            .citation = "MPI Forum, MPI 3.1, 2015, sections 5.9 and 5.12; Open MPI 4.0, coll/tuned"},
           +[](const MpiOptions& options, const StackContext&) -> Stack {
             Stack stack{.costs = options.costs};
             stack.handover.gradients = options.gradients;
             stack.handover.blocking = options.blocking;
             if (options.decisions == MpiDecisions::tuned) stack.collectives = tuned_decisions();
             return stack;
           }}};
}

}  // namespace simsgd::stacks
