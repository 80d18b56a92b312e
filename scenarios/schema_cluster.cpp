// Schema of "cluster": what docs/model.md calls the cluster, as files describe it.
#include "scenarios/schema_parts.hpp"
#include "topologies/registry.hpp"

namespace simsgd::schema {

namespace {

Json bandwidth_of(const std::string& description) { return above(quantity("bandwidth", description), 0); }
Json source() { return with_default(text("Where the numbers come from"), ""); }

Json kfac_device() {
  Json inverse = list("Measured times of inverting a matrix, by ascending dimension; between them and beyond "
                      "interpolated on logarithmic scales. []: dimension^3 FLOPs at the device's efficiency",
                      object("One measurement",
                             {{"dimension", integer("Rows of the matrix", 1)},
                              {"time", above(quantity("time", "Of the kernel alone"), 0)}},
                             {"dimension", "time"}));
  return with_default(
      object("What K-FAC costs on it beyond forward and backward passes",
             {{"gemm_efficiency",
               at_most(at_least(with_default(number("Share of the peak that the products of factors and of "
                                                    "preconditioning reach; 0: the device's efficiency"),
                                             0),
                                0),
                       1)},
              {"factor_overhead",
               with_default(time_of("For each factor: patches, running average, launches"), 0)},
              {"inverse", with_default(std::move(inverse), Json::array())},
              {"inverse_overhead", with_default(time_of("For each matrix inverted"), 0)}}),
      Json::object());
}

Json device() {
  return object(
      "The GPU that every worker has",
      {{"name", text("Its name; one-device times of workloads refer to it")},
       {"peak_flops",
        with_default(at_least(quantity("flops",
                                       "Peak rate that training uses, a multiply-add counted as "
                                       "2; 0 where unknown"),
                              0),
                     0)},
       {"efficiency",
        at_most(above(with_default(number("Share of the peak that training kernels reach"), 0.5), 0), 1)},
       {"memory",
        with_default(at_least(quantity("bytes", "Memory; 0 where unknown: then it is not checked"), 0), 0)},
       {"memory_bandwidth",
        with_default(at_least(quantity("bandwidth", "Of its memory; 0 where unknown"), 0), 0)},
       {"launch", with_default(time_of("Overhead per kernel: per layer and direction"), 0)},
       {"communication_slowdown",
        with_default(at_least(number("Computing takes 1 + this times as long while a collective is in progress "
                                     "on the device"),
                              0),
                     0)},
       {"kfac", kfac_device()},
       {"price_usd_per_h",
        with_default(at_least(number("Price of one GPU with its share of the node; 0 where unknown"), 0), 0)},
       {"selection",
        with_default(time_of("Choosing k of d entries takes this x d log2 d, whatever k; 0: no time"), 0)},
       {"busy_power", with_default(at_least(quantity("power", "While computing; 0 where unknown"), 0), 0)},
       {"idle_power", with_default(at_least(quantity("power", "While waiting or communicating"), 0), 0)},
       {"source", source()}},
      {"name"});
}

Json gpu_link() {
  return object("NVLink or PCIe inside a node, per GPU and direction",
                {{"bandwidth", bandwidth_of("Bytes per second")},
                 {"latency", with_default(time_of("One way, from GPU to GPU of one node"), 0)}},
                {"bandwidth"});
}

Json nic() {
  return object("How a node is attached to the network",
                {{"bandwidth", bandwidth_of("Of each NIC and direction")},
                 {"latency", with_default(time_of("One way, from NIC to NIC through one switch"), 0)},
                 {"count", with_default(integer("NICs (rails) per node", 1), 1)}},
                {"bandwidth"});
}

Json host() {
  return object(
      "What the host adds to a message or a collective; all 0: the network alone",
      {{"launch", with_default(time_of("Per operation and worker, before its first byte moves"), 0)},
       {"pack",
        with_default(at_least(number("Seconds per byte of payload: copy into a fusion buffer before, and out "
                                     "of it after"),
                              0),
                     0)},
       {"staging_bandwidth",
        with_default(at_least(quantity("bandwidth",
                                       "Device-to-host copy before and host-to-device copy after; "
                                       "0: no staging (RDMA)"),
                              0),
                     0)},
       {"reduce",
        with_default(at_least(number("Seconds per byte: adding what arrived to the local sum"), 0), 0)},
       {"tensor", with_default(time_of("For each tensor that is gathered into a message"), 0)},
       {"scale",
        with_default(at_least(number("Seconds per byte: multiplying a vector by a number (sgp)"), 0), 0)},
       {"overlap",
        with_default(time_of("Before the end of a backward pass at which what follows it begins: tensors "
                             "that are ready travel meanwhile"),
                     0)}});
}

Json sparsification() {
  return object(
      "What sparsified gradients cost beyond their messages and the device's selection; all 0: nothing",
      {{"accumulate", with_default(time_of("Per dense parameter: gathering the gradient into one vector and "
                                           "adding the residual; booked as computing"),
                                   0)},
       {"copy", with_default(time_of("Per dense parameter: copies on the host, beside the gradient's way down "
                                     "and up over staging_bandwidth"),
                             0)},
       {"merge", with_default(time_of("Per received entry of a merge (gTop-k), on the host"), 0)},
       {"add", with_default(time_of("Per gathered entry that is added into a dense vector (Top-k), on the host"),
                            0)}});
}

Json placement() {
  Json numbers = list("GPU of each worker (node x gpus_per_node + GPU); the first `workers` entries are used",
                      integer("Number of a GPU", 0));
  numbers["uniqueItems"] = true;
  PluginInfo random;
  random.name = "random";
  random.summary = "GPUs drawn without replacement from the scenario's seed";
  return with_default(
      either("Which GPU each worker has: block fills node after node, round_robin deals workers to the nodes "
             "in turn",
             {choice("A rule", {"block", "round_robin"}), std::move(numbers), plugin("Drawn", {random})}),
      "block");
}

}  // namespace

Json cluster() {
  std::vector<PluginInfo> topologies;
  for (const TopologyPlugin& each : topology_plugins()) topologies.push_back(each.info);
  Json speeds = list("Relative speed of each node's GPUs, one number per node; [] is 1 for all",
                     above(number("1 is the device's own speed"), 0));
  return object("The machines",
                {{"name", with_default(text("What reports call it"), "cluster")},
                 {"workers", integer("How many GPUs train", 1)},
                 {"nodes", integer("How many nodes there are; by default as many as the workers need", 1)},
                 {"gpus_per_node", with_default(integer("GPUs in a node", 1), 1)},
                 {"device", device()},
                 {"gpu_link", gpu_link()},
                 {"nic", nic()},
                 {"topology", plugin("The network between the nodes", topologies)},
                 {"host", with_default(host(), Json::object())},
                 {"sparsification", with_default(sparsification(), Json::object())},
                 {"node_speed", with_default(std::move(speeds), Json::array())},
                 {"placement", placement()},
                 {"source", source()}},
                {"workers", "device", "nic", "topology"});
}

}  // namespace simsgd::schema
