// network: ping_pong, half of there and back; exchange, both ways at once.
#include <fmt/format.h>

#include "measure/bench/benchmarks.hpp"

namespace simsgd {

namespace {

struct Pair {
  int a = 0, b = 1;
};

struct LineMessage {
  Pair pair;
  double bytes = 0;
  bool both_ways = false;
};

std::vector<Pair> pairs_of(const Bench& bench) {
  if (!bench.options.all_pairs) return {{}};
  std::vector<Pair> pairs;
  for (int a = 0; a < bench.machine.ranks; ++a)
    for (int b = a + 1; b < bench.machine.ranks; ++b) pairs.push_back({a, b});
  return pairs;
}

/// Two ranks, of which this is one.
class Line {
 public:
  Line(const Bench& bench, MPI_Comm comm, std::size_t most_bytes)
      : bench_(bench), comm_(comm), out_(most_bytes, std::byte{1}), in_(most_bytes) {
    MPI_Comm_rank(comm, &rank_);
  }

  std::vector<double> ping_pong(int bytes) {
    const double warm_s = round_trips(bytes, kWarmUp).back();
    int samples = samples_for(bench_.options, warm_s);
    if (rank_ == 0)
      send(&samples, sizeof(samples));
    else
      receive(&samples, sizeof(samples));
    return round_trips(bytes, samples);
  }

  std::vector<double> exchange(int bytes) {
    Together together(bench_, comm_);
    return together.times([&] {
      MPI_Request requests[2];
      MPI_Irecv(in_.data(), bytes, MPI_BYTE, 1 - rank_, kTag, comm_, &requests[0]);
      MPI_Isend(out_.data(), bytes, MPI_BYTE, 1 - rank_, kTag, comm_, &requests[1]);
      bench_.waiting.all(requests);
    });
  }

 private:
  static constexpr int kTag = 1, kWarmUp = 4;

  void send(const void* data, std::size_t bytes) {
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Isend(data, static_cast<int>(bytes), MPI_BYTE, 1 - rank_, kTag, comm_, &request);
    bench_.waiting.all({&request, 1});
  }
  void receive(void* data, std::size_t bytes) {
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Irecv(data, static_cast<int>(bytes), MPI_BYTE, 1 - rank_, kTag, comm_, &request);
    bench_.waiting.all({&request, 1});
  }

  std::vector<double> round_trips(int bytes, int count) {
    const auto size = static_cast<std::size_t>(bytes);
    std::vector<double> halves;
    for (int i = 0; i < count; ++i) {
      const double begin_s = seconds_now();
      if (rank_ == 0) send(out_.data(), size);
      receive(in_.data(), size);
      if (rank_ == 1) send(out_.data(), size);
      constexpr double kOneWay = 0.5;
      halves.push_back(kOneWay * (seconds_now() - begin_s));
    }
    return halves;
  }

  const Bench& bench_;
  MPI_Comm comm_;
  int rank_ = 0;
  std::vector<std::byte> out_, in_;
};

std::vector<LineMessage> messages_of(const Bench& bench) {
  std::vector<LineMessage> messages;
  for (const Pair pair : pairs_of(bench))
    for (const double bytes : sizes_of(bench.options, true))
      for (const bool both_ways : {false, true}) messages.push_back({pair, bytes, both_ways});
  return messages;
}

// Collective over the world: a communicator of the two at them, MPI_COMM_NULL elsewhere.
MPI_Comm comm_of(const Bench& bench, Pair pair) {
  const bool mine = bench.machine.rank == pair.a || bench.machine.rank == pair.b;
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Comm_split(bench.world, mine ? 0 : MPI_UNDEFINED, bench.machine.rank, &comm);
  return comm;
}

int nodes_of(const BenchMachine& machine, Pair pair) {
  return machine.node_of[static_cast<std::size_t>(pair.a)] ==
                 machine.node_of[static_cast<std::size_t>(pair.b)]
             ? 1
             : 2;
}

// Rank 0 writes what others measured.
std::vector<double> to_root(const Bench& bench, int from, std::vector<double> times) {
  if (from == 0 || (bench.machine.rank != from && bench.machine.rank != 0)) return times;
  constexpr int kTag = 2;
  int count = static_cast<int>(times.size());
  if (bench.machine.rank == from) {
    MPI_Send(&count, 1, MPI_INT, 0, kTag, bench.world);
    MPI_Send(times.data(), count, MPI_DOUBLE, 0, kTag, bench.world);
    return {};
  }
  MPI_Recv(&count, 1, MPI_INT, from, kTag, bench.world, MPI_STATUS_IGNORE);
  times.resize(static_cast<std::size_t>(count));
  MPI_Recv(times.data(), count, MPI_DOUBLE, from, kTag, bench.world, MPI_STATUS_IGNORE);
  return times;
}

}  // namespace

SampleTable measure_network(const Bench& bench) {
  SampleTable table("network", bench.machine, {"pair"});
  const std::vector<LineMessage> messages = messages_of(bench);
  std::vector<MPI_Comm> comms;
  for (const Pair pair : pairs_of(bench)) comms.push_back(comm_of(bench, pair));
  const std::size_t per_pair = messages.size() / comms.size();
  run_campaigns(bench, messages.size(), [&](const Campaign& campaign, std::size_t i) {
    const LineMessage& message = messages[i];
    MPI_Comm comm = comms[i / per_pair];
    std::vector<double> times;
    if (comm != MPI_COMM_NULL) {
      bench.waiting.look_for_sockets();
      Line line(bench, comm, static_cast<std::size_t>(message.bytes));
      const int bytes = static_cast<int>(message.bytes);
      times = message.both_ways ? line.exchange(bytes) : line.ping_pong(bytes);
    }
    times = to_root(bench, message.pair.a, std::move(times));
    if (bench.machine.rank == 0)
      table.add(campaign,
                {message.both_ways ? "exchange" : "ping_pong",
                 "",
                 2,
                 nodes_of(bench.machine, message.pair),
                 message.bytes,
                 {fmt::format("{}-{}", message.pair.a, message.pair.b)}},
                times);
  });
  return table;
}

}  // namespace simsgd
