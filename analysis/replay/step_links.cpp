#include "analysis/replay/step_links.hpp"

#include <tuple>

namespace simsgd::replay {

namespace {

// assumed: clocks and rounding to a microsecond let an operation begin so much before another's end and still
// have waited for it; 7 us were seen between a kernel and the receive before it.
constexpr double kSlack_s = 50e-6;
// assumed: a collective that begins in the last hundredth of a pass was launched behind it, and the pass's
// end is recorded late: 0.5 ms of 200 where something else runs on the GPU.
constexpr double kTailOfPass = 0.01;
// assumed: a host launches what follows within this, and what keeps a lane idle for longer is waited for.
constexpr double kLaunch_s = 1e-3;
constexpr double kTogether_s = 1.5e-6;  // recorded as one instant, in whole microseconds
constexpr std::size_t kNone = ~std::size_t{0};

class StepLinker {
 public:
  StepLinker(const RecordedJob& job, Graph& graph) : job_(job), graph_(graph) {}

  StepLinks link(std::size_t begin, std::size_t end, double start_s) {
    read(begin, end, start_s);
    lanes();
    sort_out();
    for (std::size_t o = 0; o < recorded_; ++o) needs_on_worker(o);
    for (const bool backward : {false, true}) messages(backward);
    collectives();
    synchronisations();
    for (std::size_t o = 0; o < links_.groups.size(); ++o) links_.groups[o] = first_of(o);
    return std::move(links_);
  }

 private:
  const Kind& role(std::size_t o) const { return graph_.role_of(operations()[o]); }
  std::vector<Operation>& operations() { return links_.operations; }
  const std::vector<Operation>& operations() const { return links_.operations; }
  const RecordedPlace& place(std::size_t o) const { return graph_.place_of(operations()[o]); }
  /// `what`: kNone where there is none.
  void waits_for(std::size_t who, std::size_t what) {
    if (what != kNone) links_.waits.emplace_back(what, who);
  }
  std::size_t first_of(std::size_t o) {
    std::vector<std::size_t>& groups = links_.groups;
    while (groups[o] != o) o = groups[o] = groups[groups[o]];
    return o;
  }
  /// Both take part in one message or collective.
  void together(std::size_t a, std::size_t b) {
    a = first_of(a);
    b = first_of(b);
    links_.groups[std::max(a, b)] = std::min(a, b);
  }

  void read(std::size_t begin, std::size_t end, double start_s) {
    std::map<std::pair<std::int32_t, std::int32_t>, std::int32_t> counts;
    for (std::size_t i = begin; i < end; ++i) {
      const RecordedOperation& each = job_.operations[i];
      operations().push_back({.kind = each.kind,
                              .lane = each.lane,
                              .worker = each.worker,
                              .micro_batch = each.micro_batch,
                              .chunk = std::max(each.chunk, 0),
                              .occurrence = counts[{each.worker, each.kind}]++,
                              .line = each.line,
                              .start_s = each.start_s - start_s,
                              .recorded_s = each.end_s - each.start_s});
    }
    recorded_ = operations().size();
    links_.groups.resize(recorded_);
    std::iota(links_.groups.begin(), links_.groups.end(), std::size_t{0});
  }

  // One after the other; those that overlap wait for the same one. Messages that begin and end as one were
  // launched as one.
  void lanes() {
    std::size_t last = kNone, before_last = kNone;
    for (std::size_t o = 0; o < recorded_; ++o) {
      const Operation& here = operations()[o];
      if (o == 0 || here.worker != operations()[o - 1].worker || here.lane != operations()[o - 1].lane)
        last = before_last = kNone;
      const bool after =
          last != kNone && here.start_s >= operations()[last].end_s() - kSlack_s && !one_message(last, o);
      if (after) before_last = last;
      waits_for(o, before_last);
      if (last != kNone && one_message(last, o)) together(last, o);
      if (last == kNone || here.end_s() >= operations()[last].end_s()) last = o;
    }
  }

  bool one_message(std::size_t a, std::size_t b) const {
    const auto is_message = [this](std::size_t o) { return role(o).scope == Scope::neighbour; };
    const Operation &first = operations()[a], &second = operations()[b];
    return is_message(a) && is_message(b) && std::fabs(first.start_s - second.start_s) <= kTogether_s &&
           std::fabs(first.end_s() - second.end_s()) <= kTogether_s;
  }

