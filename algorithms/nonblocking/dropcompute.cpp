// DropCompute: a worker's batch is cut into M micro-batches, and every worker gives to the all-reduce what it
// has finished when its own clock says that the step has taken `deadline`.
//   x <- x - eta U(sum_i G_i / (n M)), G_i the sum of the gradients of the c_i <= M finished micro-batches
// Giladi, Gottlieb, Shkolnik, Karnieli, Banner, Hoffer, Levy, Soudry, NeurIPS 2023, Algorithm 1,
// arXiv:2306.10598. It is Non-blocking SGD over an all-reduce with "trigger": "deadline", "preempt": "drop",
// "carry": false, "weighting": "sample" (nonblocking.cpp, which has what a crash does and the bytes).
#include "algorithms/nonblocking/nonblocking.hpp"

namespace simsgd::algorithms {

namespace {

struct DropComputeOptions {
  double deadline_s = 0;
  int micro_batches = 8;

  void fields(Fields& f) {
    f.time("deadline", deadline_s,
           "Micro-batches that are not finished this long after the start of a step are dropped")
        .required()
        .above(0);
    f.whole("micro_batches", micro_batches, "Micro-batches into which a worker's batch is cut")
        .at_least(1)
        .at_most(1024);
  }
};

MadeAlgorithm make_dropcompute(const DropComputeOptions& given, const AlgorithmContext& context) {
  NonblockingOptions options;
  options.trigger.rule = TriggerSettings::Rule::deadline;
  options.trigger.deadline_s = given.deadline_s;
  options.round = {.micro_batches = given.micro_batches, .weighting = Weighting::sample};
  options.drop = true;
  options.carry = false;
  return make_nonblocking(options, context);
}

}  // namespace

std::vector<AlgorithmPlugin> dropcompute() {
  return {{{.name = "dropcompute",
            .summary = "synchronous SGD that drops the micro-batches that a worker has not finished in time",
            .citation = "Giladi et al., NeurIPS 2023, arXiv:2306.10598"},
           "one all-reduce of the gradient",
           {.sends = {Traffic::gradient}},
           make_dropcompute}};
}

}  // namespace simsgd::algorithms
