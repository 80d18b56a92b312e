// network: ping_pong, half of there and back; exchange, both ways at once. With --at-once `exchanges` too:
// ranks 0 and 1, 2 and 3, ... exchange at the same time, again and again; what ranks that share a machine's
// cores cost each other.
#include <fmt/format.h>

#include <map>
#include <tuple>

#include "measure/bench/campaigns.hpp"

namespace simsgd {

namespace {

struct Pair {
  int a = 0, b = 1;
};

struct LineMessage {
  Pair pair;
  double bytes = 0;
  bool both_ways = false;
  int ranks = 2;  ///< that have a message under way
  int row = 1;    ///< so many, one after another
};

std::vector<Pair> pairs_of(const Bench& bench) {
  if (!bench.options.all_pairs) return {{}};
  std::vector<Pair> pairs;
  for (int a = 0; a < bench.machine.ranks; ++a)
    for (int b = a + 1; b < bench.machine.ranks; ++b) pairs.push_back({a, b});
  return pairs;
}

/// Two ranks, of which this is one: 0 and 1 of a communicator, 2 and 3, ...
class Line {
 public:
  Line(const Bench& bench, MPI_Comm comm, std::size_t most_bytes)
      : bench_(bench), comm_(comm), out_(most_bytes, std::byte{1}), in_(most_bytes) {
    MPI_Comm_rank(comm, &rank_);
    partner_ = rank_ ^ 1;
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

  std::vector<double> exchange(int bytes, int row) {
    Together together(bench_, comm_);
    std::vector<double> times = together.times([&] {
      for (int i = 0; i < row; ++i) {
        MPI_Request requests[2];
        MPI_Irecv(in_.data(), bytes, MPI_BYTE, partner_, kTag, comm_, &requests[0]);
        MPI_Isend(out_.data(), bytes, MPI_BYTE, partner_, kTag, comm_, &requests[1]);
        bench_.waiting.all(requests);
      }
    });
    for (double& time_s : times) time_s /= row;
    return times;
  }

 private:
  static constexpr int kTag = 1, kWarmUp = 4;

  void send(const void* data, std::size_t bytes) {
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Isend(data, static_cast<int>(bytes), MPI_BYTE, partner_, kTag, comm_, &request);
    bench_.waiting.all({&request, 1});
  }
  void receive(void* data, std::size_t bytes) {
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Irecv(data, static_cast<int>(bytes), MPI_BYTE, partner_, kTag, comm_, &request);
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
  int rank_ = 0, partner_ = 1;
  std::vector<std::byte> out_, in_;
};

std::vector<LineMessage> messages_of(const Bench& bench) {
  std::vector<LineMessage> messages;
  for (const Pair pair : pairs_of(bench))
    for (const double bytes : sizes_of(bench.options, true))
      for (const bool both_ways : {false, true}) messages.push_back({pair, bytes, both_ways});
  constexpr int kRow = 8;  // so that where they begin, which costs a core each, does not matter
  if (bench.options.at_once)
    for (int ranks = 2; ranks <= bench.machine.ranks; ranks += 2)
      for (const double bytes : sizes_of(bench.options, true))
        messages.push_back({{}, bytes, true, ranks, kRow});
  return messages;
}

// Collective over the world: a communicator of those that have a message, MPI_COMM_NULL elsewhere.
MPI_Comm comm_of(const Bench& bench, const LineMessage& message) {
  const int rank = bench.machine.rank;
  const bool mine =
      message.ranks == 2 ? rank == message.pair.a || rank == message.pair.b : rank < message.ranks;
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Comm_split(bench.world, mine ? 0 : MPI_UNDEFINED, rank, &comm);
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
  std::map<std::tuple<int, int, int>, MPI_Comm> comms;  // by pair and ranks
  for (const LineMessage& message : messages) {
    const std::tuple key{message.pair.a, message.pair.b, message.ranks};
    if (!comms.contains(key)) comms[key] = comm_of(bench, message);
  }
  run_campaigns(bench, messages.size(), [&](const Campaign& campaign, std::size_t i) {
    const LineMessage& message = messages[i];
    MPI_Comm comm = comms.at({message.pair.a, message.pair.b, message.ranks});
    std::vector<double> times;
    if (comm != MPI_COMM_NULL) {
      bench.waiting.look_for_sockets();
      Line line(bench, comm, static_cast<std::size_t>(message.bytes));
      const int bytes = static_cast<int>(message.bytes);
      times = message.both_ways ? line.exchange(bytes, message.row) : line.ping_pong(bytes);
    }
    times = to_root(bench, message.pair.a, std::move(times));
    if (bench.machine.rank == 0)
      table.add(
          campaign,
          {message.row > 1     ? "exchanges"
           : message.both_ways ? "exchange"
                               : "ping_pong",
           "",
           message.ranks,
           message.ranks == 2 ? nodes_of(bench.machine, message.pair) : bench.machine.nodes(message.ranks),
           message.bytes,
           {fmt::format("{}-{}", message.pair.a, message.pair.b)}},
          times);
  });
  return table;
}

}  // namespace simsgd
