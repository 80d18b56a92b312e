// kineto: traces of PyTorch's profiler, old schema ("Kernel", "Operator") and new ("kernel", "cpu_op"), one
// file per rank, those of a job together; and the timelines that `simsgd run -o` and `simsgd-measure run -o`
// write in that shape. Read event by event. Of a job: times of collectives (the last starter's, over the
// files of all ranks), of steps, of kernels, each worker's computing per step, and the network.
//   https://github.com/pytorch/kineto, libkineto/src/output_json.cpp (schemaVersion 1);
//   docs/import.md says what each part is made of.
#include "traces/recorders/kineto.hpp"

#include <string_view>

#include "traces/import.hpp"
#include "traces/reading/input.hpp"

namespace simsgd::importers {

namespace {

class Kineto final : public Importer {
 public:
  void read(Input& input, ImportedFile& file) override {
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

namespace simsgd::kineto {

namespace {

// Every event is counted once, by what becomes of it.
enum Kind : std::size_t {
  kKernel,
  kNccl,
  kLaunch,
  kStep,
  kMark,
  kGroupArguments,
  kOtherOperator,
  kOtherCall,
  kGpuAnnotation,
  kMemory,
  kPython,
  kOwn,
  kTrackName,
  kFlow,
  kInstant,
  kCounter,
  kHalfSpan,
  kNoTime,
  kNegative,
  kNoPhase,
  kNoStepNumber,
  kKindCount
};

// In the order of Kind.
constexpr CountedKind kKinetoCounted[kKindCount] = {
    {"events used: computing kernels"},
    {"events used: NCCL kernels"},
    {"events used: launches of kernels"},
    {"events used: steps (ProfilerStep)"},
    {"events used: operators of forward and backward passes and of the optimizer"},
    {"events used: calls of collectives (record_param_comms, nccl:...)"},
    {"events left out: other operators and annotations of the host"},
    {"events left out: other calls of the runtime"},
    {"events left out: annotations on the GPU, which lie over kernels"},
    {"events left out: copies and fills of memory"},
    {"events left out: Python functions"},
    {"events left out: the profiler's own"},
    {"events left out: names of tracks"},
    {"events left out: arrows"},
    {"events left out: instants"},
    {"events left out: counters"},
    {"events left out: begins and ends of asynchronous spans"},
    {"events without a begin or a duration", false},
    {"events of a negative duration", false},
    {"events of no known phase", false},
    {"events of steps without a number", false},
};

constexpr std::pair<std::string_view, Kind> kPhases[] = {
    {"M", kTrackName}, {"C", kCounter}, {"iIR", kInstant}, {"stf", kFlow}, {"BEben", kHalfSpan}};

// Categories of the new schema and the old; where they tell a kind apart by more, its first one.
constexpr struct {
  Kind kind;
  std::string_view names[6];
} kCategories[] = {
    {kKernel, {"kernel", "Kernel"}},
    {kMark, {"cpu_op", "Operator", "user_annotation", "CPU_op"}},
    {kLaunch, {"cuda_runtime", "Runtime", "cuda_driver", "hip_runtime", "hip_driver", "xpu_runtime"}},
    {kGpuAnnotation, {"gpu_user_annotation", "Gpu_user_annotation"}},
    {kMemory, {"gpu_memcpy", "Memcpy", "gpu_memset", "Memset"}},
    {kPython, {"python_function", "Python"}},
    {kOwn, {"Trace", "overhead", "cuda_profiler_range", "cuda_sync"}}};

Kind kind_of(const std::string& category) {
  for (const auto& [kind, names] : kCategories)
    if (!category.empty() && std::find(std::begin(names), std::end(names), category) != std::end(names))
      return kind;
  return kKindCount;
}

constexpr std::uint32_t kNoLayer = 0xFFFFFFFF;
constexpr std::size_t kMostNames = 4096;  // of kernels, of layers: memory is bounded

std::uint32_t small_number(double number) {
  return number >= 0 && number < 4294967295.0 ? static_cast<std::uint32_t>(number) : 0;
}

// What a kernel or its operator says of the operation.
void describe(const TraceEvent& event, CollectiveRecord& record) {
  record.operation = torch_operation(event.collective);
  record.group = event.group_name + " " + event.group_ranks;
  if (event.group_size >= 1 && event.group_size < 0x1p24)
    record.group_size = static_cast<int>(event.group_size);
  if (!event.dtype.empty()) record.type = type_name(event.dtype);
  if (event.seq >= 0) record.sequence = event.seq;
  if (const int size = type_bytes(event.dtype); size > 0)
    record.bytes = size * whole_array(record.operation, event.in_elements, event.out_elements);
}

}  // namespace

const char* const kBackwards = kKinetoCounted[kNegative].text;

void KernelTimes::add(double us) {
  ++count;
  const double off = us - mean_us;
  mean_us += off / static_cast<double>(count);
  squares_us2 += off * (us - mean_us);
}

void Events::event(const TraceEvent& event, const TraceHead& head) {
  if (event.phase != 'X') {
    for (const auto& [phases, kind] : kPhases)
      if (event.phase != 0 && phases.find(event.phase) != std::string_view::npos)
        return void(++counts_[kind]);
    return void(++counts_[kNoPhase]);
  }
  if (std::isnan(event.ts_us) || std::isnan(event.dur_us)) return void(++counts_[kNoTime]);
  if (event.dur_us < 0) return void(++counts_[kNegative]);
  const bool own = head.backend == "simsgd" && event.pid.number >= 0 && event.pid.number < 0x1p24;
  span(event, recordings[own ? static_cast<int>(event.pid.number) : 0]);
}

void Events::span(const TraceEvent& event, Recording& recording) {
  switch (const Kind kind = kind_of(event.category)) {
    case kKernel:
      return kernel(event, recording);
    case kLaunch:
      return launch(event, recording);
    case kMark:
      return host(event, recording);
    case kKindCount:
      break;
    default:
      return void(++counts_[kind]);
  }
  const std::string known = printable(event.category.substr(0, 40));
  ++unknown_[unknown_.size() < kMostNames || unknown_.contains(known) ? known : "..."];
}

void Events::kernel(const TraceEvent& event, Recording& recording) {
  if (const auto kernel = nccl_kernel_name(event.name)) return nccl(event, *kernel, recording);
  ++counts_[kKernel];
  recording.kernels.push_back({event.ts_us, event.dur_us, small_number(event.correlation)});
  auto known = by_name_.find(event.name);
  if (known == by_name_.end()) {
    if (kernels.size() >= kMostNames) return kernels["other kernels"].add(event.dur_us);
    known = by_name_.emplace(event.name, &kernels[event.name]).first;
  }
  known->second->add(event.dur_us);
}

void Events::nccl(const TraceEvent& event, const NcclKernelName& name, Recording& recording) {
  ++counts_[kNccl];
  Nccl made;
  made.span = {event.ts_us, event.ts_us + event.dur_us};
  made.correlation = small_number(event.correlation);
  made.external_id = event.external_id;
  CollectiveRecord& record = made.record;
  record.file = &file_;
  describe(event, record);
  if (record.operation.empty()) record.operation = name.operation;
  record.algorithm = name.algorithm;
  record.protocol = name.protocol;
  record.time_s = event.dur_us / kMicroseconds_per_s;
  record.end_s = made.span.end_us / kMicroseconds_per_s;
  recording.nccl.push_back(std::move(made));
}

void Events::launch(const TraceEvent& event, Recording& recording) {
  const std::uint32_t correlation = small_number(event.correlation);
  const bool used = correlation != 0 && event.name.find("Launch") != std::string::npos;
  ++counts_[used ? kLaunch : kOtherCall];
  if (used) recording.launches.push_back({event.ts_us, correlation, thread(event.tid)});
}

void Events::host(const TraceEvent& event, Recording& recording) {
  const std::string_view name = event.name;
  constexpr std::string_view kStepName = "ProfilerStep#";
  const Span span = {event.ts_us, event.ts_us + event.dur_us};
  if (name.starts_with(kStepName)) {
    int number = 0;
    const bool numbered = read_count(name.substr(kStepName.size()), 0, number);
    ++counts_[numbered ? kStep : kNoStepNumber];
    if (numbered) recording.steps.push_back({span, static_cast<std::uint64_t>(number)});
    return;
  }
  if (name.starts_with("Optimizer.")) {
    ++counts_[kMark];
    recording.optimizer.push_back(span);
    return;
  }
  if (name == "record_param_comms" || name.starts_with("nccl:")) {
    Call call{thread(event.tid), span, name.starts_with("nccl:") ? kNotGiven : event.external_id, {}};
    describe(event, call.told);
    if (call.told.operation.empty()) call.told.operation = torch_operation(name);
    ++counts_[call.told.operation.empty() ? kOtherOperator : kGroupArguments];
    if (!call.told.operation.empty()) calls_.push_back(std::move(call));
    return;
  }
  const bool layered = layer(event, recording);
  const bool numbered = event.sequence_number >= 0 && event.sequence_number < 4294967295.0;
  ++counts_[layered || numbered ? kMark : kOtherOperator];
  if (!numbered) return;
  const Mark mark = {event.ts_us, static_cast<std::uint32_t>(event.sequence_number), thread(event.tid)};
  const bool backward = name.find("Backward") != std::string_view::npos;
  (backward ? recording.backward : recording.forward).push_back(mark);
  if (backward) recording.backward_threads.insert(mark.thread);
}

bool Events::layer(const TraceEvent& event, Recording& recording) {
  if (event.size_ends.empty()) return false;
  // Operators with the same name and sizes are of one kind, or of none.
  layer_key_ = event.name;
  layer_key_.append(reinterpret_cast<const char*>(event.sizes.data()), event.sizes.size() * sizeof(double));
  layer_key_.append(reinterpret_cast<const char*>(event.size_ends.data()),
                    event.size_ends.size() * sizeof(std::size_t));
  auto known = recording.kind_numbers.find(layer_key_);
  if (known == recording.kind_numbers.end()) {
    std::optional<LayerKind> kind = layer_of(event);
    if (!kind && recording.kind_numbers.size() > kMostNames) return false;
    if (kind && recording.kinds.size() == kMostNames) return false;
    known = recording.kind_numbers
                .emplace(layer_key_, kind ? static_cast<std::uint32_t>(recording.kinds.size()) : kNoLayer)
                .first;
    if (kind) recording.kinds.push_back(std::move(*kind));
  }
  if (known->second == kNoLayer) return false;
  const bool numbered = event.sequence_number >= 0 && event.sequence_number < 4294967295.0;
  recording.layers.push_back({{event.ts_us, event.ts_us + event.dur_us},
                              numbered ? static_cast<std::uint32_t>(event.sequence_number) : 0,
                              thread(event.tid),
                              known->second,
                              numbered});
  return true;
}

std::uint32_t Events::thread(const TraceId& id) {
  if (last_thread_.second != 0 && last_thread_.first == id) return last_thread_.second;
  const double number = id.text.empty() && !std::isnan(id.number) ? id.number : -1;
  const auto next = static_cast<std::uint32_t>(threads_.size() + 1);
  last_thread_ = {id, threads_.emplace(std::pair{number, id.text}, next).first->second};
  return last_thread_.second;
}

void Events::fill_from_operator(const Recording& recording, Nccl& nccl) const {
  CollectiveRecord& record = nccl.record;
  if (!std::isnan(record.bytes)) return;
  const CollectiveRecord* told = nullptr;
  std::string operation;
  if (const auto found = by_external_.find(nccl.external_id);
      !std::isnan(nccl.external_id) && found != by_external_.end()) {
    told = &calls_[found->second].told;
  } else if (const Launch* launch = recording.launch_of(nccl.correlation); launch != nullptr) {
    constexpr std::ptrdiff_t kDeepest = 8;  // calls within calls
    const auto next =
        std::upper_bound(calls_.begin(), calls_.end(), *launch, [](const Launch& l, const Call& call) {
          return std::pair(l.thread, l.ts_us) < std::pair(call.thread, call.span.begin_us);
        });
    for (auto call = next; told == nullptr && call != calls_.begin() && next - call < kDeepest;) {
      --call;
      if (call->thread != launch->thread || call->span.end_us < launch->ts_us) continue;
      if (operation.empty()) operation = call->told.operation;
      if (!std::isnan(call->told.bytes)) told = &call->told;
    }
  }
  if (operation.empty() && told != nullptr) operation = told->operation;
  if (!operation.empty()) record.operation = operation;
  if (told == nullptr) return;
  record.group = told->group;
  record.group_size = told->group_size;
  record.type = told->type;
  record.bytes = told->bytes;
  if (std::isnan(record.sequence)) record.sequence = told->sequence;
}

void Events::finish() {
  file_.count(kKinetoCounted, counts_);
  for (const auto& [category, count] : unknown_) file_.ignore("events of category " + category, count);
  std::ranges::stable_sort(calls_, [](const Call& a, const Call& b) {
    return std::pair(a.thread, a.span.begin_us) < std::pair(b.thread, b.span.begin_us);
  });
  for (std::size_t i = 0; i < calls_.size(); ++i)
    if (calls_[i].external_id > 0) by_external_[calls_[i].external_id] = i;
  for (auto& [worker, recording] : recordings) {
    recording.sort();
    for (Nccl& nccl : recording.nccl) fill_from_operator(recording, nccl);
  }
}

}  // namespace simsgd::kineto
