// Of the door: what a method gets at once, as it takes no simulated time or passes beside the method.
#include <fmt/format.h>

#include <algorithm>

#include "algorithms/python/door.hpp"
#include "sim/base/errors.hpp"

namespace simsgd::python {

void Door::set(Tensor parameters) {
  if (!parameters && worker_.replica().parameters())
    throw RunError("set() was given no values, and the learner has some. Hand it a tensor.");
  worker_.replica().set(std::move(parameters));
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
    throw RunError(
        fmt::format("group() takes different ranks from 0 to {} in ascending order, {} among them.",
                    worker_.size() - 1, worker_.rank()));
  return worker_.collectives().group(members);
}

bool Door::done(const AnyHandle& handle) { return worker_.done(awaited(handle)); }
AnyHandle Door::event() { return worker_.background().make_event(); }
void Door::signal(AnyHandle event) {
  if (!std::holds_alternative<Handle<Nothing>>(event)) throw RunError("signal() takes what event() gave.");
  worker_.background().signal(std::get<Handle<Nothing>>(event));
}
AnyHandle Door::timer(double seconds) { return worker_.background().start_timer(seconds); }

void Door::serve(long long tag, Borrowed handler) {
  worker_.background().serve(
      static_cast<int>(tag),
      [self = shared_from_this(), function = Ref::borrowed(handler.object)](const Message& message) {
        self->call_back(function,
                        {self->wrapped(message.values), to_python(message.numbers), to_python(message.from)});
      });
}

void Door::post(long long to, long long tag, Tensor values, std::vector<double> numbers, double bytes,
                const std::string& traffic) {
  worker_.background().post(static_cast<int>(to), static_cast<int>(tag),
                            {bytes, traffic_of(traffic), std::move(values), std::move(numbers)});
}

void Door::then(const AnyHandle& handle, Borrowed action) {
  worker_.background().then(awaited(handle),
                            [self = shared_from_this(), function = Ref::borrowed(action.object)] {
                              self->call_back(function, {});
                            });
}

AnyHandle Door::start_gradient(long long index, long long count) {
  GradientOptions options;
  options.part = {static_cast<int>(index), static_cast<int>(count)};
  return worker_.preemption().start(options);
}
void Door::cancel(AnyHandle gradient) {
  worker_.preemption().cancel(std::get<Handle<RunningGradient>>(gradient));
}
Tensor Door::take(AnyHandle gradient) {
  return worker_.preemption().take(std::get<Handle<RunningGradient>>(gradient));
}

void Door::table(std::string name, std::vector<std::string> columns,
                 const std::vector<std::vector<double>>& rows) {
  RecordTable table{std::move(name), std::move(columns), {}};
  for (const std::vector<double>& row : rows) table.rows.emplace_back(row.begin(), row.end());
  worker_.record().table(table);
}

double Door::predict() {
  const Asked asked = taken();
  if (!asked.collective) throw RunError("predict() takes a collective, such as w.predict(w.all_reduce(x)).");
  return worker_.collectives().predict(*asked.collective);
}

}  // namespace simsgd::python
