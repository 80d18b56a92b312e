// Schema of "workload": the network whose training is timed.
#include "scenarios/language/schema_parts.hpp"
#include "sim/base/distribution_json.hpp"

namespace simsgd::schema {

namespace {

Json layer() {
  return object(
      "One layer, in forward order",
      {{"name", text("What timelines call it")},
       {"type", choice("Kind of layer", {"conv", "fc", "bn", "embedding", "other"})},
       {"tensors", list("Number of parameters of each of its tensors (weight, bias)",
                        at_least(number("Parameters"), 0))},
       {"forward_flop", at_least(quantity("flop", "Per sample, a multiply-add counted as 2"), 0)},
       {"forward", time_of("Measured forward time for a batch of `layer_times_batch` samples")},
       {"backward", time_of("Measured backward time for the same batch; without it twice the forward time")},
       {"activations", at_least(number("Output entries per sample"), 0)},
       {"a_dim", integer("K-FAC: dimension of factor A, 0 where the layer has none", 0)},
       {"g_dim", integer("K-FAC: dimension of factor G", 0)},
       {"positions", at_least(number("K-FAC: output height x width"), 1)}},
      {"type", "tensors"});
}

Json one_device() {
  Json form = object(
      "A measured step on one device",
      {{"device", text("Name of the device")},
       {"batch", integer("Samples of the step (of the micro-batch, where gradients are accumulated)", 1)},
       {"forward_backward", above(quantity("time", "Forward and backward pass of that batch"), 0)},
       {"samples_per_s", above(number("Or the throughput"), 0)},
       {"source", text("Who measured it")}},
      {"device", "batch", "source"});
  return list("Measured one-device times; the one with the cluster's device and the nearest batch is used",
              std::move(form));
}

/// A distribution that may also be shifted, and say where it comes from.
Json measured(DrawUnit unit, const std::string& description) {
  Json distribution = nested_distribution_schema(unit, description);
  for (Json& form : distribution["oneOf"]) {
    if (!form.contains("properties")) continue;
    form["properties"].emplace("shift", amount_schema(unit, "Added to every draw"));
    form["properties"]["source"] = text("Where the numbers come from");
  }
  return distribution;
}

}  // namespace

Json workload() {
  Json table = object(
      "A network, layer by layer",
      {{"name", with_default(text("What reports call it"), "workload")},
       {"layers", list("Its layers in forward order", layer())},
       {"step_time",
        above(quantity("time",
                       "In place of layers: a step of `batch` samples on one device, forward and "
                       "backward pass, where no more is known; with \"parameters\""),
              0)},
       {"parameters",
        above(number("With step_time: how many parameters the network has, such as 25.6e6"), 0)},
       {"equal_layers",
        at_most(integer("With step_time: so many layers of equal size and time stand for the network; 1: no "
                        "communication hides behind the backward pass. By default 32",
                        1),
                10000)},
       {"layer_times_batch",
        integer("Samples for which the layers' own times hold; by default the batch of the "
                "one-device time that is used, else of the first, else the workload's batch",
                1)},
       {"one_device", with_default(one_device(), Json::array())},
       {"batch", integer("Samples per worker and step", 1)},
       {"micro_batches",
        with_default(integer("Parts of the batch whose gradients are accumulated; only the last one "
                             "communicates",
                             1),
                     1)},
       {"compute_factor",
        measured(DrawUnit::factor, "Factor on the compute time of each worker and step; default 1")},
       {"compute_time",
        measured(DrawUnit::seconds,
                 "Measured compute time of a step: only its shape counts, the factor is it over its mean")},
       {"source", with_default(text("Where the numbers come from"), "")}},
      {"batch"});
  table["properties"]["layers"]["minItems"] = 1;
  return either(
      "The network whose training is timed",
      {{{"type", "string"}, {"const", "self"}, {"description", "\"self\": the learner's own model"}},
       std::move(table)});
}

}  // namespace simsgd::schema
