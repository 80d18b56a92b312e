// The network that the job of a Kineto trace trains. Its layers are the operators with parameters where the
// trace gives the sizes of their inputs (record_shapes), else the buckets of gradients that are reduced while
// the backward pass goes on. What a layer takes is the sum of its kernels' durations, of kernels that run
// beside each other a share of what they take together; kernels of operators without parameters count for the
// layer before them, in both passes. Those of no layer, the optimizer's, are a layer without parameters
// before all others. What remains of a step, beside exposed communication, the device waited for its host.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sim/base/quantiles.hpp"
#include "traces/imported_file.hpp"
#include "traces/names.hpp"
#include "traces/recorders/kineto.hpp"

namespace simsgd::kineto {

namespace {

// A layer or a bucket in one step, in forward order: its forward pass begins then, and its operators'
// sequence numbers begin there.
struct Part {
  double forward_us, sequence;
  double what;  // of a layer its kind, of a bucket its elements
};

struct Plan {
  std::vector<Part> parts;
  std::size_t layers = 0;  // parts of one micro-batch
  double first_backward_us = std::numeric_limits<double>::infinity(), last_backward_us = -first_backward_us;
  std::vector<double> forward_us, backward_us;  // by layer
  double rest_us = 0;                           // kernels of no layer
  double alone = 1;                             // of the kernels' durations, what they take together

  std::vector<double> signature() const {
    std::vector<double> all = {static_cast<double>(layers)};
    for (const Part& part : parts) all.push_back(part.what);
    return all;
  }
};

class NetworkOf {
 public:
  NetworkOf(const Recording& recording, const std::vector<StepTimes>& times, const std::vector<bool>& of)
      : recording_(recording), times_(times), of_(of), plans_(recording.steps.size()) {}

  std::optional<RecordedWorkload> made(ImportedFile& file) {
    for (const Mark& mark : recording_.backward)
      if (const std::size_t step = recording_.step_at(mark.ts_us); step < plans_.size()) {
        plans_[step].first_backward_us = std::min(plans_[step].first_backward_us, mark.ts_us);
        plans_[step].last_backward_us = std::max(plans_[step].last_backward_us, mark.ts_us);
      }
    find_layers();
    layers_ = std::ranges::any_of(plans_, [](const Plan& plan) { return !plan.parts.empty(); });
    if (!layers_) find_buckets();
    const std::vector<std::size_t> used = usual_steps(file);
    if (used.empty()) return std::nullopt;
    for (const std::size_t step : used) {
      plans_[step].forward_us.assign(plans_[step].layers, 0);
      plans_[step].backward_us.assign(plans_[step].layers, 0);
      chosen_.resize(plans_.size());
      chosen_[step] = true;
    }
    std::vector<double> durations_us(plans_.size() + 1, 0);
    for (const Kernel& kernel : recording_.kernels) durations_us[kernel.step] += kernel.dur_us;
    for (const std::size_t step : used)
      if (durations_us[step] > 0)
        plans_[step].alone = times_[step].compute_s * kMicroseconds_per_s / durations_us[step];
    for (const Kernel& kernel : recording_.kernels)
      if (kernel.step < chosen_.size() && chosen_[kernel.step])
        time_of(kernel, plans_[kernel.step]) += kernel.dur_us * plans_[kernel.step].alone;
    return workload(used, file);
  }

 private:
  void find_layers() {
    const LayerMark* outer = nullptr;  // an operator inside another one is part of it
    for (const LayerMark& mark : recording_.layers) {
      if (recording_.backward_threads.contains(mark.thread)) continue;
      if (outer != nullptr && outer->thread == mark.thread && mark.span.begin_us < outer->span.end_us)
        continue;
      outer = &mark;
      const std::size_t step = recording_.step_at(mark.span.begin_us);
      if (step == plans_.size()) continue;
      Plan& plan = plans_[step];
      if (mark.span.begin_us < plan.first_backward_us) ++plan.layers;
      plan.parts.push_back(
          {mark.span.begin_us, mark.numbered ? mark.sequence : kNotGiven, static_cast<double>(mark.layer)});
    }
    for (Plan& plan : plans_) drop_unless_repeated(plan);
  }

