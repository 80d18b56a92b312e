#include "topologies/network_file.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>

#include "sim/base/printable.hpp"
#include "sim/base/units.hpp"

namespace simsgd {

namespace {

constexpr std::size_t kMostErrors = 20;
constexpr double kMostBps = 1e18, kMostLatency_s = 1e12;  // docs/model.md, Limits

[[noreturn]] void refuse_file(const std::string& path, const std::string& problem,
                              const std::string& remedy) {
  throw ConfigError(InputError{path, "", problem, "", remedy});
}

double quantity_of(const std::string& text, const std::string& what, Dimension dimension, int line,
                   FileErrors& errors) {
  const std::string example = fmt::format("Write {}", dimension_example(dimension));
  const ParsedQuantity parsed = parse_quantity(text, dimension);
  const bool bandwidth = dimension == Dimension::rate_Bps;
  if (text.empty())
    errors.add(line, "has no " + what, "", example);
  else if (!parsed.ok)
    errors.add(line, what + " " + parsed.problem, text, example);
  else if (bandwidth ? !(parsed.value > 0) : !(parsed.value >= 0))
    errors.add(line, what + (bandwidth ? " is not above 0" : " is below 0"), text, example);
  else if (parsed.value > (bandwidth ? kMostBps : kMostLatency_s))
    errors.add(line, what + " is beyond what can be simulated", text,
               bandwidth ? "Give at most 1e18 bytes per second" : "Give at most 1e12 s");
  else
    return parsed.value;
  return 1;
}

}  // namespace

void FileErrors::add(int line, const std::string& problem, const std::string& found, std::string remedy) {
  if (errors_.size() == kMostErrors) {
    ++more_;
    return;
  }
  const std::string place = line > 0 ? fmt::format("{}:{}", path_, line) : path_;
  errors_.push_back({place, "", printable(problem), printable(found), std::move(remedy)});
}

void FileErrors::refuse(int line, const std::string& problem, std::string remedy) {
  const std::string place = line > 0 ? fmt::format("{}:{}", path_, line) : path_;
  errors_.push_back({place, "", printable(problem), "", std::move(remedy)});
  throw ConfigError(errors_);
}

void FileErrors::throw_if_any() {
  if (more_ > 0)
    errors_.push_back({path_, "", fmt::format("has {} more error{}", more_, more_ == 1 ? "" : "s"), "",
                       "Mend those above first"});
  if (!errors_.empty()) throw ConfigError(errors_);
}

void FileNetwork::add_cable(int a, int b, double bandwidth_Bps, double latency_s) {
  const auto name = [this](int from, int to) {
    return vertices[static_cast<std::size_t>(from)].name + ">" + vertices[static_cast<std::size_t>(to)].name;
  };
  const auto id = static_cast<int>(links.size());
  links.push_back({name(a, b), bandwidth_Bps, latency_s, a, b});
  links.push_back({name(b, a), bandwidth_Bps, latency_s, b, a});
  steps.push_back({a, b, {id}});
  steps.push_back({b, a, {id + 1}});
}

void network_path_field(Fields& f, std::string& path) {
  f.text("path", path, "the file, looked for like a `use`; its hosts are the nodes, in its order").required();
}

void NetworkFileOptions::fields(Fields& f) {
  network_path_field(f, path);
  f.flag("hosts_forward", hosts_forward,
         "hosts pass on what is for others, as in a network without switches");
}

std::string find_network_file(const std::string& path, const NodeShape& shape) {
  return shape.find_file ? shape.find_file(path) : path;
}

std::string network_file_text(const std::string& path) {
  std::error_code failed;
  const std::filesystem::file_status status = std::filesystem::status(path, failed);
  if (!std::filesystem::exists(status))
    refuse_file(path, "is not there", "Write the path of a network's file");
  if (!std::filesystem::is_regular_file(status)) refuse_file(path, "is no file", "Write the path of a file");
  std::ifstream stream(path, std::ios::binary);
  std::string text(kMostFileBytes + 1, '\0');
  stream.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (stream.bad() || !stream.is_open()) refuse_file(path, "cannot be read", "Check its permissions");
  text.resize(static_cast<std::size_t>(stream.gcount()));
  if (text.size() > kMostFileBytes)
    refuse_file(path, fmt::format("is larger than {} MiB", kMostFileBytes >> 20),
                "Leave out what is not the network, or use a topology of `simsgd list topologies`");
  return text;
}

double bandwidth_of(const std::string& text, const std::string& what, int line, FileErrors& errors) {
  return quantity_of(text, what, Dimension::rate_Bps, line, errors);
}

double latency_of(const std::string& text, const std::string& what, int line, FileErrors& errors) {
  return quantity_of(text, what, Dimension::time_s, line, errors);
}

bool host_of(const std::string& type, const std::string& vertex, int line, FileErrors& errors) {
  if (!type.empty() && type != "host" && type != "switch")
    errors.add(line, fmt::format("type of \"{}\" is neither host nor switch", vertex), type,
               "Write type=host where a node of the cluster is, type=switch elsewhere");
  return type == "host";
}

}  // namespace simsgd
