// Our own timelines, read back; and what kernels, collectives and types are called.
#include <doctest/doctest.h>

#include "sim/roles/collectives.hpp"
#include "tests/traces/imports.hpp"
#include "traces/chrome_trace.hpp"
#include "traces/names.hpp"

namespace simsgd::test::traces_own_timeline {

using namespace traces;

TEST_CASE("our own timeline is read back, of one rank and of all") {
  const Tensor model;
  const std::vector<int> members = {0, 1, 2};
  const std::vector<double> arrival_s = {0, 0, 0};
  const std::string ring = "ring";
  CollectiveOptions options;
  options.bytes = 4000;
  Timeline timeline({.most_events = 10000, .workers = 3, .device_name = "V100", .title = "t"});
  for (int rank = 0; rank < 3; ++rank)
    for (std::uint64_t step = 1; step <= 4; ++step) {
      const double begin_s = 0.01 * static_cast<double>(step - 1);
      timeline.span(rank, "forward and backward", begin_s, begin_s + 0.001 * (rank + 1));
      timeline.collective({.rank = rank,
                           .options = options,
                           .schedule = ring,
                           .span = {.start_s = begin_s + 0.001 * (rank + 1),
                                    .go_s = begin_s + 0.003,
                                    .end_s = begin_s + 0.008},
                           .sequence = step,
                           .members = members,
                           .arrival_s = arrival_s});
      timeline.step_ended(
          {.rank = rank, .step = step, .begin_s = begin_s, .end_s = begin_s + 0.01, .model = model});
    }
  std::string all_ranks, second;
  write_chrome_trace(timeline, kAllRanks, [&](const std::string& piece) { all_ranks += piece; });
  write_chrome_trace(timeline, 1, [&](const std::string& piece) { second += piece; });
  const Imported all = import_text("timeline.json", all_ranks, {});
  REQUIRE(all.steps.size() == 12);  // no warm-up in a simulation
  for (const RecordedStep& step : all.steps)
    CHECK(step.compute_s == doctest::Approx(0.001 * (step.worker + 1)));
  const auto reduced = rows_of(all, "time_s");
  REQUIRE(reduced.size() == 4);  // one per step, of the rank that came last
  for (const Measurement& row : reduced) {
    CHECK(row.value == doctest::Approx(0.005));
    CHECK(row.bytes == 4000);
    CHECK(row.workers == 3);
  }
  const Imported one = import_text("rank1.json", second, {});
  REQUIRE(one.steps.size() == 4);
  CHECK(one.steps[3].worker == 1);
  CHECK(rows_of(one, "step_s").at(2).value == doctest::Approx(0.01));
}

TEST_CASE("names of kernels, collectives and types, of all versions") {
  const auto parts = [](const char* name) {
    const NcclKernelName known = nccl_kernel_name(name).value();
    return known.operation + "/" + known.algorithm + "/" + known.protocol;
  };
  CHECK(parts("ncclKernel_AllReduce_RING_LL_Sum_float(ncclDevComm*, unsigned long, ncclWork*)") ==
        "all_reduce/RING/LL");
  CHECK(parts("ncclDevKernel_ReduceScatter_Sum_bf16_NVLS_TREE_SIMPLE(x)") ==
        "reduce_scatter/NVLS_TREE/SIMPLE");
  CHECK(parts("ncclDevKernel_AllGather_RING_LL(x)") == "all_gather/RING/LL");
  CHECK(parts("ncclAllReduceTreeLLKernel_sum_f32(ncclColl)") == "all_reduce/TREE/LL");
  CHECK(parts("ncclAllGatherRingKernel_copy_i8(ncclColl)") == "all_gather/RING/SIMPLE");
  CHECK(parts("ncclDevKernel_SendRecv(x)") == "send_receive//");
  CHECK(parts("ncclDevKernel_Generic_4(x)") == "//");
  CHECK_FALSE(nccl_kernel_name("void ncclish()"));
  CHECK(torch_operation("reduce_scatter_tensor_coalesced") == "reduce_scatter");
  CHECK(torch_operation("nccl:_all_gather_base") == "all_gather");
  CHECK(torch_operation("all_to_allv") == "all_to_all");
  CHECK(torch_operation("nccl:recv 0<-1") == "send_receive");
  CHECK(type_bytes("c10::BFloat16") == 2);
  CHECK(type_bytes("float8_e4m3fn") == 1);
  CHECK(type_bytes("quaternion") == 0);
}

}  // namespace simsgd::test::traces_own_timeline