  // Micro-batches go through the same layers again.
  static void drop_unless_repeated(Plan& plan) {
    bool same = plan.layers > 0 && plan.parts.size() % plan.layers == 0;
    for (std::size_t i = plan.layers; same && i < plan.parts.size(); ++i)
      same = plan.parts[i].what == plan.parts[i - plan.layers].what;
    if (!same) plan.parts.clear();
    if (std::ranges::any_of(plan.parts, [](const Part& p) { return std::isnan(p.sequence); }))
      for (Part& part : plan.parts) part.sequence = kNotGiven;
  }

  // Buckets in the order in which they are reduced, which is that of the backward pass.
  void find_buckets() {
    struct Bucket {
      double launch_us, elements;
      double sequence = std::numeric_limits<double>::infinity();
    };
    std::vector<std::vector<Bucket>> buckets(plans_.size());
    for (const Nccl& nccl : recording_.nccl) {
      const CollectiveRecord& record = nccl.record;
      const Launch* launch = recording_.launch_of(nccl.correlation);
      if (launch == nullptr || !recording_.backward_threads.contains(launch->thread)) continue;
      if (record.operation != "all_reduce" && record.operation != "reduce_scatter") continue;
      const double elements = record.bytes / type_bytes(record.type);
      const std::size_t step = recording_.step_at(launch->ts_us);
      if (step < plans_.size() && elements > 0 && std::isfinite(elements))
        buckets[step].push_back({launch->ts_us, elements});
    }
    for (auto& each : buckets)
      std::ranges::sort(each, [](const Bucket& a, const Bucket& b) { return a.launch_us < b.launch_us; });
    for (const Mark& mark : recording_.backward) {
      const std::size_t step = recording_.step_at(mark.ts_us);
      if (step == plans_.size() || buckets[step].empty()) continue;
      auto bucket = std::lower_bound(buckets[step].begin(), buckets[step].end(), mark.ts_us,
                                     [](const Bucket& b, double ts) { return b.launch_us < ts; });
      if (bucket == buckets[step].end()) --bucket;
      bucket->sequence = std::min(bucket->sequence, static_cast<double>(mark.sequence));
    }
    for (std::size_t step = 0; step < plans_.size(); ++step) {
      Plan& plan = plans_[step];
      double least = std::numeric_limits<double>::infinity();
      for (const Bucket& bucket : buckets[step]) {
        least = std::min(least, bucket.sequence);
        plan.parts.push_back({std::numeric_limits<double>::infinity(), least, bucket.elements});
      }
      std::reverse(plan.parts.begin(), plan.parts.end());
      plan.layers = plan.parts.size();
    }
    begin_forward_passes();
  }

  // The forward pass of every bucket begins with its first operator.
  void begin_forward_passes() {
    for (const Mark& mark : recording_.forward) {
      const std::size_t step = recording_.step_at(mark.ts_us);
      if (step == plans_.size() || recording_.backward_threads.contains(mark.thread)) continue;
      if (Part* part = by_sequence(plans_[step], mark.sequence); part != nullptr)
        part->forward_us = std::min(part->forward_us, mark.ts_us);
    }
    for (Plan& plan : plans_)  // one without an operator begins with the next one
      for (std::size_t i = plan.parts.size(); i-- > 1;)
        plan.parts[i - 1].forward_us = std::min(plan.parts[i - 1].forward_us, plan.parts[i].forward_us);
  }

  // The last part that begins at or before; the first one where none does.
  static Part* by_sequence(Plan& plan, double sequence) {
    if (plan.parts.empty() || std::isnan(plan.parts.front().sequence)) return nullptr;
    const auto next = std::upper_bound(plan.parts.begin(), plan.parts.end(), sequence,
                                       [](double value, const Part& part) { return value < part.sequence; });
    return next == plan.parts.begin() ? &plan.parts.front() : &*std::prev(next);
  }

