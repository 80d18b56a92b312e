// The section "optimizer": how a gradient changes the model, and the learning rate over steps.
#include <nlohmann/json.hpp>

#include "scenarios/language/schema_parts.hpp"
#include "scenarios/language/sections.hpp"
#include "sim/learn/optimizers/registry.hpp"

namespace simsgd {

Json schema::optimizer() {
  return with_default(plugin("How a gradient changes the model", optimizer_plugins()),
                      {{"name", optimizer_plugins().front().info.name}});
}

void complete_optimizer(Json& json, const Json& stop) {
  Json& schedule = json["schedule"];
  if (schedule["name"] == "cosine" && !schedule.contains("total_steps") && stop.is_object() &&
      stop.contains("steps"))
    schedule["total_steps"] = stop["steps"];
}

OptimizerSpec build_optimizer(const Reader& reader) {
  const OptimizerSpec spec = make_optimizer(reader.value("/optimizer"));
  if (spec.learning_rate.kind == LearningRate::Kind::cosine && spec.learning_rate.total_steps == 0)
    reader.error("/optimizer/schedule",
                 "needs \"total_steps\", because /stop/steps does not say how long the run is",
                 "Add \"total_steps\"");
  return spec;
}

}  // namespace simsgd
