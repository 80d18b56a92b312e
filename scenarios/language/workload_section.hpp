// The section "workload" as it is written: its fields, and what is read of them before a device gives times.
// workload.cpp reads it.
#pragma once

#include <fmt/format.h>

#include <optional>
#include <string>
#include <vector>

#include "scenarios/language/layer_times.hpp"
#include "scenarios/language/reader.hpp"
#include "sim/base/fields.hpp"
#include "sim/distributions/registry.hpp"
#include "sim/workload.hpp"

namespace simsgd {

struct StepCostSection {
  struct Time {
    int batch = 1;
    double step_s = 0;

    void fields(Fields& f) {
      f.whole("batch", batch, "Samples of this pass").required().at_least(1);
      f.time("step_time", step_s, "Time of a forward and a backward pass of this batch").required().above(0);
    }
  };
  std::optional<double> fixed_s, per_sample_s, evaluation_s;
  std::optional<std::vector<Time>> times;

  void fields(Fields& f) {
    f.time("fixed", fixed_s, "Fixed time of each pass (of each micro-batch, if gradients are accumulated)")
        .by_rule("0 beside per_sample");
    f.time("per_sample", per_sample_s, "Extra time of each sample").by_rule("0 beside fixed");
    f.time(
         "evaluation", evaluation_s,
         "Time of evaluations between steps, for each sample that is trained on; it is spread evenly over the steps")
        .by_rule("none: no time");
    f.objects(
         "times", times,
         "Measured passes in place of fixed and per_sample, by ascending batch. They are interpolated on logarithmic scales; a batch outside their range is refused",
         "One measurement")
        .least_items(1);
  }
};

/// The law that is written at `pointer`. Nothing where it says too much, too little, or no time, which is
/// reported.
std::optional<StepLaw> read_step_cost(const Reader& reader, const std::string& pointer,
                                      const StepCostSection& section);

/// The samples that a table holds for, in words: "1 to 256"; and a number of them.
std::string range_text(const StepLaw& law);
std::string samples_text(double samples);

/// Whether `law`, written at `pointer`, holds for the workload's micro-batches; where it does not that is
/// reported.
bool check_range(const Reader& reader, const std::string& pointer, const StepLaw& law, double samples);

// assumed: a network whose layers are not known overlaps communication about as one of 32 equal layers does;
// the result says so, and "equal_layers" shows what depends on it.
inline constexpr int kUsualEqualLayers = 32;

/// The schema of a layer's tensors, each of which is a vector's size or a matrix.
Json tensors_schema();

struct LayerSection {
  std::optional<std::string> name;
  Layer::Kind kind = Layer::Kind::other;
  RawValue tensors;
  double forward_flop = 0;
  std::optional<double> forward_s, backward_s;
  double activations = 0;
  double positions = 1;

  void fields(Fields& f) {
    f.text("name", name, "Name of the layer in timelines").by_rule("its type and number");
    f.choice("type", kind,
             {{"conv", Layer::Kind::conv},
              {"fc", Layer::Kind::fc},
              {"bn", Layer::Kind::bn},
              {"embedding", Layer::Kind::embedding},
              {"other", Layer::Kind::other}},
             "The layer's kind")
        .required();
    f.raw("tensors", tensors, f.only_reads() ? Json::object() : tensors_schema())
        .required()
        .example("[[1000, 2048], 1000]");
    f.flop("forward_flop", forward_flop,
           "FLOPs of the forward pass for each sample; a multiply-add counts as 2");
    f.time("forward", forward_s, "Measured forward time for a batch of `layer_times_batch` samples")
        .by_rule("half of the backward time where that is given, else its share of the step, or modelled");
    f.time("backward", backward_s, "Measured backward time for the same batch")
        .by_rule("twice the forward time");
    f.number("activations", activations, "Entries of the layer's output for each sample").at_least(0);
    f.number("positions", positions,
             "Positions at which the layer's product is taken, for each sample: output height x width")
        .at_least(1);
  }
};

struct OneDeviceSection {
  std::string device;
  std::optional<int> batch;
  std::optional<double> forward_backward_s, samples_per_s;
  std::optional<StepCostSection> step_cost;
  std::string source;

  void fields(Fields& f) {
    f.text("device", device, "The device that it was measured on, by its name").required();
    f.whole("batch", batch, "Samples of the step (of the micro-batch, where gradients are accumulated)")
        .at_least(1)
        .by_rule("must be given, unless there is a step_cost");
    f.time("forward_backward", forward_backward_s, "Time of a forward and a backward pass of that batch")
        .above(0);
    f.number("samples_per_s", samples_per_s, "The throughput, in place of the time").above(0);
    f.object("step_cost", step_cost,
             "Time as a law of the samples, for all batches; in place of the time of one batch")
        .by_rule("none");
    f.text("source", source, "Who measured it").required();
  }
};

/// A distribution that may also be shifted, and say where it comes from.
Field& add_measured(Fields& f, std::string_view key, RawValue& value, std::string_view meaning,
                    DrawUnit unit);

/// The device that layers were measured on, as far as their times on another one need it.
struct MeasuredOnSection {
  std::string name;
  double peak_flops = 0, efficiency = 0.5, memory_Bps = 0;

