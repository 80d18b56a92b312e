#include "algorithms/loaded_algorithms.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>

#include "algorithms/plugin_library.hpp"
#include "sim/base/errors.hpp"

namespace simsgd {

namespace {

constexpr const char* kVariable = "SIMSGD_PLUGINS";
constexpr PluginAbi kOurs = plugin_abi(SIMSGD_VERSION);

[[noreturn]] void refuse(const std::string& file, const std::string& problem, const std::string& remedy) {
  throw ConfigError({file, "", problem, "", remedy});
}

/// FNV-1a, so that a result says which contents it comes from.
std::string fingerprint(const std::string& file) {
  std::ifstream bytes(file, std::ios::binary);
  std::uint64_t hash = 14695981039346656037U;
  for (auto byte = std::istreambuf_iterator<char>(bytes); byte != std::istreambuf_iterator<char>(); ++byte)
    hash = (hash ^ static_cast<unsigned char>(*byte)) * 1099511628211U;
  return fmt::format("{} {:016x}", std::filesystem::path(file).filename().string(), hash);
}

/// A function that the library exports under this name.
template <class Function>
Function* function_of(void* library, const char* name) {
  return reinterpret_cast<Function*>(dlsym(library, name));
}

void check_abi(const std::string& file, const PluginAbi& theirs) {
  const std::string again =
      "Build it again with this program's headers: those of its package simsgd-dev, or of its sources";
  if (std::string_view(theirs.version) != kOurs.version)
    refuse(file, fmt::format("was built for SimSGD {}, and this is {}", theirs.version, kOurs.version),
           again);
  if (theirs.layout != kOurs.layout)
    refuse(file,
           fmt::format("was built with other headers of SimSGD {}, whose classes are laid out differently",
                       kOurs.version),
           again);
}

std::vector<AlgorithmPlugin> algorithms_of(const std::string& file) {
  if (!std::filesystem::is_regular_file(file))
    refuse(file, "does not exist, or is not a file",
           "Name a library of training methods, such as ./libmine.so");
  void* const library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr)
    refuse(file, fmt::format("cannot be loaded: {}", dlerror()),
           "Build it as examples/plugin/ does, for this version of the program");
  auto* const abi = function_of<const PluginAbi*()>(library, "simsgd_plugin_abi");
  auto* const fill = function_of<void(std::vector<AlgorithmPlugin>*)>(library, "simsgd_plugin_algorithms");
  if (abi == nullptr || fill == nullptr)
    refuse(file, "is a library without training methods",
           "Write SIMSGD_PLUGIN at the end of one of its sources (algorithms/plugin_library.hpp)");
  check_abi(file, *abi());
  std::vector<AlgorithmPlugin> table;
  fill(&table);
  for (AlgorithmPlugin& plugin : table) plugin.library = fingerprint(file);
  return table;
}

/// Names are told apart in scenarios, so there is one of each.
void add(std::vector<AlgorithmPlugin>& all, const std::string& file) {
  for (AlgorithmPlugin& plugin : algorithms_of(file)) {
    const std::string& name = plugin.info.name;
    const auto same = [&](const AlgorithmPlugin& other) { return other.info.name == name; };
    if (name == "python" || std::any_of(algorithm_plugins().begin(), algorithm_plugins().end(), same) ||
        std::any_of(all.begin(), all.end(), same))
      refuse(file, fmt::format("defines the method \"{}\", and a method of that name already exists", name),
             "Rename the method");
    all.push_back(std::move(plugin));
  }
}

}  // namespace

void name_plugin_library(const std::string& file) {
  const char* const before = std::getenv(kVariable);
  const std::string absolute = std::filesystem::absolute(file).lexically_normal().string();
  const std::string all =
      before != nullptr && *before != '\0' ? fmt::format("{}:{}", before, absolute) : absolute;
  setenv(kVariable, all.c_str(), 1);
}

const std::vector<AlgorithmPlugin>& loaded_algorithms() {
  static const std::vector<AlgorithmPlugin> table = [] {
    const char* const named = std::getenv(kVariable);
    std::stringstream files(named != nullptr ? named : "");
    std::vector<AlgorithmPlugin> all;
    std::vector<std::string> seen;
    for (std::string file; std::getline(files, file, ':');) {
      if (file.empty() || std::find(seen.begin(), seen.end(), file) != seen.end()) continue;
      seen.push_back(file);
      add(all, file);
    }
    return all;
  }();
  return table;
}

}  // namespace simsgd
