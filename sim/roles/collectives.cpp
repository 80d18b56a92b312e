#include "sim/roles/collectives.hpp"

#include "sim/base/check.hpp"
#include "sim/roles/message_coder.hpp"

namespace simsgd {

namespace {

using Contributions = std::vector<Tensor>;

Tensor sum_of(Executor& executor, const Contributions& given, double scale,
              const std::optional<EntryRange>& entries = {}) {
  if (!given.front()) return {};
  return linear_combination(executor, std::vector<double>(given.size(), 1.0), given, scale, entries);
}

/// One result for all; nothing where there are none.
std::vector<Tensor> for_all(Tensor result) {
  return result ? std::vector<Tensor>{std::move(result)} : std::vector<Tensor>{};
}

// What all members together get: one for all, or one each.
std::vector<Tensor> results_of(Executor& executor, const AllReduce& what, const Contributions& given) {
  return for_all(sum_of(executor, given, what.scale, what.entries));
}
std::vector<Tensor> results_of(Executor& executor, const ReduceScatter& what, const Contributions& given) {
  return for_all(sum_of(executor, given, what.scale));
}
std::vector<Tensor> results_of(Executor& executor, const Reduce& what, const Contributions& given) {
  return for_all(sum_of(executor, given, what.scale));
}
std::vector<Tensor> results_of(Executor&, const Broadcast& what, const Contributions& given) {
  return {given[static_cast<std::size_t>(what.root)]};
}
std::vector<Tensor> results_of(Executor& executor, const CustomCollective& what, const Contributions& given) {
  return what.effect ? what.effect(executor, given) : Contributions{};
}
std::vector<Tensor> results_of(Executor& executor, const AllGather& what, const Contributions& given) {
  return what.sum_scale ? for_all(sum_of(executor, given, *what.sum_scale)) : Contributions{};
}
std::vector<Tensor> results_of(Executor&, const AllToAll&, const Contributions&) { return {}; }
std::vector<Tensor> results_of(Executor&, const Barrier&, const Contributions&) { return {}; }

Tensor exchanged(Executor& executor, const Contributions& given, std::size_t member) {
  if (!given.front()) return {};
  std::vector<Tensor> parts;
  parts.reserve(given.size());
  for (const Tensor& contribution : given)
    parts.push_back(part_of(executor, contribution, member, given.size()));
  return concatenate(executor, parts);
}

template <class... Cases>
struct Overloaded : Cases... {
  using Cases::operator()...;
};
template <class... Cases>
Overloaded(Cases...) -> Overloaded<Cases...>;  // clang 14 needs to be told

}  // namespace

CollectiveOp op_of(const AnyCollective& collective) { return static_cast<CollectiveOp>(collective.index()); }

const CollectiveOptions& options_of(const AnyCollective& collective) {
  return std::visit([](const auto& each) -> const CollectiveOptions& { return each; }, collective);
}

CollectiveOptions& options_of(AnyCollective& collective) {
  return std::visit([](auto& each) -> CollectiveOptions& { return each; }, collective);
}

int root_of(const AnyCollective& collective) {
  return std::visit(Overloaded{[](const Broadcast& each) { return each.root; },
                               [](const Reduce& each) { return each.root; }, [](const auto&) { return 0; }},
                    collective);
}

Tensor part_of(Executor& executor, const Tensor& whole, std::size_t part, std::size_t parts) {
  if (!whole) return {};
  return executor.submit({whole}, [part, parts](TensorData& out, auto in) {
    const std::vector<float>& all = in[0]->values;
    const std::size_t size = all.size();
    out.values.assign(all.begin() + static_cast<std::ptrdiff_t>(size * part / parts),
                      all.begin() + static_cast<std::ptrdiff_t>(size * (part + 1) / parts));
  });
}

Handle<Tensor> Collectives::start_one(AnyCollective&& collective, double* decode_s) {
  const Handle<Tensor> handle = Handle<Tensor>::make();
  begin_coded(std::move(collective), {handle.pending(), &handle.pending()->result, nullptr}, decode_s);
  return handle;
}

Handle<std::vector<Tensor>> Collectives::start_one(AllGather&& operation, double* decode_s) {
  const auto handle = Handle<std::vector<Tensor>>::make();
  begin_coded(std::move(operation), {handle.pending(), nullptr, &handle.pending()->result}, decode_s);
  return handle;
}

Handle<Nothing> Collectives::start_one(Barrier&& operation, double*) {
  const Handle<Nothing> handle = Handle<Nothing>::make();
  begin(std::move(operation), {handle.pending(), nullptr, nullptr});
  return handle;
}

void Collectives::begin_coded(AnyCollective&& collective, CollectiveSlot slot, double* decode_s) {
  if (coder_) coder_->encode(collective, members(options_of(collective).group), slot, decode_s);
  begin(std::move(collective), std::move(slot));
}

void Collectives::decode(double seconds) { coder_->decode(seconds); }

double Collectives::predict(AnyCollective collective) {
  if (coder_) coder_->resize(collective, members(options_of(collective).group));
  return predicted(collective);
}

void CollectiveResults::deliver(Executor& executor, const AnyCollective& collective,
                                const Contributions& contributions, bool complete, std::int32_t group_rank,
                                const CollectiveSlot& slot) {
  const auto member = static_cast<std::size_t>(group_rank);
  const CollectiveOp op = op_of(collective);
  if (const auto* custom = std::get_if<CustomCollective>(&collective); custom && custom->member_effect) {
    *slot.value = custom->member_effect(executor, group_rank, contributions);
    return;
  }
  if (op == CollectiveOp::barrier || (!complete && op != CollectiveOp::broadcast)) return;
  if (op == CollectiveOp::all_gather && !std::get<AllGather>(collective).sum_scale) {
    if (contributions.front()) *slot.parts = contributions;
    return;
  }
  if (op == CollectiveOp::all_to_all) {
    *slot.value = exchanged(executor, contributions, member);
    return;
  }
  if (results_.empty())
    results_ =
        std::visit([&](const auto& each) { return results_of(executor, each, contributions); }, collective);
  if (results_.empty()) return;
  CHECK(results_.size() == 1 || results_.size() == contributions.size(),
        "an effect gives one result, or one for each");
  if (op == CollectiveOp::reduce && group_rank != root_of(collective)) return;
  const Tensor& mine = results_.size() == 1 ? results_.front() : results_[member];
  *slot.value =
      op == CollectiveOp::reduce_scatter ? part_of(executor, mine, member, contributions.size()) : mine;
}

}  // namespace simsgd
