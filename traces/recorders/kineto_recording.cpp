// Tells of a Kineto trace which kernels belong to which step, for how long they ran, and which operators are
// layers.
#include "traces/recorders/kineto.hpp"

#include <algorithm>
#include <functional>
#include <numeric>
#include <string_view>

namespace simsgd::kineto {

namespace {

// The length of the union; `spans` come in the order of their begins.
class Union {
 public:
  void add(const Span& span) {
    if (span.begin_us > end_us_) {
      total_us_ += span.end_us - span.begin_us;
      end_us_ = span.end_us;
    } else if (span.end_us > end_us_) {
      total_us_ += span.end_us - end_us_;
      end_us_ = span.end_us;
    }
  }
  double us() const { return total_us_; }
  double end_us() const { return end_us_; }

 private:
  double total_us_ = 0, end_us_ = -std::numeric_limits<double>::infinity();
};

struct StepSpan {
  std::uint32_t step;
  bool nccl, backward;
  Span span;
};

// To which step and pass an event belongs.
template <class Event>
StepSpan placed(const Recording& recording, const Event& event, bool nccl, const Span& span) {
  const Launch* launch = recording.launch_of(event.correlation);
  return {static_cast<std::uint32_t>(recording.step_at(launch == nullptr ? span.begin_us : launch->ts_us)),
          nccl, launch != nullptr && recording.backward_threads.contains(launch->thread), span};
}

// Operators of PyTorch that have parameters, and where their sizes stand among the inputs ("Input Dims").
//   https://github.com/pytorch/pytorch, aten/src/ATen/native/native_functions.yaml
struct Operator {
  std::string_view name;      // after "aten::"
  const char *called, *type;  // of the layer
  std::size_t input, first_parameter, parameters;
  bool transposed = false;  // the product's matrix is [columns, rows]
};

constexpr Operator kOperators[] = {{"conv1d", "conv", "conv", 0, 1, 2},
                                   {"conv2d", "conv", "conv", 0, 1, 2},
                                   {"conv3d", "conv", "conv", 0, 1, 2},
                                   {"linear", "fc", "fc", 0, 1, 2},
                                   {"addmm", "fc", "fc", 1, 2, 1, true},
                                   {"batch_norm", "bn", "bn", 0, 1, 2},
                                   {"layer_norm", "layer_norm", "other", 0, 2, 2},
                                   {"group_norm", "group_norm", "other", 0, 2, 2},
                                   {"embedding", "embedding", "embedding", 1, 0, 1}};

bool possible(const std::vector<double>& sizes) {
  return std::ranges::all_of(sizes, [](double size) { return size >= 1 && size < 0x1p40; });
}

// [out, in, height, width] is the matrix [out, in x height x width] of the layer's product.
std::vector<double> tensor(const std::vector<double>& sizes, bool transposed) {
  if (sizes.size() < 2) return sizes;
  double columns = 1;
  for (std::size_t i = 1; i < sizes.size(); ++i) columns *= sizes[i];
  if (transposed) return {columns, sizes[0]};
  return {sizes[0], columns};
}

// How many numbers a layer makes of the whole batch, by its input; kNotGiven for a convolution, whose stride
// is not told.
double outputs(const RecordedLayer& layer, const std::vector<double>& input) {
  const double entries = std::accumulate(input.begin(), input.end(), 1.0, std::multiplies<>());
  if (layer.type == "conv") return kNotGiven;
  if (layer.type == "fc") return entries / input.back() * layer.tensors[0][0];
  if (layer.type == "embedding" && layer.tensors[0].size() == 2) return entries * layer.tensors[0][1];
  return entries;
}

}  // namespace

void Recording::sort() {
  const auto by_time = [](const auto& a, const auto& b) { return a.ts_us < b.ts_us; };
  const auto by_begin = [](const auto& a, const auto& b) { return a.begin_us < b.begin_us; };
  const auto by_span = [](const auto& a, const auto& b) { return a.span.begin_us < b.span.begin_us; };
  std::ranges::stable_sort(steps, by_span);
  std::ranges::stable_sort(nccl, by_span);
  std::ranges::stable_sort(layers, by_span);
  std::ranges::sort(optimizer, by_begin);
  std::ranges::sort(forward, by_time);
  std::ranges::sort(backward, [](const Mark& a, const Mark& b) {
    return a.thread != b.thread ? a.thread < b.thread : a.ts_us < b.ts_us;
  });
  std::ranges::sort(launches, [](const Launch& a, const Launch& b) { return a.correlation < b.correlation; });
}

const Launch* Recording::launch_of(std::uint32_t correlation) const {
  if (correlation == 0) return nullptr;
  const auto found =
      std::lower_bound(launches.begin(), launches.end(), correlation,
                       [](const Launch& launch, std::uint32_t id) { return launch.correlation < id; });
  return found == launches.end() || found->correlation != correlation ? nullptr : &*found;
}

std::size_t Recording::step_at(double ts_us) const {
  const auto next =
      std::upper_bound(steps.begin(), steps.end(), ts_us,
                       [](double ts, const ProfilerStep& step) { return ts < step.span.begin_us; });
  if (next == steps.begin()) return steps.size();
  constexpr double kPrinted_us = 0.002;  // what begins as the last step ends: times have three digits
  if (next == steps.end() && ts_us > steps.back().span.end_us - kPrinted_us) return steps.size();
  return static_cast<std::size_t>(next - steps.begin()) - 1;
}

const Mark* Recording::backward_at(double ts_us, std::uint32_t thread) const {
  const auto next = std::partition_point(backward.begin(), backward.end(), [&](const Mark& mark) {
    return mark.thread < thread || (mark.thread == thread && mark.ts_us <= ts_us);
  });
  return next == backward.begin() || std::prev(next)->thread != thread ? nullptr : &*std::prev(next);
}

std::vector<StepTimes> step_times(Recording& recording) {
  const std::size_t none = recording.steps.size();
  std::vector<StepSpan> spans;
  spans.reserve(recording.kernels.size() + recording.nccl.size());
  for (Kernel& kernel : recording.kernels) {
    const StepSpan span = placed(recording, kernel, false, {kernel.ts_us, kernel.ts_us + kernel.dur_us});
    kernel.step = span.step;
    if (kernel.step < none) spans.push_back(span);
  }
  for (Nccl& nccl : recording.nccl) {
    const StepSpan span = placed(recording, nccl, true, nccl.span);
    nccl.record.in_step = span.step < none;
    if (span.step == none) continue;
    nccl.record.step = recording.steps[span.step].number;
    spans.push_back(span);
  }
  std::ranges::sort(spans, [](const StepSpan& a, const StepSpan& b) {
    return a.step != b.step ? a.step < b.step : a.span.begin_us < b.span.begin_us;
  });
  std::vector<StepTimes> times(none);
  auto span = spans.begin();
  for (std::size_t step = 0; step < none; ++step) {
    Union compute, communication, either;
    double backward_idle_us = 0;
    bool backward = false;  // of the kernel before
    for (; span != spans.end() && span->step == step; ++span) {
      if (backward && span->backward)
        backward_idle_us += std::max(0.0, span->span.begin_us - either.end_us());
      backward = span->backward;
      (span->nccl ? communication : compute).add(span->span);
      either.add(span->span);
    }
    const Span& own = recording.steps[step].span;
    const double end_us = step + 1 < none ? recording.steps[step + 1].span.begin_us : own.end_us;
    times[step] = {.step_s = (end_us - own.begin_us) / kMicroseconds_per_s,
                   .compute_s = compute.us() / kMicroseconds_per_s,
                   .communication_s = communication.us() / kMicroseconds_per_s,
                   .exposed_communication_s = std::max(0.0, either.us() - compute.us()) / kMicroseconds_per_s,
                   .backward_idle_s = backward_idle_us / kMicroseconds_per_s};
  }
  return times;
}

std::optional<LayerKind> layer_of(const TraceEvent& event) {
  std::string_view name = event.name;
  if (event.size_ends.empty() || !name.starts_with("aten::")) return std::nullopt;
  name.remove_prefix(6);
  const auto* known = std::find_if(std::begin(kOperators), std::end(kOperators),
                                   [name](const Operator& each) { return each.name == name; });
  if (known == std::end(kOperators)) return std::nullopt;
  LayerKind kind;
  kind.layer.name = known->called;
  kind.layer.type = known->type;
  const std::vector<double> input = event.input(known->input);
  if (input.empty() || !possible(input)) return std::nullopt;
  kind.batch = input[0];
  for (std::size_t i = 0; i < known->parameters; ++i) {
    const std::vector<double> sizes = event.input(known->first_parameter + i);
    if (!possible(sizes)) return std::nullopt;
    if (!sizes.empty()) kind.layer.tensors.push_back(tensor(sizes, known->transposed));
  }
  if (known->transposed)  // addmm(bias, input, weight)
    if (const std::vector<double> bias = event.input(0); bias.size() == 1 && possible(bias))
      kind.layer.tensors.push_back(bias);
  if (kind.layer.tensors.empty()) return std::nullopt;
  kind.layer.activations = event.outputs > 0 ? event.outputs : outputs(kind.layer, input);
  if (!(kind.layer.activations < 0x1p53)) kind.layer.activations = kNotGiven;
  return kind;
}

}  // namespace simsgd::kineto
