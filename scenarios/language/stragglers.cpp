// The sections "stragglers" and "failures": what makes workers late, and when they crash.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "scenarios/language/schema.hpp"
#include "scenarios/language/sections.hpp"
#include "sim/cluster/stragglers/registry.hpp"

namespace simsgd {

Json schema::stragglers() {
  return with_default(
      list("What makes workers late. Delays of several kinds add up, and their factors are multiplied",
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

Json schema::failures() {
  FailureModel section;
  return with_default(
      of(section,
         "When workers crash. They restart from their last checkpoint; the algorithm says how they rejoin"),
      Json::object());
}

std::optional<FailureModel> build_failures(const Reader& reader, int workers) {
  if (!reader.usable("/failures")) return std::nullopt;
  auto failures = reader.section<FailureModel>("/failures");
  for (std::size_t i = 0; i < failures.crashes.size(); ++i)
    if (failures.crashes[i].rank >= workers)
      reader.error(child("/failures/crashes", i) + "/worker",
                   fmt::format("is not a rank of this job, which has {} workers", workers),
                   fmt::format("Write numbers from 0 to {}", workers - 1));
  return failures;
}

}  // namespace simsgd