  std::vector<std::size_t> usual_steps(ImportedFile& file) const {
    std::map<std::vector<double>, std::vector<std::size_t>> by_signature;
    for (std::size_t step = 0; step < plans_.size(); ++step)
      if (of_[step] && !plans_[step].parts.empty()) by_signature[plans_[step].signature()].push_back(step);
    std::vector<std::size_t> most;
    std::size_t all = 0;
    for (const auto& [signature, steps] : by_signature) {
      all += steps.size();
      if (steps.size() > most.size()) most = steps;
    }
    if (all > most.size())
      file.understand("steps whose layers differ from most steps', not used for the network",
                      all - most.size());
    return most;
  }

  double& time_of(const Kernel& kernel, Plan& plan) const {
    const Launch* launch = recording_.launch_of(kernel.correlation);
    if (launch == nullptr) return plan.rest_us;
    const auto place = [&plan](const Part* part) {
      return static_cast<std::size_t>(part - plan.parts.data()) % plan.layers;
    };
    if (recording_.backward_threads.contains(launch->thread)) {
      const Mark* mark = recording_.backward_at(launch->ts_us, launch->thread);
      const Part* part = mark == nullptr ? nullptr : by_sequence(plan, mark->sequence);
      if (part != nullptr) return plan.backward_us[place(part)];
    } else if (!in_optimizer(launch->ts_us) &&
               (launch->ts_us <= plan.last_backward_us || plan.last_backward_us < plan.first_backward_us)) {
      auto next = std::upper_bound(plan.parts.begin(), plan.parts.end(), launch->ts_us,
                                   [](double ts, const Part& part) { return ts < part.forward_us; });
      if (next == plan.parts.begin()) ++next;
      return plan.forward_us[place(&*std::prev(next))];
    }
    return plan.rest_us;
  }

  bool in_optimizer(double ts_us) const {
    const auto next = std::upper_bound(recording_.optimizer.begin(), recording_.optimizer.end(), ts_us,
                                       [](double ts, const Span& span) { return ts < span.begin_us; });
    return next != recording_.optimizer.begin() && ts_us <= std::prev(next)->end_us;
  }

  RecordedWorkload workload(const std::vector<std::size_t>& used, const ImportedFile& file) const {
    const Plan& first = plans_[used.front()];
    RecordedWorkload made;
    made.batch = file.constants().batch;
    std::map<std::string, int> numbers;
    for (std::size_t i = 0; i < first.layers; ++i) {
      RecordedLayer layer;
      if (layers_) {
        const LayerKind& kind = recording_.kinds[static_cast<std::size_t>(first.parts[i].what)];
        layer = kind.layer;
        layer.name += std::to_string(++numbers[layer.name]);
        if (made.batch == 0 && kind.batch >= 1 && kind.batch < 1e6)
          made.batch = static_cast<int>(kind.batch * static_cast<double>(first.parts.size() / first.layers));
      } else {
        layer.name = fmt::format("bucket{}", first.layers - i);
        layer.tensors = {{first.parts[i].what}};
      }
      std::vector<double> forward_us, backward_us;
      for (const std::size_t step : used) {
        forward_us.push_back(plans_[step].forward_us[i]);
        backward_us.push_back(plans_[step].backward_us[i]);
      }
      layer.forward_s = median(forward_us) / kMicroseconds_per_s;
      layer.backward_s = median(backward_us) / kMicroseconds_per_s;
      made.layers.push_back(std::move(layer));
    }
    complete_sizes(made, static_cast<double>(first.parts.size() / std::max<std::size_t>(first.layers, 1)));
    forget_zeros(made);
    const std::string of_step = complete_step(made, used);
    made.source = fmt::format(
        "{}: {}{}{}", file.name(),
        layers_
            ? "operators with parameters, each with those without that follow it"
            : "buckets of gradients, the last to be reduced first, in place of layers, which the trace does not tell",
        of_step.empty()
            ? ""
            : fmt::format(", with the median over {} steps of their kernels' durations", used.size()),
        of_step);
    return made;
  }

