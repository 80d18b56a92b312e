// Parameter servers: each of S servers holds 1/S of the model; workers push gradients to them and pull what
// they have then.
//   worker i: push g_i(x_i), bucket by bucket during the backward pass;  x_i <- what all servers answer
//   server: w <- w - eta U(1/P sum_i g_i) once all have pushed, or w <- w - eta U(g_i) for each push as it
//   comes (asynchronous); then a worker is answered at once, or (stale-synchronous) once nobody is more than
//   s steps behind it
// Li et al., "Scaling Distributed Machine Learning with the Parameter Server", OSDI 2014; Ho et al., "More
// Effective Distributed ML via a Stale Synchronous Parallel Parameter Server", NIPS 2013; servers beside
// workers, each with an equal part of every tensor: Jiang et al., BytePS, OSDI 2020, whose sums inside a node
// before it pushes are left out. Synchronous it learns what allreduce_sgd learns; with staleness 0 each
// update is one worker's, and P of them follow one another. Servers are spread evenly over the ranks, in the
// memory of their hosts, and take pushes one after another at the host's rate of reduction; U is part of
// that. Their own worker's pieces need no message. Bytes per worker and step: the model to the servers and
// back, without its own server's part; per server 2 (P-1) m/S. After a crash a worker computes again what it
// lost; its server serves on.
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <vector>

#include "algorithms/buckets.hpp"
#include "algorithms/exchange.hpp"
#include "algorithms/plugin.hpp"
#include "sim/base/errors.hpp"
#include "sim/learn/optimizer.hpp"
#include "sim/learn/optimizers/matrix_rule.hpp"
#include "sim/learn/tensor.hpp"
#include "sim/worker.hpp"

namespace simsgd::algorithms {

namespace {

constexpr int kPush = 0x7073, kPull = 0x7074;  // tags: to a server, and back

// A parameter server's part of the model: it takes over what workers push, and says whom it answers now.
//   synchronous: w <- w - eta U(1/P sum_i g_i) once all P workers have pushed; all are answered
//   asynchronous: w <- w - eta U(g_i) at once, and i is answered
//   stale-synchronous: the same, but i is answered once nobody is more than s steps behind it
// The sum is added up in the order of ranks, whoever comes first.

struct ServerRules {
  bool together = true;         ///< synchronous
  std::uint64_t staleness = 0;  ///< s, where not: steps that a worker may be ahead of the slowest
};

class PieceServer {
 public:
  /// `state`: what the piece begins with; empty where nothing is learned.
  PieceServer(const ServerRules& rules, int workers, ReplicaState state)
      : rules_(rules), clients_(static_cast<std::size_t>(workers)), state_(std::move(state)) {}

  struct Push {
    int from = 0;
    std::uint64_t step = 1;  ///< whose learning rate counts
    Tensor gradient;
  };
  struct Answer {
    int to = 0;
    double behind = 0;  ///< updates by others between this worker's last answer and its push
  };
  /// Those who get `parameters` now, in the order in which they have come.
  std::vector<Answer> take(Executor& executor, const OptimizerSpec& optimizer, const Push& push);
  const Tensor& parameters() const { return state_.parameters; }

 private:
  struct Client {
    std::uint64_t pushed = 0, known = 0;  // steps; updates at its last answer
    double behind = 0;
    Tensor gradient;  // synchronous, until all are there
  };
  void update(Executor& executor, const OptimizerSpec& optimizer, std::uint64_t step, const Tensor& gradient);
  std::vector<Answer> answers();

  ServerRules rules_;
  std::vector<Client> clients_;
  ReplicaState state_;
  std::vector<int> waiting_;  // for an answer, in the order in which they have come
  std::uint64_t updates_ = 0;
};

/// Lives on `worker`'s rank, beside it: shared by its run() and its handlers, which the worker keeps.
class ModelServer : public std::enable_shared_from_this<ModelServer> {
 public:
  using Answer =
      std::function<void(std::size_t bucket, const PieceServer::Answer& answer, const Tensor& parameters)>;
  /// `pieces` and `push_s`, seconds of a push, by bucket.
  ModelServer(Worker& worker, std::vector<PieceServer> pieces, std::vector<double> push_s, Answer answer)
      : worker_(worker), pieces_(std::move(pieces)), push_s_(std::move(push_s)), answer_(std::move(answer)) {}

  /// A push has come; in a handler.
  void take(std::size_t bucket, const PieceServer::Push& push);
  /// The same of its own worker, whose main thread may be ahead of what is due in the background.
  void take_own(std::size_t bucket, const PieceServer::Push& push);

