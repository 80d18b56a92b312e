// Messages between the stages of a pipeline: which pass sends and receives which.
#include <algorithm>
#include <map>
#include <tuple>

#include "analysis/replay/step_links.hpp"

namespace simsgd::replay {

namespace {

constexpr std::size_t kNobody = StepLinks::kNone;

class MessageLinker {
 public:
  MessageLinker(std::size_t recorded, Graph& graph, StepLinks& links)
      : recorded_(recorded), graph_(graph), links_(links) {}

  void link() {
    for (const bool backward : {false, true}) messages(backward);
  }

 private:
  const std::vector<Operation>& operations() const { return links_.operations; }
  const Kind& role(std::size_t o) const {
    return graph_.roles[static_cast<std::size_t>(operations()[o].kind)];
  }

  struct Pass {
    std::size_t compute = kNobody, send = kNobody, receive = kNobody;
  };
  using PassKey = std::tuple<std::int32_t, std::int32_t, std::int32_t>;  // worker, micro-batch, chunk

  std::int32_t neighbour(std::int32_t worker, bool ahead, std::int32_t& chunk) const {
    RecordedPlace there = graph_.workers[static_cast<std::size_t>(worker)];
    there.stage += ahead ? 1 : -1;
    if (there.stage == graph_.stages) ++chunk, there.stage = 0;
    if (there.stage < 0) --chunk, there.stage = graph_.stages - 1;
    if (chunk < 0 || chunk >= chunks_) return -1;
    return (there.stage * graph_.replicas + there.replica) * graph_.tensors + there.tensor;
  }

  // Activations go ahead, their gradients back. The n-th send of a worker is that of the n-th pass that has
  // a stage behind it.
  void messages(bool backward) {
    std::map<PassKey, Pass> passes;
    std::vector<std::vector<PassKey>> order(graph_.workers.size());
    std::vector<std::vector<std::size_t>> sends(graph_.workers.size()), receives(graph_.workers.size());
    for (std::size_t o = 0; o < recorded_; ++o) {
      const Operation& each = operations()[o];
      const auto worker = static_cast<std::size_t>(each.worker);
      const Kind& what = role(o);
      if (what.backward != backward) continue;
      if (what.role == Role::send) sends[worker].push_back(o);
      if (what.role == Role::receive) receives[worker].push_back(o);
      if (what.role != Role::forward && what.role != Role::backward) continue;
      const PassKey key{each.worker, each.micro_batch, each.chunk};
      Pass& pass = passes[key];
      pass.compute = o;
      order[worker].push_back(key);
      chunks_ = std::max(chunks_, each.chunk + 1);
    }
    for (std::size_t worker = 0; worker < order.size(); ++worker) {
      attach(order[worker], passes, receives[worker], backward, &Pass::receive);
      attach(order[worker], passes, sends[worker], !backward, &Pass::send);
    }
    for (auto& [key, pass] : passes) connect(key, pass, passes, backward);
    if (!backward) forward_ = std::move(passes);
  }

  void attach(const std::vector<PassKey>& order, std::map<PassKey, Pass>& passes,
              const std::vector<std::size_t>& found, bool ahead, std::size_t Pass::*what) {
    std::size_t next = 0;
    for (const PassKey& key : order) {
      std::int32_t chunk = std::get<2>(key);
      if (next == found.size()) break;
      if (neighbour(std::get<0>(key), ahead, chunk) >= 0) passes[key].*what = found[next++];
    }
    if (next < found.size())
      graph_.warnings["messages that belong to no micro-batch's pass"] += found.size() - next;
  }

  void connect(const PassKey& key, Pass& pass, std::map<PassKey, Pass>& passes, bool backward) {
    links_.waits_for(pass.compute, pass.receive);
    if (pass.send != kNobody) links_.waits_for(pass.send, pass.compute);
    if (backward)
      if (const auto ahead = forward_.find(key); ahead != forward_.end())
        links_.waits_for(pass.compute, ahead->second.compute);
    const auto& [worker, micro_batch, own_chunk] = key;
    std::int32_t chunk = own_chunk;
    const std::int32_t from = neighbour(worker, backward, chunk);
    if (from < 0) return;
    const auto source = passes.find({from, micro_batch, chunk});
    if (source == passes.end()) {
      ++graph_.warnings["passes whose neighbouring stage did not do that micro-batch"];
      return;
    }
    const std::size_t send = source->second.send;
    if (send != kNobody && pass.receive != kNobody)
      links_.together(send, pass.receive);
    else
      links_.waits_for(pass.receive != kNobody ? pass.receive : pass.compute,
                       send != kNobody ? send : source->second.compute);
    if (send == kNobody && pass.receive == kNobody)
      ++graph_.warnings["passes between stages without a recorded message: its time is in their gaps"];
  }

  std::size_t recorded_;
  Graph& graph_;
  StepLinks& links_;
  std::int32_t chunks_ = 1;
  std::map<PassKey, Pass> forward_;
};

}  // namespace

void link_messages(std::size_t recorded, Graph& graph, StepLinks& links) {
  MessageLinker(recorded, graph, links).link();
}

}  // namespace simsgd::replay
