// kineto: traces of PyTorch's profiler, old schema ("Kernel", "Operator") and new ("kernel", "cpu_op"), one
// file per rank, those of a job together; and the timelines that `simsgd run -o` and `simsgd-measure run -o`
// write in that shape. Read event by event. Of a job: times of collectives (the last starter's, over the
// files of all ranks), of steps, of kernels, each worker's computing per step, and the network.
//   https://github.com/pytorch/kineto, libkineto/src/output_json.cpp (schemaVersion 1);
//   docs/import.md says what each part is made of.
#include "traces/recorders/kineto.hpp"

#include <algorithm>
#include <cmath>
#include <memory>

#include "sim/base/errors.hpp"
#include "sim/base/printable.hpp"
#include "traces/import_format.hpp"

namespace simsgd::kineto {

namespace {

// assumed: in a job's first steps connections are made, memory is taken and algorithms are chosen.
constexpr std::uint64_t kKinetoWarmUpSteps = 3;

constexpr const char* kSimulated = "simsgd";

int count_of(double number) { return number >= 1 && number < 0x1p24 ? static_cast<int>(number) : 0; }

std::vector<bool> used_steps(const Recording& recording, std::uint64_t warm_up, ImportedFile& file) {
  std::vector<bool> used(recording.steps.size(), true);
  const auto later = [&](const ProfilerStep& step) { return step.number >= warm_up; };
  if (std::none_of(recording.steps.begin(), recording.steps.end(), later)) {
    if (!recording.steps.empty()) file.understand("files of first steps alone, which may be warm-up");
    return used;
  }
  for (std::size_t i = 0; i < used.size(); ++i) {
    used[i] = later(recording.steps[i]);
    if (!used[i]) file.understand("first steps of the job, which are warm-up; left out");
  }
  return used;
}

void count_outside(const Recording& recording, ImportedFile& file) {
  const std::size_t none = recording.steps.size();
  const auto outside = std::count_if(recording.kernels.begin(), recording.kernels.end(),
                                     [none](const Kernel& kernel) { return kernel.step == none; });
  if (none == 0)
    file.understand("workers whose trace has no steps (ProfilerStep)");
  else if (outside > 0)
    file.understand("kernels outside of steps", static_cast<std::size_t>(outside));
}

void add_kernels(const Events& events, const std::string& rank, ImportedFile& file) {
  for (const auto& [name, times] : events.kernels) {
    Measurement row;
    row.quantity = "kernel_s";
    row.value = times.mean_us / kMicroseconds_per_s;
    row.samples = times.count;
    if (times.count > 1)
      row.deviation =
          std::sqrt(times.squares_us2 / static_cast<double>(times.count - 1)) / kMicroseconds_per_s;
    row.labels["kernel"] = printable(name);
    if (!rank.empty()) row.labels["rank"] = rank;
    file.add(std::move(row));
  }
}

}  // namespace

void Ranks::take(Events& events, const TraceHead& head, ImportedFile& file, bool timed) {
  workers_ = std::max(workers_, count_of(head.world_size));
  int rank = 0;
  for (auto& [worker, recording] : events.recordings) {
    const bool simulated = head.backend == kSimulated;
    rank = simulated ? worker : rank_of(head.rank);
    take(recording, head, rank, timed, file);
  }
  add_kernels(events, events.recordings.size() == 1 ? std::to_string(rank) : "", file);
  files_.push_back(&file);
}

void Ranks::finish() {
  collectives_.finish();
  if (!files_.empty() && workers_ > static_cast<int>(ranks_.size()))
    files_.front()->ignore("ranks of the job whose file is missing",
                           static_cast<std::size_t>(workers_) - ranks_.size());
  if (network_) network_file_->workload = std::move(network_);
  if (std::none_of(files_.begin(), files_.end(), [](const ImportedFile* file) { return !file->empty(); }))
    for (ImportedFile* file : files_) file->need_row();
}

int Ranks::rank_of(double told) const {
  if (told >= 0 && told < 0x1p24) return static_cast<int>(told);
  int rank = 0;
  while (ranks_.contains(rank)) ++rank;
  return rank;
}

void Ranks::take(Recording& recording, const TraceHead& head, int rank, bool timed, ImportedFile& file) {
  check_steps(recording, rank, file);
  ranks_.insert(rank);
  const std::vector<StepTimes> times = step_times(recording);
  const std::vector<bool> used =
      used_steps(recording, head.backend == kSimulated ? 0 : kKinetoWarmUpSteps, file);
  for (std::size_t step = 0; timed && step < times.size(); ++step)
    if (used[step]) add_step(times[step], recording.steps[step].number, rank, file);
  if (timed) count_outside(recording, file);
  auto made = network(recording, times, used, file);
  for (Nccl& nccl : recording.nccl) add_collective(nccl, recording, used, rank, file);
  if (!made || (network_ && network_rank_ <= rank)) return;
  made->name = "recorded network";
  made->device = printable(head.device);
  network_ = std::move(made);
  network_file_ = &file;
  network_rank_ = rank;
}

void Ranks::check_steps(const Recording& recording, int rank, const ImportedFile& file) {
  for (const ProfilerStep& step : recording.steps)
    if (!steps_seen_.insert({rank, step.number}).second)
      throw ConfigError({file.name(), "/traceEvents",
                         "holds ProfilerStep#" + std::to_string(step.number) + " of rank " +
                             std::to_string(rank) + ", which was there before",
                         "", "Name the file of each rank, and of each part of a job, once"});
}

void Ranks::add_step(const StepTimes& times, std::uint64_t number, int rank, ImportedFile& file) const {
  for (const auto& [quantity, value] : {std::pair{"step_s", times.step_s},
                                        {"compute_s", times.compute_s},
                                        {"communication_s", times.communication_s},
                                        {"communication_exposed_s", times.exposed_communication_s}}) {
    Measurement row;
    row.quantity = quantity;
    row.workers = workers_;
    row.value = value;
    row.labels = {{"rank", std::to_string(rank)}, {"step", std::to_string(number)}};
    file.add(std::move(row));
  }
  if (std::isfinite(times.compute_s)) file.steps.push_back({rank, number, times.compute_s});
}

void Ranks::add_collective(Nccl& nccl, const Recording& recording, const std::vector<bool>& used, int rank,
                           ImportedFile& file) {
  CollectiveRecord& record = nccl.record;
  const auto step = std::find_if(recording.steps.begin(), recording.steps.end(),
                                 [&](const auto& each) { return each.number == record.step; });
  if (record.in_step && !used[static_cast<std::size_t>(step - recording.steps.begin())])
    return file.understand("operations of first steps; left out");
  if (record.operation.empty() || std::isnan(record.bytes))
    return file.ignore("NCCL kernels of which operation or size is not told");
  if (!(record.time_s > 0)) return file.ignore("times of 0 of collectives");
  record.rank = rank;
  collectives_.add(std::move(record));
}

}  // namespace simsgd::kineto

namespace simsgd::importers {

namespace {

class Kineto final : public Importer {
 public:
  void read(Input& input, ImportedFile& file) override {
    file.need_no_row();  // another rank's file may have all of them
    kineto::Events events(file);
    const TraceRead trace = read_trace_events(input, file, events);
    events.finish();
    if (trace.events == 0) file.ignore("files without events");
    ranks_.take(events, trace.head, file);
  }

  void finish() override { ranks_.finish(); }

 private:
  kineto::Ranks ranks_;
};

bool is_kineto(std::string_view head) {
  return first_character(head) == '{' && head.find("\"traceEvents\"") != std::string_view::npos;
}

}  // namespace

std::vector<ImportFormat> kineto() {
  return {{{.name = "kineto",
            .summary = "traces of PyTorch's profiler (Kineto), one file per rank, and our own timelines",
            .citation = "https://github.com/pytorch/kineto, libkineto/src/output_json.cpp"},
           is_kineto,
           make_importer<Kineto>}};
}

}  // namespace simsgd::importers
