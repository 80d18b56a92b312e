#define DOCTEST_CONFIG_IMPLEMENT
#include "tests/measure/world.hpp"

#include <doctest/doctest.h>

namespace simsgd::test {

Job small_job(std::uint64_t steps) {
  Job job;
  MPI_Comm_size(MPI_COMM_WORLD, &job.cluster.nodes);
  Network& network = job.cluster.network;
  network.topology = "star";
  network.endpoints = job.cluster.nodes;
  for (int rank = 0; rank < job.cluster.nodes; ++rank) {
    job.cluster.endpoint_of_rank.push_back(rank);
    for (const char* direction : {"up", "down"}) {
      Link link;
      link.name = direction + std::to_string(rank);
      link.bandwidth_Bps = 1e9;
      link.latency_s = 5e-6;
      network.links.push_back(link);
    }
  }
  network.route = [](int from, int to, std::vector<LinkId>& path) {
    path.push_back(2 * from);
    path.push_back(2 * to + 1);
  };
  Layer layer;
  layer.tensors = {1000};
  job.workload.layers = {layer};
  job.stop.steps = steps;
  return job;
}

Values vector(Worker& worker, std::vector<float> values) {
  return worker.executor().constant({std::move(values), {}, {}});
}

Values sparse(Worker& worker, std::vector<std::int32_t> indices, std::vector<float> values,
              std::vector<double> scalars) {
  return worker.executor().constant({std::move(values), std::move(indices), std::move(scalars)});
}

Tensor tensor(Worker& worker, const Values& values) {
  return values ? worker.executor().get(values) : Tensor{};
}

Collective collective(Collective::Op op, Values contribution) {
  Collective collective;
  collective.op = op;
  collective.bytes = 4000;
  collective.contribution = std::move(contribution);
  return collective;
}

Values run(Worker& worker, Collective collective) {
  const Handle handle = worker.start(std::move(collective));
  worker.wait(handle);
  return worker.result(handle);
}

}  // namespace simsgd::test

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int size = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  doctest::Context context(argc, argv);
  const int code = size == 3 ? context.run() : 1;
  MPI_Finalize();
  return code;
}
