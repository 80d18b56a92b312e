// horovod: every tensor is handed over as soon as it is ready; a background thread wakes once per cycle, asks
// which tensors all workers have, and sends those through one buffer, up to a threshold. So a tensor that its
// last worker has at t travels from ceil(t / cycle) cycle + agreement on, or when the ones before it are
// through, and costs the copies of all that travel with it.
// Sergeev, Del Balso, arXiv:1802.05799, section 4; Horovod's documentation, "Tensor Fusion", and
// CHANGELOG.md: HOROVOD_CYCLE_TIME, HOROVOD_FUSION_THRESHOLD (5 ms and 64 MiB up to 0.20, 1 ms and 128 MiB
// since 0.21, #2468).
#include "sim/stacks/stack.hpp"

namespace simsgd::stacks {

namespace {

struct HorovodOptions {
  StackCosts costs;
  double cycle_s = 5e-3;
  double fusion_bytes = 64.0 * 1024 * 1024;
  double agreement_s = 0;

  void fields(Fields& f) {
    f.time(
        "cycle", cycle_s,
        "HOROVOD_CYCLE_TIME: time from one look at what is ready to the next; 0: without delay. The default is that of Horovod up to 0.20; since 0.21 it is 1 ms");
    f.bytes(
        "fusion", fusion_bytes,
        "All-reduces of one cycle travel together in buffers of up to this size (HOROVOD_FUSION_THRESHOLD); 0: each by itself. The default is that of Horovod up to 0.20; since 0.21 it is 128 MiB");
    f.time(
        "agreement", agreement_s,
        "Time in which workers agree, from the tick until the first operation begins: requests are gathered at rank 0, and responses sent back");
    costs.fields(f);
  }
};

}  // namespace

std::vector<StackPlugin> horovod() {
  return {{{.name = "horovod",
            .summary = "tensor by tensor, agreed on and fused once per cycle",
            .citation = "Sergeev, Del Balso, arXiv:1802.05799"},
           +[](const HorovodOptions& options, const StackContext&) -> Stack {
             Stack stack{.costs = options.costs};
             stack.handover.gradients = Handover::Gradients::tensor_by_tensor;
             stack.handover.negotiation = {.cycle_s = options.cycle_s,
                                           .agreement_s = options.agreement_s,
                                           .fusion_bytes = options.fusion_bytes};
             return stack;
           }}};
}

}  // namespace simsgd::stacks
