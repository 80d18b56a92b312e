#include "algorithms/exchange.hpp"

#include <cmath>

namespace simsgd {

namespace {

template <class Value>
void add_coupling(Fields& f, Value& value) {
  f.choice(
      "coupling", value, {{"neighbour", Coupling::neighbour}, {"global", Coupling::global}},
      "Whom a worker waits for in each round: those it exchanges with (neighbour), or all workers (global, which is what a chain of blocking exchanges, tensor by tensor, amounts to)");
}

}  // namespace

void coupling_field(Fields& f, Coupling& value) { add_coupling(f, value); }
void coupling_field(Fields& f, std::optional<Coupling>& value) { add_coupling(f, value); }

MessagePattern edge_messages(const LogicalGraph& graph) {
  MessagePattern messages;
  for (const auto& matching : graph.matchings) {
    std::vector<std::int32_t>& to =
        messages.emplace_back(static_cast<std::size_t>(graph.workers), std::int32_t{-1});
    for (const auto& [a, b] : matching) {
      to[static_cast<std::size_t>(a)] = b;
      to[static_cast<std::size_t>(b)] = a;
    }
  }
  return messages;
}

Exchange::Exchange(const Settings& settings, const MessagePattern& messages, MemberEffect effect)
    : bytes_(settings.bytes), tensors_(settings.tensors), effect_(std::move(effect)) {
  Schedule schedule;
  schedule.name = settings.name;
  schedule.ranks = settings.ranks;
  schedule.blocks = settings.ranks;
  schedule.concurrent = true;
  schedule.together = settings.coupling == Coupling::global;
  schedule.all_wait_for_all = schedule.together;
  for (const std::vector<std::int32_t>& to : messages)
    schedule.stages.push_back(make_stage(to, settings.bytes, settings.bytes));
  schedule_ = std::make_shared<const Schedule>(std::move(schedule));
}

Handle<Tensor> Exchange::start(Worker& worker, Tensor contribution, std::size_t first) const {
  CustomCollective collective;
  collective.bytes = bytes_;
  collective.tensors = tensors_;
  collective.traffic = Traffic::model;
  collective.messages = schedule_;
  collective.part.first = first;
  if (contribution) collective.member_effect = effect_;
  collective.contribution = std::move(contribution);
  return worker.collectives().start(std::move(collective));
}

Tensor Exchange::run(Worker& worker, Tensor contribution) const {
  const Handle<Tensor> handle = start(worker, std::move(contribution));
  worker.wait(handle);
  return handle.result();
}

PiecewiseExchange::PiecewiseExchange(const Exchange::Settings& settings, const MessagePattern& messages,
                                     const Buckets& buckets, double bytes_per_parameter,
                                     const MemberEffect& effect)
    : buckets_(buckets) {
  for (const Bucket& bucket : buckets_.buckets) {
    Exchange::Settings piece = settings;
    piece.bytes = bucket.parameters * bytes_per_parameter;
    piece.tensors = bucket.tensors;
    pieces_.emplace_back(piece, messages, effect);
  }
}

PiecewiseExchange::Result PiecewiseExchange::run(Worker& worker, const Contribution& contribution) const {
  std::vector<Handle<Tensor>> started;
  GradientOptions options;
  options.ready_at = buckets_.last_tensors;
  const auto leave = [&](const TensorInfo&, const Tensor& gradient) {
    const Bucket& bucket = buckets_.buckets[started.size()];
    started.push_back(pieces_[started.size()].start(worker, contribution(gradient, bucket),
                                                    entries_of(worker, bucket).first));
  };
  options.gradient_ready = std::cref(leave);
  Result result;
  result.gradient = worker.compute().gradient(options);
  // The last bucket holds the first layers.
  for (auto handle = started.rbegin(); handle != started.rend(); ++handle) {
    worker.wait(*handle);
    result.received.push_back(handle->result());
  }
  return result;
}

void ModelFusion::fields(Fields& f) {
  FusionSettings::fields(
      f,
      "Models travel tensor by tensor, each as soon as its gradient is ready (none), in buckets of at least fusion_threshold (threshold), or all in one message after the backward pass (all)");
}

std::pair<std::size_t, std::size_t> entries_of(const Worker& worker, const Bucket& bucket) {
  const auto entries = static_cast<double>(worker.replica().size());
  return {static_cast<std::size_t>(std::llround(bucket.begin_share * entries)),
          static_cast<std::size_t>(std::llround(bucket.end_share * entries))};
}

Tensor own_part(Worker& worker, const Bucket& bucket) {
  const auto [begin, end] = entries_of(worker, bucket);
  return slice(worker.executor(), worker.replica().parameters(), begin, end);
}

void set_own_part(Worker& worker, const Bucket& bucket, const Tensor& part) {
  worker.replica().set(
      with_entries(worker.executor(), worker.replica().parameters(), entries_of(worker, bucket).first, part));
}

}  // namespace simsgd
