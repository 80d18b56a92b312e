#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <charconv>
#include <ctime>

#include <CLI/CLI.hpp>

#include "cli/verbs.hpp"
#include "sim/base/errors.hpp"

namespace simsgd {

namespace {
constexpr std::uint64_t kLargestSeed = std::uint64_t{1} << 53;  // as in a file

// As it was written: an unsigned number would make 18446744073709551615 of -1.
std::uint64_t read_seed(const std::string& text) {
  std::uint64_t seed = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), seed);
  if (error == std::errc() && rest == text.data() + text.size() && seed <= kLargestSeed) return seed;
  throw ConfigError(
      {"--seed", "", "is not a seed", text, fmt::format("Write a whole number from 0 to {}", kLargestSeed)});
}

}  // namespace

void OverrideOptions::add_to(CLI::App& verb) {
  verb.add_option("--set", set,
                  "Set a value of the scenario: /pointer=value; the value is JSON where it parses")
      ->type_name("/POINTER=VALUE")
      ->allow_extra_args(false);
  seed_option = verb.add_option("--seed", seed, "Seed of all random numbers, instead of the scenario's")
                    ->type_name("N");
}

Overrides OverrideOptions::overrides() const {
  Overrides result;
  for (const std::string& argument : set) result.set.push_back(parse_set(argument));
  if (seed_option && seed_option->count() > 0) result.seed = read_seed(seed);
  return result;
}

double quantity_option(const std::string& option, const std::string& text, Dimension dimension,
                       const char* problem, const char* remedy) {
  const ParsedQuantity parsed = parse_quantity(text, dimension);
  if (!parsed.ok || !(parsed.value > 0)) throw ConfigError({option, "", problem, text, remedy});
  return parsed.value;
}

std::string today() {
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  gmtime_r(&now, &utc);
  return fmt::format("{:04d}-{:02d}-{:02d}", utc.tm_year + 1900, utc.tm_mon + 1, utc.tm_mday);
}

int available_threads() {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return 1;
  return std::max(1, CPU_COUNT(&allowed));
}

}  // namespace simsgd
