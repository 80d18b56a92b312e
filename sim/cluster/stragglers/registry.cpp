#include "sim/cluster/stragglers/registry.hpp"

#include "sim/base/errors.hpp"
#include "sim/cluster/stragglers/kinds.hpp"
#include "sim/cluster/stragglers/options.hpp"

namespace simsgd {

const std::vector<StragglerPlugin>& straggler_plugins() {
  static const std::vector<StragglerPlugin> all = [] {
    std::vector<StragglerPlugin> table = {
        constant_straggler(),
        random_delay_straggler("uniform"),
        random_delay_straggler("exponential"),
        random_delay_straggler("shifted_exponential"),
        random_delay_straggler("lognormal"),
        random_delay_straggler("gamma"),
        random_delay_straggler("weibull"),
        random_delay_straggler("pareto"),
        random_delay_straggler("histogram"),
        k_of_p_straggler(),
        markov_straggler(),
        ar1_straggler(),
        trace_straggler(),
    };
    for (StragglerPlugin& plugin : table) plugin.info.properties.update(common_straggler_properties());
    return table;
  }();
  return all;
}

std::unique_ptr<const StragglerModel> make_straggler(const Parameters& parameters,
                                                     const StragglerSetup& setup) {
  const std::string name = parameters.text("name");
  std::vector<std::string> names;
  for (const StragglerPlugin& plugin : straggler_plugins()) {
    if (plugin.info.name == name)
      return with_common_options(plugin.make(parameters, setup), parameters, setup);
    names.push_back(plugin.info.name);
  }
  const std::string guess = nearest(name, names);
  Parameters::reject(
      "name", "is no kind of straggler",
      (guess.empty() ? "" : "Did you mean \"" + guess + "\"? ") + "Valid are " + one_of(names));
}

}  // namespace simsgd
