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
      f.whole("batch", batch, "This pass has this many samples").required().at_least(1);
      f.time("step_time", step_s, "A forward and a backward pass of this batch take this long")
          .required()
          .above(0);
    }
  };
  std::optional<double> fixed_s, per_sample_s, evaluation_s;
  std::optional<std::vector<Time>> times;

  void fields(Fields& f) {
    f.time(
         "fixed", fixed_s,
         "Each pass takes this fixed time, however many samples it has (each micro-batch, if gradients are accumulated)")
        .by_rule("0 beside per_sample");
    f.time("per_sample", per_sample_s, "Each sample adds this time").by_rule("0 beside fixed");
    f.time(
         "evaluation", evaluation_s,
         "Evaluations between steps take this long for each sample that is trained on. That time is spread evenly over the steps")
        .by_rule("none: no time");
    f.objects(
         "times", times,
         "Measured passes, which take the place of fixed and per_sample, sorted by batch. Other batches are interpolated on logarithmic scales; a batch outside the measured range is an error",
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
    f.text("name", name, "Name of the layer, as timelines show it").by_rule("its type and number");
    f.choice("type", kind,
             {{"conv", Layer::Kind::conv},
              {"fc", Layer::Kind::fc},
              {"bn", Layer::Kind::bn},
              {"embedding", Layer::Kind::embedding},
              {"other", Layer::Kind::other}},
             "What kind of layer it is")
        .required();
    f.raw("tensors", tensors, tensors_schema).required().example("[[1000, 2048], 1000]");
    f.flop("forward_flop", forward_flop,
           "The forward pass takes this many FLOPs for each sample. A multiply-add counts as 2");
    f.time("forward", forward_s,
           "The forward pass of `layer_times_batch` samples takes this long, as measured")
        .by_rule("half of the backward time where that is given, else its share of the step, or modelled");
    f.time("backward", backward_s, "The backward pass of the same batch takes this long, as measured")
        .by_rule("twice the forward time");
    f.number("activations", activations, "The layer's output has this many entries for each sample")
        .at_least(0);
    f.number("positions", positions,
             "The layer's product is taken at this many positions for each sample: output height x width")
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
    f.text("device", device, "Name of the device that the time was measured on").required();
    f.whole("batch", batch,
            "The step has this many samples (the micro-batch, where gradients are accumulated)")
        .at_least(1)
        .by_rule("must be given, unless there is a step_cost");
    f.time("forward_backward", forward_backward_s,
           "A forward and a backward pass of that batch take this long")
        .above(0);
    f.number("samples_per_s", samples_per_s, "The throughput, which may be given in place of the time")
        .above(0);
    f.object(
         "step_cost", step_cost,
         "How the time of a pass depends on its samples, for any batch. It takes the place of the time of one batch")
        .by_rule("none");
    f.text("source", source, "Who measured it").required();
  }
};

/// A distribution that may also be shifted, and say where it comes from.
Field& add_measured(Fields& f, std::string_view key, RawValue& value, const char* meaning, DrawUnit unit);

/// The device that layers were measured on, as far as their times on another one need it.
struct MeasuredOnSection {
  std::string name;
  double peak_flops = 0, efficiency = 0.5, memory_Bps = 0;

  void fields(Fields& f) {
    f.text("name", name, "The workload's name").required();
    f.flops("peak_flops", peak_flops, "The device's peak rate; 0 means unknown");
    f.number("efficiency", efficiency, "Training kernels reach this share of the peak").above(0).at_most(1);
    f.quantity(Dimension::rate_Bps, "memory_bandwidth", memory_Bps,
               "The device's memory has this bandwidth; 0 means unknown")
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
        "The device waits this long in the forward pass and between two passes, while data are loaded and the optimizer is launched");
    f.time("backward", backward_s, "The device waits this long in the backward pass");
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
         "The forward and the backward pass of `batch` samples take this long on one device. Together with \"parameters\" it takes the place of layers, if no more is known")
        .above(0);
    f.object("step_cost", step_cost,
             "How the time of a step depends on its samples, for any batch. It takes the place of step_time")
        .by_rule("none");
    f.number("parameters", parameters,
             "The network has this many parameters, such as 25.6e6. It goes with step_time or step_cost")
        .above(0)
        .example("25.6e6");
    f.whole(
         "equal_layers", equal_layers,
         "With step_time or step_cost, the network is cut into this many equal layers. With 1, no communication hides behind the backward pass")
        .at_least(1)
        .at_most(10000)
        .by_rule(fmt::format("{} with step_time or step_cost", kUsualEqualLayers));
    f.whole("layer_times_batch", layer_times_batch, "The layers' own times hold for this batch")
        .at_least(1)
        .by_rule(
            "the batch of the one-device time that is used, else of the first, else the workload's batch; a step_cost has none");
    f.raw("measured_on", measured_on, measured_on_schema)
        .by_rule(
            "the device of the one_device entry that is used; without one the times hold whatever the device")
        .example("\"V100\"");
    f.object(
         "host_gap", host_gap,
         "Time that the device waits for its host, which launches kernels or loads data. Each pass takes this much longer than its layers, for any batch and device, unless a one-device time is used")
        .by_rule("none");
    f.objects("one_device", one_device,
              "Measured times on one device. The one with the cluster's device and the nearest batch is used",
              "A measured step on one device");
    f.whole("batch", batch, "Each worker trains on this many samples in a step").required().at_least(1);
    f.whole(
         "micro_batches", micro_batches,
         "A batch is computed in this many parts whose gradients are accumulated; only the last part communicates")
        .at_least(1);
    add_measured(f, "compute_factor", compute_factor,
                 "The compute time of each worker and step is multiplied by a draw of this", DrawUnit::factor)
        .by_rule("1");
    add_measured(
        f, "compute_time", compute_time,
        "Distribution of the compute time of a step, as measured. Only its shape counts: a draw is divided by the mean, and that is a factor on the workload's time",
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

struct ShippedDevice {
  std::string file{};  ///< as a `use` names it: "devices/h100.json"
  Device device{};
};
/// The one whose name the text has; the longest name counts ("H100" in "GH100" does not). Without a name
/// where there is none.
ShippedDevice shipped_device(const std::string& text);

/// "workload": "self": the layers of the learner's model.
WorkloadTable workload_of(const Learner& learner);

}  // namespace simsgd
