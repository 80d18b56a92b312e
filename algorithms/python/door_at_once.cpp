// Of the door: what a method gets at once, as it takes no simulated time or passes beside the method.
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <limits>

#include "algorithms/python/door.hpp"
#include "sim/base/errors.hpp"

namespace simsgd::python {

namespace {

constexpr int kPosted = 32767;  // every MPI has tags up to this one

}  // namespace

void Door::set(Tensor parameters) {
  if (!parameters && worker_.replica().parameters())
    throw RunError("set() was given no values, but the learner has parameters. Give it a tensor.");
  worker_.replica().set(std::move(parameters));
}

std::vector<std::string> Door::state_names() { return worker_.replica().optimizer().rule->state_names(); }

std::vector<Tensor> Door::state() {
  std::vector<Tensor> all = worker_.replica().state().state;
  all.resize(state_names().size());  // none before the first step
  return all;
}

void Door::restore(Tensor parameters, std::vector<Tensor> state) {
  const auto size = [this](const Tensor& values) {
    return values ? worker_.executor().get(values).values.size() : 0;
  };
  const std::size_t expected = size(worker_.replica().parameters());
  const bool fits = std::all_of(state.begin(), state.end(),
                                [&](const Tensor& each) { return !each || size(each) == expected; });
  if (size(parameters) != expected || !fits)
    throw RunError(fmt::format("restore() takes parameters and vectors of {} numbers each.", expected));
  if (std::none_of(state.begin(), state.end(), [](const Tensor& each) { return bool(each); })) state.clear();
  worker_.replica().restore({std::move(parameters), std::move(state)});
}

Tensor Door::tensor(long long address, long long size) {
  if (size == 0) return {};
  // numpy gives an array's place as a number.
  // NOLINTNEXTLINE(performance-no-int-to-ptr)
  const auto* const begin = reinterpret_cast<const float*>(static_cast<std::uintptr_t>(address));
  return worker_.executor().constant({{begin, begin + size}, {}, {}});
}

std::vector<long long> Door::view(const Tensor& values) {
  if (!values) return {0, 0};
  const std::vector<float>& numbers = worker_.executor().get(values).values;
  return {static_cast<long long>(reinterpret_cast<std::uintptr_t>(numbers.data())),
          static_cast<long long>(numbers.size())};
}

Tensor Door::combine(const std::vector<double>& weights, const std::vector<Tensor>& terms, double scale) {
  for (const Tensor& each : terms)
    if (!each) return {};
  return linear_combination(worker_.executor(), weights, terms, scale);
}

Tensor Door::concatenate(const std::vector<Tensor>& parts) {
  for (const Tensor& each : parts)
    if (!each) return {};
  return simsgd::concatenate(worker_.executor(), parts);
}

Tensor Door::with_entries(const Tensor& whole, long long begin, const Tensor& entries) {
  if (!whole || !entries) return whole;
  const std::size_t size = worker_.executor().get(whole).values.size(),
                    count = worker_.executor().get(entries).values.size();
  if (begin < 0 || static_cast<std::size_t>(begin) + count > size)
    throw RunError(fmt::format("with_entries() cannot put {} numbers at position {} of a vector of {}.",
                               count, begin, size));
  return simsgd::with_entries(worker_.executor(), whole, static_cast<std::size_t>(begin), entries);
}

Tensor Door::slice(const Tensor& whole, long long begin, long long end) {
  if (!whole) return {};
  return simsgd::slice(worker_.executor(), whole, static_cast<std::size_t>(begin),
                       static_cast<std::size_t>(end));
}

std::vector<long long> Door::neighbours() {
  if (worker_.graph().neighbours.empty()) return {};
  const std::vector<int>& all = worker_.graph().neighbours[static_cast<std::size_t>(worker_.rank())];
  return {all.begin(), all.end()};
}

Ref Door::graph() {
  const LogicalGraph& graph = worker_.graph();
  const auto pairs = [](const std::vector<LogicalGraph::Edge>& edges) {
    std::vector<Ref> all;
    for (const auto& [a, b] : edges) all.push_back(tuple({to_python(a), to_python(b)}));
    return tuple(std::move(all));
  };
  std::vector<Ref> matchings;
  for (const auto& matching : graph.matchings) matchings.push_back(pairs(matching));
  return tuple({to_python(graph.name), to_python(graph.neighbours), pairs(graph.edges),
                tuple(std::move(matchings)), to_python(graph.laplacian_eigenvalues)});
}

Ref Door::workload() {
  const Workload& workload = worker_.workload();
  std::vector<Ref> layers;
  for (const Layer& layer : workload.layers) {
    std::vector<Ref> tensors;
    for (const TensorShape& each : layer.tensors)
      tensors.push_back(each.is_matrix() ? tuple({to_python(each.rows), to_python(each.columns)})
                                         : tuple({to_python(each.rows)}));
    layers.push_back(tuple({to_python(layer.name), tuple(std::move(tensors)), to_python(layer.forward_s),
                            to_python(layer.backward_s), to_python(layer.forward_flop),
                            to_python(layer.activations), to_python(layer.positions)}));
  }
  return tuple({to_python(workload.name), to_python(workload.batch), to_python(workload.micro_batches),
                to_python(workload.bytes_per_parameter), tuple(std::move(layers))});
}

std::vector<double> Door::layers() {
  std::vector<double> all;
  for (const Layer& layer : worker_.workload().layers) all.push_back(layer.parameters());
  return all;
}

long long Door::group(std::vector<long long> ranks) {
  std::vector<int> members(ranks.begin(), ranks.end());
  const bool mine = std::find(members.begin(), members.end(), worker_.rank()) != members.end();
  if (!mine || !std::is_sorted(members.begin(), members.end()) || members.front() < 0 ||
      members.back() >= worker_.size() || std::adjacent_find(members.begin(), members.end()) != members.end())
    throw RunError(fmt::format(
        "group() takes different ranks from 0 to {} in ascending order, including this worker's rank {}.",
        worker_.size() - 1, worker_.rank()));
  return worker_.collectives().group(members);
}

bool Door::done(const AnyHandle& handle) { return worker_.done(awaited(handle)); }
AnyHandle Door::event() { return worker_.background().make_event(); }
void Door::signal(AnyHandle event) {
  if (!std::holds_alternative<Handle<Nothing>>(event))
    throw RunError("signal() takes an event that event() returned.");
  worker_.background().signal(std::get<Handle<Nothing>>(event));
}
AnyHandle Door::timer(double seconds) { return worker_.background().start_timer(seconds); }

void Door::serve(long long tag, Borrowed handler) {
  handlers_[tag] = Ref::borrowed(handler.object);
  listen();
}

void Door::listen() {
  if (!std::exchange(listens_, true))
    worker_.background().serve(
        kPosted, [self = shared_from_this()](const Message& message) { self->posted(message); });
}

// Behind the method's numbers come the tag, and the line of the method that posts.
void Door::post(long long to, long long tag, Tensor values, std::vector<double> numbers, double bytes,
                const std::string& traffic, long long line) {
  numbers.insert(numbers.end(), {static_cast<double>(tag), static_cast<double>(line)});
  worker_.background().post(peer(to), kPosted,
                            {bytes, this->traffic(traffic), std::move(values), std::move(numbers)});
}

void Door::posted(const Message& message) {
  const std::vector<double>& all = message.numbers;
  const auto tag = static_cast<long long>(all[all.size() - 2]);
  const auto handler = handlers_.find(tag);
  if (handler == handlers_.end())
    fail(
        fmt::format("{}{}: rank {} posted a message with tag {} to rank {}, which does not serve it. Write "
                    "w.serve({}, f) there, before its first yield.",
                    parts_.file, all.back() > 0 ? fmt::format(", line {}", all.back()) : "", message.from,
                    tag, worker_.rank(), tag));
  call_back(handler->second,
            {wrapped(message.values), to_python(std::vector<double>(all.begin(), all.end() - 2)),
             to_python(message.from)});
}

void Door::then(const AnyHandle& handle, Borrowed action) {
  worker_.background().then(awaited(handle),
                            [self = shared_from_this(), function = Ref::borrowed(action.object)] {
                              self->call_back(function, {});
                            });
}

void Door::table(std::string name, std::vector<std::string> columns,
                 const std::vector<std::vector<double>>& rows) {
  RecordTable table{std::move(name), std::move(columns), {}};
  for (const std::vector<double>& row : rows) table.rows.emplace_back(row.begin(), row.end());
  worker_.record().table(table);
}

Stream Door::random(bool shared) {
  constexpr std::uint32_t kShared = 0x80000001;  // beyond all ranks, and beside wait_avoiding's
  const auto entity = shared ? kShared : static_cast<std::uint32_t>(worker_.rank());
  return Stream({worker_.seed(), Purpose::algorithm, entity, worker_.step()});
}

long long Door::below(Stream* stream, long long n) {
  if (n < 1 || n > std::numeric_limits<std::uint32_t>::max())
    throw RunError(fmt::format("below() takes a whole number from 1 to 2^32 - 1, not {}.", n));
  return stream->below(static_cast<std::uint32_t>(n));
}

Tensor Door::normals(Stream* stream, long long count) {
  if (count == 0) return {};
  std::vector<float> values(static_cast<std::size_t>(count));
  for (float& each : values) each = static_cast<float>(stream->normal());
  return worker_.executor().constant({std::move(values), {}, {}});
}

double Door::predict() {
  const Asked asked = taken();
  if (!asked.collective) throw RunError("predict() takes a collective, such as w.predict(w.all_reduce(x)).");
  return worker_.collectives().predict(*asked.collective);
}

}  // namespace simsgd::python