 private:
  void take_over(std::size_t bucket, const PieceServer::Push& push);

  Worker& worker_;
  std::vector<PieceServer> pieces_;
  std::vector<double> push_s_;
  Answer answer_;
  double free_s_ = 0;  // when it will have taken over all that came
};

void ModelServer::take(std::size_t bucket, const PieceServer::Push& push) {
  if (push_s_[bucket] <= 0) return take_over(bucket, push);
  const double now_s = worker_.now();
  free_s_ = std::max(free_s_, now_s) + push_s_[bucket];
  worker_.background().then(worker_.background().start_timer(free_s_ - now_s),
                            [self = shared_from_this(), bucket, push] { self->take_over(bucket, push); });
}

void ModelServer::take_own(std::size_t bucket, const PieceServer::Push& push) {
  worker_.background().then(worker_.background().start_timer(0),
                            [self = shared_from_this(), bucket, push] { self->take(bucket, push); });
}

void ModelServer::take_over(std::size_t bucket, const PieceServer::Push& push) {
  PieceServer& piece = pieces_[bucket];
  for (const PieceServer::Answer& each : piece.take(worker_.executor(), worker_.replica().optimizer(), push))
    answer_(bucket, each, piece.parameters());
}

std::vector<PieceServer::Answer> PieceServer::take(Executor& executor, const OptimizerSpec& optimizer,
                                                   const Push& push) {
  Client& client = clients_[static_cast<std::size_t>(push.from)];
  ++client.pushed;
  client.behind = static_cast<double>(updates_ - client.known);
  client.gradient = push.gradient;
  waiting_.push_back(push.from);
  if (rules_.together && waiting_.size() < clients_.size()) return {};
  if (!rules_.together) {
    update(executor, optimizer, push.step, client.gradient);
  } else if (push.gradient) {
    std::vector<Tensor> gradients;
    for (const Client& each : clients_) gradients.push_back(each.gradient);
    update(executor, optimizer, push.step,
           linear_combination(executor, std::vector<double>(gradients.size(), 1.0), gradients,
                              1.0 / static_cast<double>(gradients.size())));
  }
  return answers();
}

void PieceServer::update(Executor& executor, const OptimizerSpec& optimizer, std::uint64_t step,
                         const Tensor& gradient) {
  ++updates_;
  if (gradient) state_ = optimizer.step(executor, step, state_, gradient);
}

std::vector<PieceServer::Answer> PieceServer::answers() {
  std::uint64_t slowest = clients_.front().pushed;
  for (const Client& client : clients_) slowest = std::min(slowest, client.pushed);
  std::vector<Answer> now;
  std::erase_if(waiting_, [&](int rank) {
    Client& client = clients_[static_cast<std::size_t>(rank)];
    if (!rules_.together && client.pushed - slowest > rules_.staleness) return false;
    client.known = updates_;
    client.gradient = {};
    now.push_back({rank, client.behind});
    return true;
  });
  return now;
}

enum class Mode : std::uint8_t { synchronous, asynchronous, stale_synchronous };

struct ParameterServerOptions : GradientFusion {
  Mode mode = Mode::synchronous;
  std::optional<int> servers;
  std::optional<std::uint64_t> staleness;

  void fields(Fields& f) {
    f.choice(
        "mode", mode,
        {{"synchronous", Mode::synchronous},
         {"asynchronous", Mode::asynchronous},
         {"stale_synchronous", Mode::stale_synchronous}},
        "Servers wait for the gradients of all workers (synchronous), apply each as it arrives (asynchronous), or do so and delay workers that are too far ahead (stale_synchronous)");
    f.whole("servers", servers,
            "S: there are this many servers, each with an equal part of every bucket, spread over the ranks")
        .at_least(1)
        .by_rule("one for each node, at most 4");
    f.whole("staleness", staleness,
            "s: steps that a worker may be ahead of the slowest, in mode stale_synchronous")
        .by_rule("3 in mode stale_synchronous");
    GradientFusion::fields(f);
  }
  void complete(const AlgorithmContext& context) {
    GradientFusion::complete(context);
    // assumed: at most 4. Messages in a step, and the time to simulate them, grow with P S.
    if (!servers) servers = std::min(4, nodes_of(context));
    // assumed: a few steps, as in the examples of Ho et al.
    if (!staleness && mode == Mode::stale_synchronous) staleness = 3;
  }
  static int nodes_of(const AlgorithmContext& context) {
    std::set<int> nodes = {0};
    for (int rank = 0; context.cluster != nullptr && rank < context.workers; ++rank)
      nodes.insert(context.cluster->node_of_rank(rank));
    return std::min(static_cast<int>(nodes.size()), context.workers);
  }
  /// Asynchronous: nobody is ever too far ahead.
  ServerRules rules() const {
    return {.together = mode == Mode::synchronous, .staleness = staleness.value_or(UINT64_MAX)};
  }
};

/// A piece of the model.
struct PieceId {
  std::size_t bucket = 0, server = 0;
};

/// What a worker waits for in a step. Shared by its run() and its handlers.
class Pulls {
 public:
  Pulls(Worker& worker, std::size_t buckets, std::size_t servers)
      : worker_(worker), servers_(servers), parts_(buckets * servers) {}