  // The operations of each worker that others look for, by their ends.
  void sort_out() {
    computing_.resize(graph_.workers.size());
    gathers_.resize(graph_.workers.size());
    reductions_.resize(graph_.workers.size());
    sends_.resize(graph_.workers.size());
    for (std::size_t o = 0; o < recorded_; ++o) {
      const auto worker = static_cast<std::size_t>(operations()[o].worker);
      const Role what = role(o).role;
      if (what == Role::gather) gathers_[worker].push_back(o);
      if (what == Role::reduce) reductions_[worker].push_back(o);
      if (what == Role::send) sends_[worker].push_back(o);
      if (what == Role::forward || what == Role::backward || what == Role::computing || what == Role::piece)
        computing_[worker].push_back(o);
    }
    for (auto* lists : {&computing_, &gathers_, &reductions_, &sends_})
      for (std::vector<std::size_t>& list : *lists)
        std::ranges::stable_sort(list, [this](std::size_t a, std::size_t b) {
          return operations()[a].end_s() < operations()[b].end_s();
        });
  }

  // The last that had ended, but for a share of it, when `o` began.
  std::size_t last_ended(const std::vector<std::size_t>& list, std::size_t o, double share = 0) const {
    const double start_s = operations()[o].start_s;
    auto after = std::upper_bound(
        list.begin(), list.end(), start_s + kSlack_s,
        [this](double time_s, std::size_t each) { return time_s < operations()[each].end_s(); });
    while (after != list.end() && operations()[*after].start_s < start_s &&
           operations()[*after].end_s() - share * operations()[*after].recorded_s <= start_s)
      ++after;
    while (after != list.begin())
      if (operations()[*--after].start_s < start_s) return *after;
    return kNone;
  }

  void needs_on_worker(std::size_t o) {
    const auto worker = static_cast<std::size_t>(operations()[o].worker);
    switch (role(o).role) {
      case Role::forward:
        waits_for(o, last_ended(gathers_[worker], o));
        [[fallthrough]];
      case Role::backward:  // where a host waits for its sends
        return waits_for(o, idle_until(o, last_ended(sends_[worker], o), kLaunch_s));
      case Role::receive:  // where a host launches them one after the other
        return waits_for(o, idle_until(o, last_ended(computing_[worker], o), 0));
      case Role::gather:
      case Role::reduce:
        return waits_for(o, last_ended(computing_[worker], o, kTailOfPass));
      case Role::computing:
        return waits_for(o, last_ended(reductions_[worker], o));
      case Role::piece: {
        const std::size_t reduction = last_ended(reductions_[worker], o), before = lane_before(o);
        if (reduction != kNone &&
            (before == kNone || operations()[reduction].end_s() > operations()[before].end_s()))
          waits_for(o, reduction);
        return;
      }
      default:
        return;
    }
  }

  // `what`, where the lane of `o` stood idle for longer than `least_s` until that ended, and then went on.
  std::size_t idle_until(std::size_t o, std::size_t what, double least_s) const {
    if (what == kNone || operations()[o].start_s - operations()[what].end_s() > kLaunch_s) return kNone;
    const std::size_t before = lane_before(o);
    const double idle_from_s = before == kNone ? 0 : operations()[before].end_s();
    return operations()[what].end_s() - idle_from_s > least_s ? what : kNone;
  }

  std::size_t lane_before(std::size_t o) const {
    const Operation& here = operations()[o];
    return o > 0 && operations()[o - 1].worker == here.worker && operations()[o - 1].lane == here.lane
               ? o - 1
               : kNone;
  }

  // Messages between the stages of a pipeline: passes wait for theirs, or, where these are not recorded, for
  // the neighbouring stage's pass.
  struct Pass {
    std::size_t compute = kNone, send = kNone, receive = kNone;
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
      graph_.warnings["messages that belong to no pass of a micro-batch"] += found.size() - next;
  }

  void connect(const PassKey& key, Pass& pass, std::map<PassKey, Pass>& passes, bool backward) {
    waits_for(pass.compute, pass.receive);
    if (pass.send != kNone) waits_for(pass.send, pass.compute);
    if (backward)
      if (const auto ahead = forward_.find(key); ahead != forward_.end())
        waits_for(pass.compute, ahead->second.compute);
    const auto& [worker, micro_batch, own_chunk] = key;
    std::int32_t chunk = own_chunk;
    const std::int32_t from = neighbour(worker, backward, chunk);
    if (from < 0) return;
    const auto source = passes.find({from, micro_batch, chunk});
    if (source == passes.end()) {
      ++graph_.warnings["passes of a micro-batch that the neighbouring stage did not process"];
      return;
    }
    const std::size_t send = source->second.send;
    if (send != kNone && pass.receive != kNone)
      together(send, pass.receive);
    else
      waits_for(pass.receive != kNone ? pass.receive : pass.compute,
                send != kNone ? send : source->second.compute);
    if (send == kNone && pass.receive == kNone)
      ++graph_.warnings["passes between stages without a recorded message: its time is in their gaps"];
  }

