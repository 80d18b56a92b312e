// Schema of what trains: "learner", "optimizer", "algorithm", "stragglers".
#include "algorithms/registry.hpp"
#include "scenarios/language/schema_parts.hpp"
#include "sim/cluster/stragglers/registry.hpp"
#include "sim/learn/data/registry.hpp"
#include "sim/learn/models/registry.hpp"
#include "topologies/graph_registry.hpp"

namespace simsgd::schema {

namespace {

template <class Plugin>
std::vector<PluginInfo> infos(const std::vector<Plugin>& plugins) {
  std::vector<PluginInfo> all;
  for (const Plugin& each : plugins) all.push_back(each.info);
  return all;
}

PluginInfo info(const std::string& name, const std::string& summary, const std::string& citation,
                Json properties, std::vector<std::string> required = {}) {
  return {name, summary, citation, std::move(properties), std::move(required)};
}

Json partition() {
  return with_default(
      plugin("How the training samples are spread over the workers",
             {info("iid", "Every worker draws from all samples, without overlap", "", Json::object()),
              info("dirichlet",
                   "Label skew: each worker's mixture of classes is drawn from a Dirichlet distribution",
                   "Hsu, Qi, Brown, 2019, arXiv:1909.06335",
                   {{"alpha", with_default(above(number("Concentration; smaller is more skewed"), 0), 1)}})}),
      {{"name", "iid"}});
}

Json fraction(const std::string& description, double otherwise) {
  return at_most(at_least(with_default(number(description), otherwise), 0), 1);
}

Json schedule() {
  const Json warmup = {
      {"warmup_steps", with_default(big_integer("Steps of linear warm-up", 0), 0)},
      {"warmup_from", fraction("Fraction of the learning rate at the first step of the warm-up", 0)}};
  Json stepped = warmup;
  stepped["milestones"] =
      list("Steps at which the learning rate is multiplied by gamma", big_integer("A step", 1));
  stepped["gamma"] = with_default(above(number("Factor at each milestone"), 0), 0.1);
  Json cosine = warmup;
  cosine["total_steps"] = big_integer("Step at which the cosine ends; by default /stop/steps", 1);
  cosine["floor"] = fraction("Fraction of the learning rate at the end", 0);
  return with_default(
      plugin("Learning rate over steps",
             {info("constant", "After the warm-up always the same", "", warmup),
              info("step", "Multiplied by gamma at each milestone", "", stepped, {"milestones"}),
              info("cosine", "Half a cosine wave from 1 down to the floor",
                   "Loshchilov, Hutter, ICLR 2017, arXiv:1608.03983", cosine)}),
      {{"name", "constant"}});
}

}  // namespace

Json learner() {
  Json form = object("The small model that really trains",
                     {{"model", plugin("Its model", infos(model_plugins()))},
                      {"data", plugin("Its data set", infos(data_plugins()))},
                      {"partition", partition()},
                      {"batch", integer("Samples per worker and step that the model learns from", 1)}},
                     {"model", "data", "batch"});
  return with_default(either("The small model that really trains; null simulates time only",
                             {{{"type", "null"}, {"description", "null: time only"}}, std::move(form)}),
                      nullptr);
}

Json optimizer() {
  const Json properties = {
      {"learning_rate", with_default(at_least(number("Step size"), 0), 0.1)},
      {"momentum", at_least(with_default(number("Momentum, 0 for none"), 0), 0)},
      {"nesterov", with_default(flag("Nesterov's momentum"), false)},
      {"weight_decay", with_default(at_least(number("Multiple of the weights added to the gradient"), 0), 0)},
      {"schedule", schedule()}};
  Json sgd = plugin(
      "How a gradient changes the model",
      {info("sgd", "Stochastic gradient descent with momentum", "Sutskever et al., ICML 2013", properties)});
  sgd["oneOf"][0]["properties"]["momentum"]["exclusiveMaximum"] = 1;
  return with_default(std::move(sgd), {{"name", "sgd"}});
}

// Algorithms ask for a graph without knowing which there are: "x-plugin" becomes the forms of all of them.
Json algorithm() {
  std::vector<PluginInfo> algorithms = infos(algorithm_plugins());
  for (PluginInfo& each : algorithms)
    for (Json& property : each.properties)
      if (property.value("x-plugin", "") == "graph")
        property =
            with_default(plugin(property.at("description"), infos(graph_plugins())), property.at("default"));
  return plugin("The training method", algorithms);
}

Json stragglers() {
  return with_default(list("What makes workers late; delays add up, factors multiply",
                           plugin("One kind of straggler", infos(straggler_plugins()))),
                      Json::array());
}

}  // namespace simsgd::schema