  void begin() {
    missing_ = parts_.size();
    behind_ = 0;
    all_ = worker_.background().make_event();
  }
  void come(const PieceId& piece, const Tensor& part, double behind) {
    parts_[piece.bucket * servers_ + piece.server] = part;
    behind_ = std::max(behind_, behind);
    if (--missing_ == 0) worker_.background().signal(all_);
  }
  void wait() const { worker_.wait(all_); }
  double behind() const { return behind_; }  ///< of the piece that was most behind
  /// In the order of the flat vector: the last bucket holds the first layers.
  Tensor whole() const {
    std::vector<Tensor> ordered;
    for (std::size_t bucket = parts_.size() / servers_; bucket-- > 0;)
      for (std::size_t server = 0; server < servers_; ++server)
        ordered.push_back(parts_[bucket * servers_ + server]);
    return ordered.front() ? concatenate(worker_.executor(), ordered) : Tensor();
  }

 private:
  Worker& worker_;
  std::size_t servers_;
  std::vector<Tensor> parts_;
  std::size_t missing_ = 0;
  Handle<Nothing> all_;
  double behind_ = 0;
};

class ParameterServer final : public Algorithm {
 public:
  ParameterServer(const ParameterServerOptions& options, const AlgorithmContext& context)
      : rules_(options.rules()),
        needs_others_(options.mode != Mode::asynchronous),
        servers_(static_cast<std::size_t>(*options.servers)),
        buckets_(make_buckets(*context.workload, options)) {
    for (const Bucket& bucket : buckets_.buckets)
      piece_bytes_.push_back(bucket.parameters * context.workload->bytes_per_parameter / *options.servers);
    push_s_.resize(piece_bytes_.size());
    if (context.cluster == nullptr) return;
    const Cost& reduce = context.cluster->host.reduce_s_per_byte;
    note_cluster_cost(context, reduce, "adding up pushed gradients on a server takes no time", "host.reduce");
    for (std::size_t i = 0; i < push_s_.size(); ++i) push_s_[i] = reduce * piece_bytes_[i];
  }

  void run(Worker& worker) const override {
    const auto pulls = std::make_shared<Pulls>(worker, piece_bytes_.size(), servers_);
    worker.background().serve(kPull, [pulls](const Message& message) {
      pulls->come({size_at(message, 0), size_at(message, 1)}, message.values, message.numbers.at(2));
    });
    const std::shared_ptr<ModelServer> own = serve(worker, pulls);
    while (worker.next_step()) {
      pulls->begin();
      std::size_t bucket = 0;
      GradientOptions options;
      options.ready_at = buckets_.last_tensors;
      options.gradient_ready = [&](const TensorInfo&, const Tensor& gradient) {
        push(worker, own.get(), bucket++, gradient);
      };
      worker.compute().gradient(options);
      pulls->wait();
      if (!rules_.together) worker.record().staleness(pulls->behind());
      if (const Tensor whole = pulls->whole()) worker.replica().set(whole);
    }
  }
  bool needs_others() const override { return needs_others_; }
  std::vector<MemoryPart> memory(const MemoryContext& context) const override {
    // The optimizer's state is the servers', in the memory of hosts.
    std::vector<MemoryPart> parts =
        replica_memory_and(context, {{"pulled parameters", context.vector_bytes()}});
    std::erase_if(parts, [](const MemoryPart& part) { return part.name == "optimizer state"; });
    return parts;
  }

