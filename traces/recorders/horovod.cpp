// horovod: the timeline that Horovod's coordinator writes (HOROVOD_TIMELINE), a list of Chrome events whose
// end is often not written. A tensor is a pid; NEGOTIATE_ALLREDUCE holds a tick of each rank when its
// gradient is ready, ALLREDUCE the queue, copies into and out of the fusion buffer, and the library's
// operation. Tensors that are fused go through the latter together: they are one operation, of the sum of
// their sizes.
//   https://github.com/horovod/horovod, horovod/common/timeline.cc (v0.28); docs/timeline.rst
// All ticks are by the coordinator's clock, and as exact as its cycle (HOROVOD_CYCLE_TIME, 1 ms).
#include <algorithm>
#include <cmath>

#include "sim/base/printable.hpp"
#include "traces/collective_names.hpp"
#include "traces/import_format.hpp"
#include "traces/reading/text.hpp"
#include "traces/recorders/horovod_timeline.hpp"
#include "traces/recorders/torch_names.hpp"

namespace simsgd::importers {

namespace {

constexpr double kHorovodTicks_per_s = 1e6;  // in a second
// assumed: in a job's first steps connections are made.
constexpr std::uint64_t kHorovodFirstSteps = 3;

// Operations of fused tensors, which lie over one another.
struct FusedTensors {
  const horovod::Operation* first;
  double begin_us, end_us;  // of the library's part: after the last begin, before the first end
  double last_end_us, bytes;
  std::size_t tensors;
};

class Horovod final : public Importer {
 public:
  void read(Input& input, ImportedFile& file) override {
    horovod::Timeline timeline;
    const TraceRead trace = read_trace_events(input, file, timeline, true);
    if (trace.events == 0) file.ignore("files without events");
    timeline.finish(file);
    add_operations(timeline, file);
    add_activities(timeline, file);
    add_steps(timeline, file);
    if (auto network = timeline.network(kHorovodFirstSteps, file)) file.workload = std::move(*network);
  }

 private:
  static void add_operations(const horovod::Timeline& timeline, ImportedFile& file) {
    std::vector<const horovod::Operation*> all;
    for (const horovod::Operation& operation : timeline.operations())
      if (operation.end_us >= operation.begin_us) all.push_back(&operation);
    std::stable_sort(all.begin(), all.end(), [](const horovod::Operation* a, const horovod::Operation* b) {
      return a->begin_us < b->begin_us;
    });
    std::vector<FusedTensors> fused;
    for (const horovod::Operation* each : all) {
      if (!fused.empty() && each->begin_us < fused.back().last_end_us &&
          each->library == fused.back().first->library) {
        FusedTensors& group = fused.back();
        group.begin_us = std::max(group.begin_us, each->begin_us);
        group.end_us = std::min(group.end_us, each->end_us);
        group.last_end_us = std::max(group.last_end_us, each->end_us);
        group.bytes += each->bytes;
        ++group.tensors;
      } else {
        fused.push_back({each, each->begin_us, each->end_us, each->end_us, each->bytes, 1});
      }
    }
    for (const FusedTensors& group : fused) add_operation(timeline, group, file);
  }

  static void add_operation(const horovod::Timeline& timeline, const FusedTensors& group,
                            ImportedFile& file) {
    if (std::isnan(group.bytes)) return file.ignore("operations of tensors whose size is not told");
    if (!(group.end_us > group.begin_us)) return file.ignore("times of 0 of collectives");
    Measurement row;
    row.quantity = "time_s";
    row.operation = group.first->operation;
    row.workers = timeline.ranks();
    row.bytes = group.bytes;
    row.value = (group.end_us - group.begin_us) / kHorovodTicks_per_s;
    row.labels = {{"library", printable(group.first->library)}, {"tensors", std::to_string(group.tensors)}};
    file.add(std::move(row));
  }

  static void add_activities(const horovod::Timeline& timeline, ImportedFile& file) {
    for (const auto& [name, times] : timeline.activities()) {
      Measurement row;
      row.quantity = "activity_s";
      row.workers = timeline.ranks();
      row.value = times.mean_us / kHorovodTicks_per_s;
      row.samples = times.count;
      row.labels["activity"] = printable(name);
      file.add(std::move(row));
    }
  }

  static void add_steps(const horovod::Timeline& timeline, ImportedFile& file) {
    const std::vector<horovod::Step> steps = timeline.steps(file);
    const bool longer = steps.size() > kHorovodFirstSteps;
    for (std::size_t k = 1; k < steps.size(); ++k) {
      if (longer && k < kHorovodFirstSteps) {
        file.understand("first steps of the job, which are warm-up; left out");
        continue;
      }
      Measurement row;
      row.quantity = "step_s";
      row.workers = timeline.ranks();
      row.value = (steps[k].end_us - steps[k - 1].end_us) / kHorovodTicks_per_s;
      row.labels["step"] = std::to_string(k);
      file.add(std::move(row));
      for (const auto& [rank, ready_us] : steps[k].ready_us) {
        const double compute_s = (ready_us - steps[k - 1].end_us) / kHorovodTicks_per_s;
        if (compute_s >= 0)
          file.steps.push_back({rank, k, compute_s});
        else
          file.ignore("steps whose gradients are ready before the step before has ended");
      }
    }
  }
};

bool is_horovod(std::string_view head) {
  const std::size_t first = head.find_first_not_of(" \t\r\n");
  return first != std::string_view::npos && head[first] == '[' &&
         head.find("\"NEGOTIATE_") != std::string_view::npos;
}

}  // namespace

std::vector<ImportFormat> horovod() {
  return {{{.name = "horovod",
            .summary = "the timeline of Horovod (HOROVOD_TIMELINE)",
            .citation = "https://github.com/horovod/horovod, horovod/common/timeline.cc"},
           is_horovod,
           +[](const ImportConstants&) -> std::unique_ptr<Importer> { return std::make_unique<Horovod>(); }}};
}

}  // namespace simsgd::importers
