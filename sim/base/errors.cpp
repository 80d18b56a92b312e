#include "sim/base/errors.hpp"

#include <algorithm>
#include <numeric>

#include "sim/base/printable.hpp"

namespace simsgd {

namespace {

std::string joined(const std::vector<InputError>& errors) {
  std::string all;
  for (const InputError& error : errors) all += (all.empty() ? "" : "\n") + error.text();
  return all;
}

/// Letters that are changed, added or left out, and neighbours that are swapped.
std::size_t edit_distance(const std::string& a, const std::string& b) {
  std::vector<std::size_t> above, row(b.size() + 1), next(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    next[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      next[j] = std::min({next[j - 1] + 1, row[j] + 1, row[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        next[j] = std::min(next[j], above[j - 2] + 1);
    }
    above = row;
    row.swap(next);
  }
  return row[b.size()];
}

}  // namespace

std::string InputError::text() const {
  std::string line = file + (pointer.empty() ? "" : ":" + pointer) + ": " + problem + ".";
  if (!found.empty()) line += " Found: " + found + ".";
  if (!remedy.empty()) line += " " + remedy + ".";
  return printable(line);
}

ConfigError::ConfigError(std::vector<InputError> all)
    : std::runtime_error(joined(all)), errors_(std::move(all)) {}

std::string nearest(const std::string& name, const std::vector<std::string>& valid) {
  std::string best;
  // What is further away is another word.
  const std::size_t most = name.size() < 4 ? 1 : std::clamp<std::size_t>(name.size() / 3, 2, 4);
  std::size_t best_distance = most + 1;
  for (const std::string& candidate : valid) {
    const std::size_t distance = edit_distance(name, candidate);
    if (distance < best_distance) {
      best_distance = distance;
      best = candidate;
    }
  }
  return best;
}

std::string suggestion(const std::string& name, const std::vector<std::string>& valid) {
  const std::string guess = nearest(name, valid);
  return guess.empty() ? "" : "Did you mean \"" + guess + "\"? ";
}

std::string which_there_are(const std::string& name, const std::vector<std::string>& valid,
                            const std::string& verb) {
  if (valid.empty()) return "There are none";
  const std::string near = nearest(name, valid);
  return (near.empty() ? "" : "Did you mean " + near + "? ") + verb + " " + one_of(valid);
}

std::string one_of(const std::vector<std::string>& names) {
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (i > 0) text += i + 1 == names.size() ? " or " : ", ";
    text += names[i];
  }
  return text;
}

}  // namespace simsgd