 private:
  static std::size_t size_at(const Message& message, std::size_t place) {
    return static_cast<std::size_t>(message.numbers.at(place));
  }
  int rank_of(const Worker& worker, std::size_t server) const {
    return static_cast<int>(server * static_cast<std::size_t>(worker.size()) / servers_);
  }
  Tensor part_of_whole(Worker& worker, const Tensor& whole, const PieceId& piece) const {
    if (!whole) return {};
    return slice(worker.executor(), whole, first_of(worker, piece),
                 first_of(worker, {piece.bucket, piece.server + 1}));
  }
  /// The model's entry that the piece begins with.
  std::size_t first_of(const Worker& worker, const PieceId& piece) const {
    const auto [begin, end] = entries_of(worker, buckets_.buckets[piece.bucket]);
    return begin + (end - begin) * piece.server / servers_;
  }
  Message message_of(const Worker& worker, const PieceId& piece, Traffic traffic, const Tensor& part,
                     double number) const {
    return {.bytes = piece_bytes_[piece.bucket],
            .traffic = traffic,
            .values = part,
            .numbers = {static_cast<double>(piece.bucket), static_cast<double>(piece.server), number},
            .part = {.first = first_of(worker, piece)}};
  }

  /// This rank's server, which answers what is pushed to it; null where none is.
  std::shared_ptr<ModelServer> serve(Worker& worker, const std::shared_ptr<Pulls>& pulls) const {
    std::size_t index = 0;
    while (index < servers_ && rank_of(worker, index) != worker.rank()) ++index;
    if (index == servers_) return nullptr;
    std::vector<PieceServer> pieces;
    for (std::size_t bucket = 0; bucket < piece_bytes_.size(); ++bucket)
      pieces.emplace_back(
          rules_, worker.size(),
          ReplicaState{part_of_whole(worker, worker.replica().parameters(), {bucket, index}), {}});
    const auto answer = [this, index, pulls, &worker](std::size_t bucket, const PieceServer::Answer& one,
                                                      const Tensor& part) {
      const PieceId piece{bucket, index};
      if (one.to == worker.rank()) return pulls->come(piece, part, one.behind);
      worker.background().post(one.to, kPull, message_of(worker, piece, Traffic::model, part, one.behind));
    };
    const auto server = std::make_shared<ModelServer>(worker, std::move(pieces), push_s_, answer);
    worker.background().serve(kPush, [server](const Message& message) {
      server->take(size_at(message, 0), {.from = message.from,
                                         .step = static_cast<std::uint64_t>(message.numbers.at(2)),
                                         .gradient = message.values});
    });
    return server;
  }

  /// A bucket's parts, to all servers.
  void push(Worker& worker, ModelServer* own, std::size_t bucket, const Tensor& gradient) const {
    for (std::size_t server = 0; server < servers_; ++server) {
      const PieceId piece{bucket, server};
      const Tensor part = part_of_whole(worker, gradient, piece);
      const int to = rank_of(worker, server);
      if (to == worker.rank())
        own->take_own(bucket, {.from = to, .step = worker.step(), .gradient = part});
      else
        worker.background().post(
            to, kPush,
            message_of(worker, piece, Traffic::gradient, part, static_cast<double>(worker.step())));
    }
  }

  ServerRules rules_;
  bool needs_others_;
  std::size_t servers_;
  Buckets buckets_;
  std::vector<double> piece_bytes_, push_s_;  // of a server's part, by bucket
};

MadeAlgorithm make_parameter_server(const ParameterServerOptions& options, const AlgorithmContext& context) {
  if (*options.servers > context.workers)
    reject("servers", fmt::format("is more than the number of workers, {}", context.workers),
           fmt::format("Use at most {}", context.workers));
  if (options.staleness && options.mode != Mode::stale_synchronous)
    reject("staleness", "applies only in mode stale_synchronous",
           "Leave it out, or set \"mode\": \"stale_synchronous\"");
  if (context.optimizer != nullptr && context.optimizer->clip_norm > 0)
    reject("name",
           "splits the gradient over servers, and /optimizer/clip_norm needs the norm of the whole gradient",
           "Leave out /optimizer/clip_norm, or use allreduce_sgd");
  if (context.optimizer != nullptr && treats_matrices(*context.optimizer->rule))
    reject("name", "splits the model over servers, and /optimizer works on whole matrices",
           "Use another optimizer, or allreduce_sgd");
  note_overlap(context);
  return std::make_unique<ParameterServer>(options, context);
}

}  // namespace

std::vector<AlgorithmPlugin> parameter_server() {
  return {{{.name = "parameter_server",
            .summary = "servers hold the model: workers push gradients to them, and pull the updated model",
            .citation = "Li et al., OSDI 2014; Ho et al., NIPS 2013; Jiang et al., BytePS, OSDI 2020"},
           "the model to the servers and back; a server sends and receives (P-1) m/S beside",
           {.sends = {Traffic::gradient, Traffic::model}},
           make_parameter_server}};
}

}  // namespace simsgd::algorithms
