#include "sim/parameters.hpp"

#include "sim/base/check.hpp"

namespace simsgd {

const Json& Parameters::at(const std::string& key) const {
  const auto found = object_.find(key);
  if (found == object_.end()) reject(key, "is missing", "Give a value for it");
  return *found;
}

double Parameters::quantity(const std::string& key, Dimension dimension) const {
  const Json& value = at(key);
  if (value.is_number()) return value.get<double>();
  const ParsedQuantity parsed = value.is_string() ? parse_quantity(value.get<std::string>(), dimension)
                                                  : ParsedQuantity{false, 0, "is not a quantity"};
  if (!parsed.ok) reject(key, parsed.problem, "Write " + std::string(dimension_example(dimension)));
  return parsed.value;
}

double Parameters::quantity(const std::string& key, Dimension dimension, double otherwise) const {
  return has(key) ? quantity(key, dimension) : otherwise;
}

double Parameters::number(const std::string& key) const { return at(key).get<double>(); }
double Parameters::number(const std::string& key, double otherwise) const {
  return has(key) ? number(key) : otherwise;
}

std::int64_t Parameters::integer(const std::string& key) const { return at(key).get<std::int64_t>(); }
std::int64_t Parameters::integer(const std::string& key, std::int64_t otherwise) const {
  return has(key) ? integer(key) : otherwise;
}

bool Parameters::flag(const std::string& key, bool otherwise) const {
  return has(key) ? at(key).get<bool>() : otherwise;
}

std::string Parameters::text(const std::string& key) const { return at(key).get<std::string>(); }
std::string Parameters::text(const std::string& key, const std::string& otherwise) const {
  return has(key) ? text(key) : otherwise;
}

Parameters Parameters::object(const std::string& key) const {
  return Parameters(has(key) ? at(key) : Json::object());
}

}  // namespace simsgd