  // Outputs and FLOPs of a sample. A convolution has as many outputs as the batch norm after it has inputs.
  void complete_sizes(RecordedWorkload& made, double micro_batches) const {
    for (std::size_t i = made.layers.size(); layers_ && made.batch > 0 && i-- > 0;) {
      RecordedLayer& layer = made.layers[i];
      const RecordedLayer* next = i + 1 < made.layers.size() ? &made.layers[i + 1] : nullptr;
      layer.activations *= micro_batches;
      if (layer.type == "conv" && std::isnan(layer.activations) && next != nullptr && next->type == "bn" &&
          next->tensors[0][0] == layer.tensors[0][0])
        layer.activations = next->activations * made.batch;  // which is done
      per_sample(layer, made.batch);
    }
  }

  // What else a step takes, so that one of the network takes as long as the trace's, and what that is, in
  // words.
  std::string complete_step(RecordedWorkload& made, const std::vector<std::size_t>& used) const {
    const double forward_s = made.forward_s(), backward_s = made.backward_s();
    if (!(forward_s + backward_s > 0)) return "";
    // As the scenario language takes a pass of which nothing is known.
    const double layers_s =
        (forward_s > 0 ? forward_s : backward_s / 2) + (backward_s > 0 ? backward_s : 2 * forward_s);
    const auto of_steps = [&](auto value) {
      std::vector<double> all;
      for (const std::size_t step : used) all.push_back(value(step));
      return median(std::move(all));
    };
    const double rest_s = of_steps([&](std::size_t s) { return plans_[s].rest_us / kMicroseconds_per_s; }),
                 step_s = of_steps([&](std::size_t s) { return times_[s].step_s; }),
                 exposed_s = of_steps([&](std::size_t s) { return times_[s].exposed_communication_s; }),
                 alone_s = of_steps(
                     [&](std::size_t s) { return times_[s].step_s - times_[s].exposed_communication_s; });
    if (rest_s > 0) {
      RecordedLayer rest;
      rest.name = "optimizer";
      rest.forward_s = rest_s;
      rest.backward_s = 0;
      made.layers.insert(made.layers.begin(), std::move(rest));
    }
    const double gap_s = std::max(0.0, alone_s - layers_s - rest_s);
    made.backward_gap_s = std::min(gap_s, of_steps([&](std::size_t s) { return times_[s].backward_idle_s; }));
    made.forward_gap_s = gap_s - made.backward_gap_s;
    return fmt::format(
        "; kernels of no layer are the layer optimizer; a step took {:.6g} s: kernels cover {:.0f} % of it, exposed communication {:.0f} %, and in the rest, which is the host_gap, the device waited for its host",
        step_s, 100 * (layers_s + rest_s) / step_s, 100 * exposed_s / step_s);
  }

  // A pass of which no kernel is known took some time, not none.
  static void forget_zeros(RecordedWorkload& made) {
    if (!(made.forward_s() > 0))
      for (RecordedLayer& layer : made.layers) layer.forward_s = kNotGiven;
    if (!(made.backward_s() > 0))
      for (RecordedLayer& layer : made.layers) layer.backward_s = kNotGiven;
  }

  const Recording& recording_;
  const std::vector<StepTimes>& times_;
  const std::vector<bool>& of_;
  std::vector<Plan> plans_;
  std::vector<bool> chosen_;
  bool layers_ = false;
};

}  // namespace

std::optional<RecordedWorkload> network(const Recording& recording, const std::vector<StepTimes>& times,
                                        const std::vector<bool>& of, ImportedFile& file) {
  return NetworkOf(recording, times, of).made(file);
}

}  // namespace simsgd::kineto
