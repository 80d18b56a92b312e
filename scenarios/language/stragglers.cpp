// The section "stragglers": what makes workers late.
#include <nlohmann/json.hpp>

#include "scenarios/language/schema_parts.hpp"
#include "scenarios/language/sections.hpp"
#include "sim/cluster/stragglers/registry.hpp"

namespace simsgd {

Json schema::stragglers() {
  return with_default(list("What makes workers late; delays add up, factors multiply",
                           plugin("One kind of straggler", straggler_plugins())),
                      Json::array());
}

std::optional<Stragglers> build_stragglers(const Reader& reader, int workers, const Cluster* cluster) {
  if (!reader.usable("/stragglers") || !reader.usable("/seed")) return std::nullopt;
  Stragglers stragglers;
  StragglerSetup setup{.workers = workers, .node_of_rank = {}, .seed = reader.seed()};
  for (int rank = 0; cluster != nullptr && rank < workers; ++rank)
    setup.node_of_rank.push_back(cluster->node_of_rank(rank));
  bool right = true;
  for (std::size_t i = 0; i < reader.value("/stragglers").size(); ++i) {
    const std::string pointer = child("/stragglers", i);
    setup.index = static_cast<std::uint32_t>(i);
    setup.resolve = [&reader, pointer](const std::string& name) { return reader.resolve(pointer, name); };
    auto made = reader.attempt(pointer, [&] { return make_straggler(reader.value(pointer), setup); });
    right = right && made.has_value();
    if (made) stragglers.add(std::move(*made));
  }
  if (!right) return std::nullopt;
  return stragglers;
}

}  // namespace simsgd