  void collectives() {
    using Key = std::tuple<std::int32_t, std::int32_t, std::int32_t, std::int32_t>;
    std::map<Key, std::pair<std::size_t, std::int32_t>> first;  // and how many take part
    for (std::size_t o = 0; o < recorded_; ++o) {
      const Kind& what = role(o);
      if (what.scope == Scope::worker || what.scope == Scope::neighbour) continue;
      const RecordedPlace& at = place(o);
      const auto [a, b] = what.scope == Scope::replicas ? std::pair{at.stage, at.tensor}
                          : what.scope == Scope::slices ? std::pair{at.stage, at.replica}
                          : what.scope == Scope::ends   ? std::pair{at.replica, at.tensor}
                                                        : std::pair{0, 0};
      const auto [found, fresh] =
          first.try_emplace(Key{operations()[o].kind, operations()[o].occurrence, a, b}, o, 1);
      if (fresh) continue;
      ++found->second.second;
      together(found->second.first, o);
    }
    for (const auto& [key, who] : first)
      if (who.second < takers(role(who.first).scope))
        ++graph_.warnings["collectives in which some workers did not take part"];
  }

  std::int32_t takers(Scope scope) const {
    if (scope == Scope::replicas) return graph_.replicas;
    if (scope == Scope::slices) return graph_.tensors;
    if (scope == Scope::ends) return std::min(graph_.stages, 2);
    return static_cast<std::int32_t>(graph_.workers.size());
  }

  // Before each of a held operation stands one of all that are held: its duration is from the last who is
  // ready to its begin, its waiting what others wait for that one.
  void synchronisations() {
    if (graph_.synchronisations.empty()) return;
    std::vector<double> ready_s(recorded_, 0);
    std::map<std::pair<std::int32_t, std::int32_t>, std::vector<std::size_t>> by_kind;
    for (const auto& [what, who] : links_.waits)
      ready_s[who] = std::max(ready_s[who], operations()[what].end_s());
    for (std::size_t o = 0; o < recorded_; ++o)
      by_kind[{operations()[o].kind, operations()[o].worker}].push_back(o);
    std::map<std::size_t, std::size_t> held;  // operation, what it waits for instead
    for (const Synchronisation& each : graph_.synchronisations) {
      const auto position = [this](const std::string& name) {
        return static_cast<std::int32_t>(std::ranges::find(graph_.kinds, name) - graph_.kinds.begin());
      };
      const std::int32_t kind = position(each.kind), before = position(unrecorded_before(each.kind));
      std::map<std::int32_t, std::size_t> first;  // by occurrence
      for (const std::int32_t worker : each.workers)
        for (const std::size_t o : by_kind[{kind, worker}]) {
          Operation made = operations()[o];
          made.kind = before;
          made.recorded_s = std::max(made.start_s - ready_s[o], 0.0);
          made.start_s -= made.recorded_s;
          made.line = 0;
          held[o] = operations().size();
          links_.groups.push_back(operations().size());
          operations().push_back(made);
          const auto [found, fresh] = first.try_emplace(made.occurrence, held[o]);
          if (!fresh) together(found->second, held[o]);
        }
    }
    for (auto& [what, who] : links_.waits)
      if (const auto found = held.find(who); found != held.end()) who = found->second;
    for (const auto& [who, what] : held) waits_for(who, what);
  }

  const RecordedJob& job_;
  Graph& graph_;
  StepLinks links_;
  std::size_t recorded_ = 0;
  std::int32_t chunks_ = 1;  // of any stage
  std::map<PassKey, Pass> forward_;
  std::vector<std::vector<std::size_t>> computing_, gathers_, reductions_, sends_;  // of each worker
};

}  // namespace

std::string unrecorded_before(const std::string& kind) { return "unrecorded before " + kind; }

StepLinks link_step(const RecordedJob& job, std::size_t begin, std::size_t end, double start_s,
                    Graph& graph) {
  return StepLinker(job, graph).link(begin, end, start_s);
}

}  // namespace simsgd::replay
