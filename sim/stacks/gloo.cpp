// gloo: algorithms on the processor over TCP or InfiniBand, from the host's memory: what PyTorch uses where
// tensors are there, and after copies where they are the device's. All-reduces go around a ring unless
// told otherwise, broadcasts down a binomial tree, barriers by dissemination.
// Gloo, gloo/allreduce.cc (UNSPECIFIED is RING), allreduce_halving_doubling.h, broadcast.cc, barrier.cc.
#include <nlohmann/json.hpp>

#include "sim/stacks/stack.hpp"

namespace simsgd::stacks {

namespace {

struct GlooOptions {
  StackCosts costs;
  std::string algorithm = "ring";

  void fields(Fields& f) {
    f.choice("algorithm", algorithm, {"ring", "halving_doubling"}, "The algorithm of all_reduce");
    costs.fields(f);
  }
};

}  // namespace

std::vector<StackPlugin> gloo() {
  return {{{.name = "gloo",
            .summary = "on the processor, from the host's memory",
            .citation = "Gloo, github.com/facebookincubator/gloo, gloo/allreduce.cc"},
           +[](const GlooOptions& options, const StackContext&) -> Stack {
             Stack stack{.costs = options.costs};
             stack.collectives = {{"all_reduce", options.algorithm == "ring" ? "ring" : "rabenseifner"},
                                  {"all_gather", "ring"},
                                  {"broadcast", "tree"},
                                  {"barrier", "dissemination"}};
             return stack;
           }}};
}

}  // namespace simsgd::stacks
