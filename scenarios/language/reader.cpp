#include "scenarios/language/reader.hpp"

#include <nlohmann/json.hpp>

#include "sim/base/check.hpp"

namespace simsgd {

bool Reader::has(const std::string& pointer) const {
  return value_at(scenario_.resolved, pointer) != nullptr;
}

bool Reader::usable(const std::string& pointer) const { return has(pointer) && !errors_.touches(pointer); }

const Json& Reader::value(const std::string& pointer) const {
  const Json* found = value_at(scenario_.resolved, pointer);
  CHECK(found != nullptr, "the builders read only what the schema requires: " + pointer);
  return *found;
}

void Reader::error(const std::string& pointer, const std::string& problem, const std::string& remedy) const {
  errors_.add(scenario_.resolved, scenario_.origins, pointer, problem, remedy);
}

std::filesystem::path Reader::resolve(const std::string& pointer, const std::string& name) const {
  Origin origin = scenario_.origins.at(pointer);
  for (const auto& member : value(pointer).items())
    if (member.value() == name) origin = scenario_.origins.at(child(pointer, member.key()));
  const std::string from = origin.file == "--set" ? scenario_.file : origin.file;
  const std::vector<std::string> paths = search_path(name, from);
  std::error_code ignored;
  for (const std::string& path : paths)
    if (std::filesystem::exists(path, ignored)) return path;
  return paths.front();
}

}  // namespace simsgd
