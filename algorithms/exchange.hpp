// Exchanges between neighbours: every rank sends a vector to some ranks and receives theirs, all messages at
// once, and goes on as soon as its own have ended. What gossip is made of.
// Seconds for d messages each way, all there at once, on links of its own: alpha + d m beta
// (sim/collectives/concurrent.hpp). Bytes per worker: d m.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "algorithms/buckets.hpp"
#include "sim/logical_graph.hpp"
#include "sim/worker.hpp"

namespace simsgd {

/// Whom a worker waits for before its exchange begins.
enum class Coupling : std::uint8_t {
  neighbour,  ///< for those it exchanges with
  global,  ///< for all workers: what many small blocking exchanges, one after another, amount to, since each
           ///< carries a delay one worker further
};
void coupling_field(Fields& f, Coupling& value);
/// Where the default depends on another key.
void coupling_field(Fields& f, std::optional<Coupling>& value);

/// The messages of an exchange: stages[s][i] is whom rank i sends its s-th message to, -1: none.
using MessagePattern = std::vector<std::vector<std::int32_t>>;

/// Both directions of every edge.
MessagePattern edge_messages(const LogicalGraph& graph);

/// One exchange of a vector of `bytes` among all ranks. `effect` computes what a rank gets of the
/// contributions; it may look at those of its partners only.
class Exchange {
 public:
  struct Settings {
    std::string name;  ///< as the result shows it
    int ranks = 1;
    double bytes = 0;
    int tensors = 1;  ///< that the vector is gathered from
    Coupling coupling = Coupling::neighbour;
  };
  Exchange(const Settings& settings, const MessagePattern& messages, MemberEffect effect);

  /// `first`: the model's entry that the contribution's first number is.
  Handle<Tensor> start(Worker& worker, Tensor contribution, std::size_t first = 0) const;
  /// Blocks; the effect.
  Tensor run(Worker& worker, Tensor contribution) const;

 private:
  std::shared_ptr<const Schedule> schedule_;  // shared with the machine, which costs it
  double bytes_;
  int tensors_;
  MemberEffect effect_;
};

/// An exchange in pieces that leave while the backward pass goes on: piece k is bucket k of the model.
class PiecewiseExchange {
 public:
  PiecewiseExchange(const Exchange::Settings& settings, const MessagePattern& messages,
                    const Buckets& buckets, double bytes_per_parameter, const MemberEffect& effect);

  /// Computes the step's gradient and blocks until all pieces are through. `contribution` is asked for each
  /// piece when it may leave.
  struct Result {
    Tensor gradient;
    std::vector<Tensor> received;  ///< what the effect makes of each piece, in the order of the flat vector
  };
  using Contribution = std::function<Tensor(const Tensor& gradient, const Bucket& piece)>;
  Result run(Worker& worker, const Contribution& contribution) const;

 private:
  std::vector<Exchange> pieces_;
  Buckets buckets_;
};

/// `fusion` for models: all in one message after the backward pass unless the scenario says otherwise.
struct ModelFusion : FusionSettings {
  ModelFusion() { kind = Kind::all; }
  void fields(Fields& f);
};

/// The entries [begin, end) of the learner's flat vector that travel with a bucket of the workload.
std::pair<std::size_t, std::size_t> entries_of(const Worker& worker, const Bucket& bucket);
/// These entries of the worker's replica.
Tensor own_part(Worker& worker, const Bucket& bucket);
void set_own_part(Worker& worker, const Bucket& bucket, const Tensor& part);

}  // namespace simsgd
