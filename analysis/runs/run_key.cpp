#include "analysis/runs/run_key.hpp"

#include <fmt/format.h>

#include <boost/uuid/name_generator_sha1.hpp>
#include <boost/uuid/uuid_io.hpp>
#include <nlohmann/json.hpp>

namespace simsgd {

namespace {

// Drawn once; another one would change every key.
constexpr boost::uuids::uuid kNamespace = {
    {0x5d, 0x0e, 0x6a, 0x52, 0x0f, 0x3b, 0x4c, 0x19, 0x9a, 0x77, 0xb2, 0x41, 0xce, 0x83, 0x6d, 0xf4}};

}  // namespace

std::string name_key(const std::string& kind, const std::string& text) {
  return boost::uuids::to_string(boost::uuids::name_generator_sha1(kNamespace)(kind + "\n" + text));
}

std::string run_key(const Json& resolved_scenario, int model_version) {
  // Members of a Json are sorted, and its numbers have one shortest text: equal values give equal bytes.
  return run_key_of_text(resolved_scenario.dump(), model_version);
}

std::string run_key_of_text(const std::string& resolved_scenario, int model_version) {
  return name_key("run", fmt::format("{}\n{}", model_version, resolved_scenario));
}

}  // namespace simsgd
