#include "analysis/replay/kinds.hpp"

#include <utility>

namespace simsgd::replay {

namespace {

struct NamedKind {
  std::string_view name;
  Kind kind;
};

// As Megatron's timers, and ByteDance's tables, call them.
constexpr NamedKind kKinds[] = {
    {"forward-compute", {Role::forward, Scope::worker}},
    {"backward-compute", {Role::backward, Scope::worker, true}},
    {"forward-send", {Role::send, Scope::neighbour, false, true, true}},
    {"forward-recv", {Role::receive, Scope::neighbour, false, true, true}},
    {"backward-send", {Role::send, Scope::neighbour, true, true, true}},
    {"backward-recv", {Role::receive, Scope::neighbour, true, true, true}},
    {"params-all-gather", {Role::gather, Scope::replicas, false, true, true}},
    {"grads-reduce-scatter", {Role::reduce, Scope::replicas, false, true, true}},
    {"grads-all-reduce", {Role::reduce, Scope::replicas, false, true, true}},
    {"layernorm-grads-all-reduce", {Role::reduce, Scope::slices, false, true, true}},
    {"embedding-grads-all-reduce", {Role::reduce, Scope::ends, false, true, true}},
    {"optimizer-clip-main-grad", {Role::reduce, Scope::all, false, true, true}},
    {"optimizer", {Role::computing, Scope::worker}},
    {"gc", {Role::computing, Scope::worker}},
};

}  // namespace

Kind kind_of(std::string_view name, std::string_view lane) {
  for (const NamedKind& each : kKinds)
    if (each.name == name) return each.kind;
  const bool communication = lane.find("comm") != std::string_view::npos;
  return {communication ? Role::reduce : Role::computing, Scope::worker, false, false, communication};
}

}  // namespace simsgd::replay
