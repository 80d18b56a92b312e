// Schema of "cluster": what docs/model.md calls the cluster, as files describe it.
#include "scenarios/language/schema_parts.hpp"
#include "topologies/registry.hpp"

namespace simsgd::schema {

namespace {

Json bandwidth_of(const std::string& description) { return above(quantity("bandwidth", description), 0); }
Json source() { return with_default(text("Where the numbers come from"), ""); }

Json share_of_peak(const std::string& description) { return at_most(above(number(description), 0), 1); }

/// Costs of kernels and of the host have no default: one that is left out is unknown, which is not 0.
Json gemm() {
  return object(
      "Products of matrices: 2 m n k flop at a share of peak_flops",
      {{"efficiency",
        share_of_peak("Share of the peak that large products reach; unknown: that of training")},
       {"gather", time_of("For each product of a matrix that is gathered first (a factor of K-FAC: patches, "
                          "running average, launches)")}});
}

Json inverse() {
  Json times = list(
      "Measured times, by ascending dimension; between them and beyond interpolated on "
      "logarithmic scales",
      object("One measurement",
             {{"dimension", integer("Rows of the matrix", 1)},
              {"time", above(quantity("time", "Of the kernel alone"), 0)}},
             {"dimension", "time"}));
  times["minItems"] = 1;
  return object("Inverting symmetric matrices; unknown: dimension^3 FLOPs at the device's efficiency",
                {{"times", std::move(times)}, {"overhead", time_of("For each matrix")}}, {"times"});
}

/// Keys that have another name now, by what to write in their place.
Json renamed(Json schema, const Json& names) {
  schema["x-renamed"] = names;
  return schema;
}

Json device() {
  Json keys = object(
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
       {"launch", time_of("Overhead per kernel: per layer and direction")},
       {"vector_pass",
        object("Passes over long vectors: bytes read and written at a share of memory_bandwidth",
               {{"efficiency",
                 share_of_peak("Share of memory_bandwidth that they reach; unknown: all of it")}})},
       {"copy_bandwidth",
        above(quantity("bandwidth", "Copies between its memory and the host's, each way: PCIe"), 0)},
       {"communication_slowdown",
        at_least(
            number("Computing takes 1 + this times as long while a collective is in progress on the device"),
            0)},
       {"gemm", gemm()},
       {"inverse", inverse()},
       {"price_usd_per_h",
        with_default(at_least(number("Price of one GPU with its share of the node; 0 where unknown"), 0), 0)},
       {"selection", time_of("Choosing k of d entries takes this x d log2 d, whatever k; 0: no time")},
       {"busy_power", with_default(at_least(quantity("power", "While computing; 0 where unknown"), 0), 0)},
       {"idle_power", with_default(at_least(quantity("power", "While waiting or communicating"), 0), 0)},
       {"source", source()}},
      {"name"});
  return renamed(std::move(keys),
                 {{"kfac",
                   "Name the kernels: its \"gemm_efficiency\" is \"efficiency\" of \"gemm\", its "
                   "\"factor_overhead\" \"gather\" of \"gemm\", its \"inverse\" \"times\" of "
                   "\"inverse\", its \"inverse_overhead\" \"overhead\" of \"inverse\""}});
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
      "What the host adds to a message or a collective. What is left out is unknown: it counts as 0, and the "
      "result says so",
      {{"launch", time_of("Per operation and worker, before its first byte moves")},
       {"pack",
        at_least(number("Seconds per byte of payload: copy into a fusion buffer before, and out of it "
                        "after. Left out: a copy on the device, by its vector_pass"),
                 0)},
       {"staged", flag("Whether payloads are copied device to host before and host to device after, at the "
                       "device's copy_bandwidth; false: no copy (RDMA)")},
       {"staging_bandwidth",
        at_least(quantity("bandwidth", "Of these copies where they have another one; 0: no copy"), 0)},
       {"reduce", at_least(number("Seconds per byte: adding what arrived to the local sum"), 0)},
       {"tensor", time_of("For each tensor that is gathered into a message")},
       {"scale", at_least(number("Seconds per byte: multiplying a vector by a number (sgp). Left out: on the "
                                 "device, by its vector_pass"),
                          0)},
       {"overlap",
        with_default(time_of("Before the end of a backward pass at which what follows it begins: tensors "
                             "that are ready travel meanwhile"),
                     0)}});
}

Json sparsification() {
  return object(
      "What sparsified gradients cost beyond their messages and the device's selection. What is left out is "
      "unknown: it counts as 0, and the result says so",
      {{"accumulate", time_of("Per dense parameter: gathering the gradient into one vector and adding the "
                              "residual; booked as computing. Left out: on the device, by its vector_pass")},
       {"copy", time_of("Per dense parameter: copies on the host, beside the gradient's way down and up over "
                        "staging_bandwidth")},
       {"merge", time_of("Per received entry of a merge (gTop-k), on the host")},
       {"add", time_of("Per gathered entry that is added into a dense vector (Top-k), on the host")}});
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
