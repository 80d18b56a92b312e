// async_local_sgd and halos over MPI, where who is late decides what is learned: every gradient and model is
// that of a model of its own, in double, which takes over what came in the order in which the real servers
// did.
#include <doctest/doctest.h>

#include <array>
#include <deque>
#include <limits>
#include <utility>

#include "tests/algorithms/model_workers.hpp"
#include "tests/measure/real_runs.hpp"

namespace simsgd::test::measure_served_orders {

namespace {

/// What a rank did. `order`: whose message came, and its own number where its own difference was taken over
/// (of a rank without a server: where it went on from an answer).
class Served final : public Observer {
 public:
  void message(int from, int, double, double, double) override { order.push_back(from); }
  void staleness(int rank, double) override { order.push_back(rank); }
  void gradient_used(int, std::uint64_t, const Tensor& gradient, double) override {
    gradients.push_back(gradient);
  }
  std::vector<int> order;
  std::vector<Tensor> gradients;
};

/// Delayed Nesterov momentum of arXiv:2401.09135, Algorithm 3.
struct Server {
  double eps, beta, spread;
  std::uint64_t n;
  Vector x, m, sum;
  std::uint64_t taken = 0;

  void take(const Vector& difference) {
    const auto count = static_cast<double>(n);
    double share = spread / count;  // c
    sum += difference;
    if (++taken % n == 0) {
      m = beta * m + sum / count;
      share += 1 - spread;
      sum.setZero();
    }
    x -= eps * (share * beta * m + difference / count);
  }
};

struct Method {
  std::string name;
  Json options;
  std::size_t regions;
  std::uint64_t inner_steps, accumulate;  // H, K
  double merge;                           // alpha
  Server local, global;                   // without models
};

/// The values of a run of four workers. Region r's server is on rank r 4 / regions, the global one on rank 0.
class Replay {
 public:
  /// By rank: what was done in which order, and the gradients that were used.
  Replay(const Method& method, Workers& workers, const std::vector<std::vector<int>>& orders,
         const std::vector<std::vector<float>>& gradients)
      : method_(method), workers_(workers), orders_(orders), gradients_(gradients), global_(method.global) {
    const Vector initial = workers[0], none = 0 * initial;
    for (Server* server : {&local_[0], &local_[1], &local_[2], &local_[3], &global_}) {
      if (server != &global_) *server = method.local;
      server->x = initial;
      server->m = server->sum = none;
    }
    for (int i = 0; i < 4; ++i) {
      merged_[at(i)] = start_[at(i)] = before_last_[at(i)] = initial;
      answers_[at(i)] = std::count(orders[at(i)].begin(), orders[at(i)].end(), i);
      train(i);
    }
    bool moved = true;
    while (std::exchange(moved, false))
      for (int server = 0; server < 4; server += 4 / static_cast<int>(method.regions))
        while (next_[at(server)] < orders[at(server)].size() &&
               happens(server, orders[at(server)][next_[at(server)]])) {
          ++next_[at(server)];
          moved = true;
        }
  }

  double worst_gradient() const { return worst_; }
  /// Of a rank's model. The end of the run may come between its last gradient and the step by it.
  double worst_model(std::size_t i, const std::vector<float>& model) const {
    return std::min(worst_difference(model, workers_[i]), worst_difference(model, before_last_[i]));
  }
  /// All that was done could be done.
  bool complete() const {
    bool all = true;
    for (std::size_t server = 0; server < 4; server += 4 / method_.regions)
      all = all && next_[server] == orders_[server].size();
    for (std::size_t i = 0; i < 4; ++i) all = all && steps_[i] * 36 == gradients_[i].size();
    return all;
  }

