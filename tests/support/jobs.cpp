#include "tests/support/jobs.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <numeric>

#include "sim/learn/data/registry.hpp"
#include "sim/learn/models/registry.hpp"

namespace simsgd::test {

namespace {

Network ports(const std::vector<double>& alpha_s, const std::vector<double>& bandwidth_Bps) {
  Network network;
  network.topology = "test";
  network.endpoints = static_cast<int>(alpha_s.size());
  for (std::size_t i = 0; i < alpha_s.size(); ++i) {
    for (const char* direction : {"up", "down"}) {
      Link link;
      link.name = std::string(direction) + std::to_string(i);
      link.bandwidth_Bps = bandwidth_Bps[i];
      link.latency_s = alpha_s[i];
      network.links.push_back(link);
    }
  }
  network.route = [](int from, int to, std::vector<LinkId>& path) {
    path.push_back(2 * from);
    path.push_back(2 * to + 1);
  };
  return network;
}

}  // namespace

Network star(int count, double alpha_s, double bandwidth_Bps) {
  const auto n = static_cast<std::size_t>(count);
  return ports(std::vector<double>(n, alpha_s / 2), std::vector<double>(n, bandwidth_Bps));
}

Network unequal_star(const std::vector<double>& port_alpha_s, const std::vector<double>& port_Bps) {
  return ports(port_alpha_s, port_Bps);
}

Network trunk(int count, double alpha_s, double bandwidth_Bps, double trunk_Bps) {
  Network network = star(count, alpha_s, bandwidth_Bps);
  const auto first_trunk = static_cast<LinkId>(network.links.size());
  for (const char* name : {"trunk there", "trunk back"}) {
    Link link;
    link.name = name;
    link.bandwidth_Bps = trunk_Bps;
    network.links.push_back(link);
  }
  network.route = [count, first_trunk](int from, int to, std::vector<LinkId>& path) {
    const bool far = from >= count / 2, far_to = to >= count / 2;
    path.push_back(2 * from);
    if (far != far_to) path.push_back(first_trunk + (far ? 1 : 0));
    path.push_back(2 * to + 1);
  };
  return network;
}

Job scripted_job(Network network, std::function<void(Worker&)> body, double parameters) {
  Job job;
  job.name = "scripted";
  job.cluster.nodes = network.endpoints;
  job.cluster.endpoint_of_rank.resize(static_cast<std::size_t>(network.endpoints));
  std::iota(job.cluster.endpoint_of_rank.begin(), job.cluster.endpoint_of_rank.end(), 0);
  job.cluster.network = std::move(network);
  Layer layer;
  layer.tensors = {parameters};
  job.workload.layers = {layer};
  job.algorithm = std::make_unique<ScriptedAlgorithm>(std::move(body));
  job.stop.steps = 1;
  return job;
}

void give_layers(Job& job, std::size_t count, double parameters, double forward_s, double backward_s) {
  Layer layer;
  if (parameters > 0) layer.tensors = {parameters};
  layer.forward_s = forward_s;
  layer.backward_s = backward_s;
  job.workload.layers.assign(count, layer);
}

void give_three_layers(Job& job, double scale, int micro_batches) {
  give_layers(job, 3, 0, 1e-3, 2e-3);
  job.workload.layers[0].tensors = {10 * scale, 6 * scale};
  job.workload.layers[2].tensors = {TensorShape(5 * scale, 4)};
  job.workload.micro_batches = micro_batches;
}

void use_rings(Job& job) {
  for (const CollectiveOp op :
       {CollectiveOp::all_reduce, CollectiveOp::reduce_scatter, CollectiveOp::all_gather})
    job.network.collectives[op] = CollectivePolicy::of("ring");
}

namespace {
template <class... Operations>
AnyCollective made(std::size_t index, double bytes, const std::string& schedule, int root,
                   std::variant<Operations...>*) {
  AnyCollective all[] = {timed<Operations>(bytes, schedule, root)...};
  return std::move(all[index]);
}
}  // namespace

AnyCollective timed_any(CollectiveOp op, double bytes, const std::string& schedule, int root) {
  return made(static_cast<std::size_t>(op), bytes, schedule, root, static_cast<AnyCollective*>(nullptr));
}

void run_any(Worker& worker, AnyCollective collective) {
  std::visit([&](auto& operation) { worker.wait(worker.collectives().start(std::move(operation))); },
             collective);
}

void give_learner(Job& job, const LearnerRequest& request) {
  LearnerSpec spec;
  for (const DataPlugin& plugin : data_plugins()) {
    if (plugin.info.name != request.data) continue;
    const DataSets sets =
        plugin.make(request.data_parameters,
                    {.seed = request.data_seed, .resolve = [](const std::string& path) { return path; }});
    spec.train = sets.train;
    spec.test = sets.test;
  }
  for (const ModelPlugin& plugin : model_plugins())
    if (plugin.info.name == request.model) spec.model = plugin.make(request.model_parameters, *spec.train);
  spec.workers = job.workers();
  spec.batch = request.batch;
  spec.seed = job.seed;
  job.learner = std::make_unique<Learner>(std::move(spec));
  job.optimizer.learning_rate.base = request.learning_rate;
  job.optimizer.rule = sgd_rule(request.momentum);
}

void add_learner(Job& job, int batch, int samples, double learning_rate) {
  give_learner(
      job, {.data = "gaussian_mixture",
            .model = "softmax_regression",
            .data_parameters = {{"features", 8}, {"classes", 4}, {"samples", samples}, {"test_samples", 256}},
            .data_seed = 3,
            .batch = batch,
            .learning_rate = learning_rate,
            .momentum = 0.9});
}

std::vector<double> losses_of(const RunRecord& record) {
  std::vector<double> losses;
  for (const SeriesPoint& point : record.series) losses.push_back(point.train_loss);
  return losses;
}

std::vector<double> steps_of(const RunRecord& record) {
  std::vector<double> steps;
  for (const WorkerRecord& worker : record.workers) steps.push_back(static_cast<double>(worker.steps));
  return steps;
}

double sent_bytes(const WorkerTotals& worker, Traffic traffic) {
  return worker.bytes_sent[static_cast<std::size_t>(traffic)];
}

double spent_s(const WorkerTotals& worker, Activity activity) {
  return worker.activity_s[static_cast<std::size_t>(activity)];
}

double memory_of(const std::vector<MemoryPart>& parts, const std::string& name) {
  for (const MemoryPart& part : parts)
    if (part.name == name) return part.bytes;
  return 0;
}

double worst_relative_difference(const std::vector<double>& a, const std::vector<double>& b) {
  if (a.size() != b.size()) return std::numeric_limits<double>::infinity();
  double worst = 0;
  for (std::size_t i = 0; i < a.size(); ++i) worst = std::max(worst, std::fabs(a[i] - b[i]) / b[i]);
  return worst;
}

}  // namespace simsgd::test
