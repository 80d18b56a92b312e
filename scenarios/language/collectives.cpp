#include "scenarios/language/collectives.hpp"

#include <nlohmann/json.hpp>

#include "scenarios/language/stack.hpp"
#include "sim/collectives/schedules.hpp"

namespace simsgd {

namespace {

using Op = CollectiveOp;
constexpr Op kOperations[] = {Op::all_reduce, Op::reduce_scatter, Op::all_gather, Op::all_to_all,
                              Op::broadcast,  Op::reduce,         Op::barrier};

void read_policies(const Reader& reader, const std::string& at, CollectivePolicies& policies) {
  for (const Op op : kOperations) {
    const std::string pointer = at + "/" + op_name(op);
    if (!reader.has(pointer) || !reader.usable(pointer)) continue;
    auto policy = reader.attempt(pointer, [&] { return read_policy(op, reader.value(pointer)); });
    if (policy) policies[op] = std::move(*policy);
  }
}

}  // namespace

void PolicySection::fields(Fields& f, const std::string& otherwise) {
  for (const Op op : kOperations)
    f.raw(op_name(op), of_op[op], f.only_reads() ? Json::object() : policy_schema(op))
        .by_rule((otherwise.empty() ? "" : otherwise + ", else ") + default_schedule(op));
}

CollectivePolicies build_policies(const Reader& reader) {
  CollectivePolicies policies;
  if (reader.usable("/cluster")) {
    const Json of_stack = stack_collectives(reader.value("/cluster"));
    for (const Op op : kOperations)
      if (of_stack.contains(op_name(op))) policies[op] = read_policy(op, of_stack[op_name(op)]);
  }
  read_policies(reader, "/cluster/collectives", policies);
  read_policies(reader, "/network", policies);
  return policies;
}

void complete_network(Json& network, const Json& cluster) {
  Json said = stack_collectives(cluster);
  for (const Op op : kOperations)
    if (said.contains(op_name(op))) said[op_name(op)] = completed_policy(op, said[op_name(op)]);
  said.update(cluster.value("collectives", Json::object()));
  for (const Op op : kOperations)
    if (!network.contains(op_name(op)))
      network[op_name(op)] = said.value(op_name(op), Json(default_schedule(op)));
}

}  // namespace simsgd
