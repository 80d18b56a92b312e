#include "scenarios/language/point_loader.hpp"

#include <nlohmann/json.hpp>

#include "scenarios/language/sections.hpp"

namespace simsgd {

PointLoader::PointLoader(const Study& study, KnownData* known)
    : study_(study),
      loader_(*study.files, study.file == shown_name("-") ? "-" : study.file, true),
      builder_(known) {}

const Scenario& PointLoader::load(const StudyPoint& point) {
  std::vector<Assignment> all = study_.overrides;
  for (Assignment& each : settings_of(point)) all.push_back(std::move(each));
  has_job_ = false;
  const Loading& loaded = loader_.load(all);
  if (!loaded.errors.empty()) finished(loaded);  // throws them
  return loaded.scenario;
}

const Job& PointLoader::job() {
  if (has_job_) return builder_.job();
  ErrorList errors;
  builder_.build(loader_.loaded().scenario, errors, loader_.sections());
  errors.throw_if_any();
  has_job_ = true;
  return builder_.job();
}

std::string PointLoader::text_with(const Texts& others) {
  std::string all;
  for (const auto& member : loader_.loaded().scenario.resolved.items()) {
    const std::string& name = member.key();
    all += (all.empty() ? "{" : ",") + Json(name).dump() + ":";
    if (const auto other = others.find(name); other != others.end()) {
      all += other->second;
      continue;
    }
    Text& text = texts_[name];
    const auto& section = loader_.sections().at(name);
    if (text.section != section || name == "optimizer" || name == "expected")
      text = {section, member.value().dump()};
    all += text.json;
  }
  return all + "}";
}

std::string PointLoader::text() { return text_with({}); }

std::string PointLoader::completed_text() {
  const Json& resolved = loader_.loaded().scenario.resolved;
  const Sections& now = loader_.sections();
  if (completed_.empty() || completed_.at("cluster") != now.at("cluster") ||
      completed_.at("network") != now.at("network")) {
    Json cluster = resolved["cluster"], network = resolved["network"];
    complete_machines(cluster, network);
    completed_texts_ = {{"cluster", cluster.dump()}, {"network", network.dump()}};
  }
  completed_ = now;
  Json learner = resolved["learner"], algorithm = resolved["algorithm"];
  complete_learner(learner, builder_.job());
  complete_algorithm(algorithm, builder_.job());
  completed_texts_["learner"] = learner.dump();
  completed_texts_["algorithm"] = algorithm.dump();
  return text_with(completed_texts_);
}

}  // namespace simsgd