 private:
  static std::size_t at(int rank) { return static_cast<std::size_t>(rank); }
  int server_of(int rank) const {
    const int size = 4 / static_cast<int>(method_.regions);
    return rank / size * size;
  }
  /// H steps from where it is, or as many as it did.
  void train(int rank) {
    const std::size_t i = at(rank);
    for (std::uint64_t inner = 0; inner < method_.inner_steps; ++inner) {
      if (steps_[i] * 36 == gradients_[i].size()) return;
      const Vector gradient = workers_.gradient(i, steps_[i] + 1);
      for (Eigen::Index k = 0; k < 36; ++k)
        worst_ = std::max(
            worst_, std::abs(gradient[k] - gradients_[i][steps_[i] * 36 + static_cast<std::size_t>(k)]));
      before_last_[i] = workers_[i];
      workers_[i] -= kRate * gradient;
      ++steps_[i];
    }
    sent_[{rank, server_of(rank)}].emplace_back(start_[i] - workers_[i]);
  }
  void answer(int rank, const Vector& model) {
    if (answers_[at(rank)]-- <= 0) return;  // the run was over before
    workers_[at(rank)] = start_[at(rank)] = model;
    train(rank);
  }
  bool arrives(int from, int to, Vector& what) {
    std::deque<Vector>& under_way = sent_[{from, to}];
    if (under_way.empty()) return false;
    what = under_way.front();
    under_way.pop_front();
    return true;
  }
  /// False: what comes has not been sent yet.
  bool happens(int server, int from) {
    Vector what;
    if (!arrives(from, server, what)) return false;
    if (server_of(from) == server) {
      take(server, what);
      answer(from, local_[at(server)].x);
    } else if (server == 0) {  // from another region
      global_.take(what);
      sent_[{0, from}].push_back(global_.x);
    } else {  // from the global server
      mix_in(server, what);
    }
    return true;
  }
  void take(int server, const Vector& difference) {
    Server& local = local_[at(server)];
    local.take(difference);
    if (local.taken - merged_at_[at(server)] != method_.accumulate) return;
    const Vector gone = merged_[at(server)] - local.x;
    if (server != 0) return sent_[{server, 0}].push_back(gone);
    global_.take(gone);
    mix_in(0, global_.x);
  }
  void mix_in(int server, const Vector& model) {
    Server& local = local_[at(server)];
    local.x = (1 - method_.merge) * local.x + method_.merge * model;
    merged_[at(server)] = local.x;
    merged_at_[at(server)] = local.taken;
  }

  const Method& method_;
  Workers& workers_;
  const std::vector<std::vector<int>>& orders_;
  const std::vector<std::vector<float>>& gradients_;
  Server global_;
  std::array<Server, 4> local_;  // by rank
  std::array<Vector, 4> merged_, start_, before_last_;
  std::array<std::uint64_t, 4> merged_at_{}, steps_{};
  std::array<std::size_t, 4> next_{};                       // of its order
  std::array<std::ptrdiff_t, 4> answers_{};                 // that it will go on from
  std::map<std::pair<int, int>, std::deque<Vector>> sent_;  // from, to; not arrived
  double worst_ = 0;
};

}  // namespace

TEST_CASE(
    "differences over MPI: gradients and models are those of a model that takes them in the same order") {
  constexpr std::uint64_t kNever = std::numeric_limits<std::uint64_t>::max();
  const Method methods[] = {
      {"async_local_sgd",
       {{"inner_steps", 3}, {"outer_rate", 0.6}, {"outer_momentum", 0.8}, {"delay", 2}, {"spread", 0.4}},
       1,
       3,
       kNever,
       0,
       {0.6, 0.8, 0.4, 2, {}, {}, {}},
       {1, 0, 0, 1, {}, {}, {}}},
      {"halos",
       {{"inner_steps", 2},
        {"regions", 2},
        {"accumulate", 4},
        {"merge", 0.3},
        {"local_rate", 0.4},
        {"local_momentum", 0.8},
        {"local_delay", 3},
        {"global_rate", 0.5},
        {"global_momentum", 0.5},
        {"global_delay", 2}},
       2,
       2,
       4,
       0.3,
       {0.4 * 3, 0.8, 0, 3, {}, {}, {}},
       {0.5 * 2, 0.5, 0, 2, {}, {}, {}}}};
  for (const Method& method : methods) {
    CAPTURE(method.name);
    Job job = learning(method.name, method.options, 40);
    job.optimizer.learning_rate.base = kRate;
    const RealRun how = late(job);
    Served served;
    MpiWorker worker(job, MPI_COMM_WORLD, how);
    worker.attach(served);
    worker.train();
    settle(worker);
    std::vector<float> used;
    for (const Tensor& gradient : served.gradients) {
      const std::vector<float>& values = worker.executor().get(gradient).values;
      used.insert(used.end(), values.begin(), values.end());
    }
    worker.finish();
    const Models models =
        gather_at_root(MPI_COMM_WORLD, worker.executor().get(worker.replica().parameters()).values);
    const auto gradients = gather_at_root(MPI_COMM_WORLD, used);
    const auto orders = gather_at_root(MPI_COMM_WORLD, served.order);
    if (rank_here() != 0) continue;
    Workers workers(job);
    const Replay replay(method, workers, orders, gradients);
    CHECK(replay.complete());
    CHECK(replay.worst_gradient() < 1e-6);
    std::size_t steps = 0;
    for (std::size_t i = 0; i < 4; ++i) {
      CAPTURE(i);
      CHECK(replay.worst_model(i, models[i]) < 1e-5);
      steps += gradients[i].size() / 36;
    }
    CHECK(steps >= 4 * 40);
  }
}

}  // namespace simsgd::test::measure_served_orders