  void fields(Fields& f) {
    f.text("name", name, "The workload's name").required();
    f.flops("peak_flops", peak_flops, "Peak rate of the device; 0: unknown");
    f.number("efficiency", efficiency, "Share of the peak that training kernels reach").above(0).at_most(1);
    f.quantity(Dimension::rate_Bps, "memory_bandwidth", memory_Bps,
               "Bandwidth of the device's memory; 0: unknown")
        .at_least(0);
  }
};

/// Its name, or the section above.
Json measured_on_schema();

struct HostGapSection {
  double forward_s = 0, backward_s = 0;

  void fields(Fields& f) {
    f.time(
        "forward", forward_s,
        "Time that the device waits during the forward pass, and between two passes: data are loaded, and the optimizer is launched");
    f.time("backward", backward_s, "Time that the device waits during the backward pass");
  }
};

struct WorkloadSection {
  std::string name = "workload";
  std::optional<std::vector<LayerSection>> layers;
  std::optional<double> step_time_s, parameters;
  std::optional<StepCostSection> step_cost;
  std::optional<int> equal_layers;
  std::optional<int> layer_times_batch;
  RawValue measured_on;
  std::optional<HostGapSection> host_gap;
  std::vector<OneDeviceSection> one_device;
  int batch = 1;
  int micro_batches = 1;
  RawValue compute_factor, compute_time;
  std::string source;

  void fields(Fields& f) {
    f.text("name", name, "Name of the workload in reports");
    f.objects("layers", layers, "The network's layers, in the order of the forward pass",
              "One layer, in forward order")
        .least_items(1);
    f.time(
         "step_time", step_time_s,
         "Time of the forward and backward pass of `batch` samples on one device; with \"parameters\" it takes the place of layers, if no more is known")
        .above(0);
    f.object("step_cost", step_cost,
             "Time of a step as a law of its samples, for any batch; in place of step_time")
        .by_rule("none");
    f.number("parameters", parameters,
             "With step_time or step_cost: how many parameters the network has, such as 25.6e6")
        .above(0)
        .example("25.6e6");
    f.whole(
         "equal_layers", equal_layers,
         "With step_time or step_cost, this many layers of equal size and time stand for the network; with 1 no communication hides behind the backward pass")
        .at_least(1)
        .at_most(10000)
        .by_rule(fmt::format("{} with step_time or step_cost", kUsualEqualLayers));
    f.whole("layer_times_batch", layer_times_batch, "Batch for which the layers' own times hold")
        .at_least(1)
        .by_rule(
            "the batch of the one-device time that is used, else of the first, else the workload's batch; a step_cost has none");
    f.raw("measured_on", measured_on, f.only_reads() ? Json::object() : measured_on_schema())
        .by_rule(
            "the device of the one_device entry that is used; without one the times hold whatever the device")
        .example("\"V100\"");
    f.object(
         "host_gap", host_gap,
         "Extra time of each pass beyond its layers, if no one-device time is used: the device waits for its host, which launches kernels or loads data. It is the same for any batch and device")
        .by_rule("none");
    f.objects("one_device", one_device,
              "Measured one-device times; the one with the cluster's device and the nearest batch is used",
              "A measured step on one device");
    f.whole("batch", batch, "Samples per worker and step").required().at_least(1);
    f.whole("micro_batches", micro_batches,
            "Parts of the batch whose gradients are accumulated; only the last one communicates")
        .at_least(1);
    add_measured(f, "compute_factor", compute_factor, "Factor on the compute time of each worker and step",
                 DrawUnit::factor)
        .by_rule("1");
    add_measured(
        f, "compute_time", compute_time,
        "Distribution of the measured compute time of a step. Only its shape counts: the factor is a draw over the mean",
        DrawUnit::seconds);
    f.text("source", source, "Where the numbers come from");
  }
};

/// Without the entries that are wrong, which are reported: each says forward_backward, samples_per_s or
/// step_cost, one of them.
std::vector<OneDeviceTime> one_device_times(const Reader& reader,
                                            const std::vector<OneDeviceSection>& entries);

struct WorkloadTable {
  Workload workload;  ///< all but the layers and what depends on the device
  LayerTable layers;
  std::vector<OneDeviceTime> one_device;
  double own_batch = 1;               ///< samples with which the layers' own times were measured
  std::optional<Device> measured_on;  ///< the device of these
  double forward_gap_s = 0,
         backward_gap_s = 0;   ///< of each pass, beside own times: the device waits for its host
  bool step_is_given = false;  ///< by "step_time" or "step_cost": the layers are equal parts of it
};

/// The section "workload"; own times of layers per sample, for the measured time that `device` uses. Nothing
/// where it is "self" or something is wrong, which is reported.
std::optional<WorkloadTable> read_workload(const Reader& reader, const std::string& device);

/// "workload": "self": the layers of the learner's model.
WorkloadTable workload_of(const Learner& learner);

}  // namespace simsgd
