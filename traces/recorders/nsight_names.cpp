#include "traces/recorders/nsight_names.hpp"

#include <algorithm>
#include <charconv>

#include "traces/reading/text.hpp"

namespace simsgd {

namespace {

std::string lower_case(std::string_view text) {
  std::string lower(text);
  for (char& c : lower)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return lower;
}

std::string_view without_digits(std::string_view text) {
  while (!text.empty() && is_digit(text.back())) text.remove_suffix(1);
  return text;
}

}  // namespace

std::optional<StepName> step_name(std::string_view text) {
  const std::string lower = lower_case(text.substr(0, 64));
  const std::string_view whole = trimmed(lower), words = without_digits(whole);
  std::string_view stem = words;
  while (!stem.empty() && std::string_view(" _#:=-").find(stem.back()) != std::string_view::npos)
    stem.remove_suffix(1);
  constexpr std::string_view kStems[] = {"step",          "iteration",    "iter",           "train_step",
                                         "training_step", "trainstep",    "training step",  "train iteration",
                                         "train step",    "profilerstep", "train_iteration"};
  if (std::find(std::begin(kStems), std::end(kStems), stem) == std::end(kStems)) return std::nullopt;
  StepName name;
  const std::string_view digits = whole.substr(words.size());
  std::uint64_t number = 0;
  if (!digits.empty() &&
      std::from_chars(digits.data(), digits.data() + digits.size(), number).ec == std::errc() &&
      number < (1ULL << 53U))
    name.number = number;
  return name;
}

std::optional<double> nccl_bytes(std::string_view text) {
  const std::string lower = lower_case(text.substr(0, 256));
  if (lower.find("nccl") == std::string::npos) return std::nullopt;
  const std::size_t at = lower.find("bytes");
  if (at == std::string::npos) return std::nullopt;
  const auto number_in = [](std::string_view part) -> std::optional<double> {
    double value = 0;
    return read_number(part, value) && value >= 0 ? std::optional(value) : std::nullopt;
  };
  std::string_view before = trimmed(std::string_view(lower).substr(0, at));
  before.remove_prefix(without_digits(before).size());
  if (!before.empty()) return number_in(before);
  std::string_view after = std::string_view(lower).substr(at + 5);
  after.remove_prefix(std::min(after.size(), after.find_first_not_of(" =:]")));
  return number_in(after.substr(0, after.find_first_not_of("0123456789")));
}

}  // namespace simsgd
