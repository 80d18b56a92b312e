// pipedream: graph.txt of PipeDream's profiler. Lines "nodeN -- LAYER -- forward_compute_time=F,
// backward_compute_time=B, activation_size=A, parameter_size=P", then edges "\tnodeI -- nodeJ"; milliseconds
// and bytes, all of the whole batch; A may be "[a; b]". Read: layers in an order that the edges allow, with
// their times, parameters and outputs. The node Input is not a layer: its time is data loading, its size
// tells the batch.
//   https://github.com/msr-fiddle/pipedream, profiler/; Narayanan et al., SOSP 2019,
//   DOI 10.1145/3341301.3359646
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <numeric>
#include <queue>

#include "sim/base/errors.hpp"
#include "sim/base/printable.hpp"
#include "traces/import.hpp"
#include "traces/imported_file.hpp"
#include "traces/reading/input.hpp"

namespace simsgd::importers {

namespace {

constexpr std::string_view kBetween = " -- ";
constexpr double kNumber_bytes = 4;                   // assumed: the profiler runs in fp32
constexpr double kImage_bytes = 4.0 * 3 * 224 * 224;  // assumed, where the input is an image: ImageNet's

struct ProfileNode {
  std::string layer;  // "Conv2d(3, 64, kernel_size=(7, 7), ...)"
  double forward_ms = kNotGiven, backward_ms = kNotGiven, activation_bytes = kNotGiven,
         parameter_bytes = kNotGiven;
  std::vector<std::uint32_t> followers;
  std::size_t leaders = 0;
};

// "node12" -> 12; false where it is none.
bool read_node(std::string_view text, std::uint32_t& number) {
  int value = 0;
  if (!text.starts_with("node") || !read_count(text.substr(4), 0, value)) return false;
  number = static_cast<std::uint32_t>(value);
  return true;
}

// The k-th number in "Conv2d(3, 64, ...)", from 0; 0 where there is none.
double argument(std::string_view layer, std::size_t k) {
  std::size_t at = layer.find('(');
  for (; k > 0 && at != std::string_view::npos; --k) at = layer.find(',', at + 1);
  if (at == std::string_view::npos) return 0;
  double value = 0;
  const std::size_t end = layer.find_first_of(",)", at + 1);
  return read_number(trimmed(layer.substr(at + 1, end - at - 1)), value) ? value : 0;
}

// The number after "out_features="; 0 where there is none.
double named_argument(std::string_view layer, std::string_view name) {
  const std::size_t at = layer.find(name);
  if (at == std::string_view::npos) return 0;
  const std::string_view rest = layer.substr(at + name.size());
  double value = 0;
  return read_number(rest.substr(0, rest.find_first_of(",)")), value) ? value : 0;
}

bool is_input(const ProfileNode& node) {
  return node.layer.starts_with("Input") &&
         std::all_of(node.layer.begin() + 5, node.layer.end(), [](char c) { return is_digit(c); });
}

class ProfileGraph {
 public:
  explicit ProfileGraph(ImportedFile& file) : file_(file) {}

  void line(std::string_view text) {
    const std::size_t first = text.find(kBetween), last = text.rfind(kBetween);
    std::uint32_t from = 0, to = 0;
    if (first == std::string_view::npos || !read_node(trimmed(text.substr(0, first)), from))
      return file_.ignore("lines that are neither a node nor an edge");
    if (last != first) return node(from, text);
    if (!read_node(trimmed(text.substr(first + kBetween.size())), to))
      return file_.ignore("lines that are neither a node nor an edge");
    if (++edges_ > kMostRecordedOperations) throw too_large("edges");
    links_.emplace_back(from, to);
  }

  RecordedWorkload network() {
    RecordedWorkload made;
    made.name = network_name(file_.name(), {".graph.txt", "graph.txt", ".txt"});
    std::size_t inputs = 0;
    for (const std::uint32_t number : order()) {
      const ProfileNode& node = nodes_.at(number);
      if (is_input(node))
        ++inputs;
      else
        made.layers.push_back(layer(number, node));
    }
    if (inputs > 0) file_.understand("nodes of data loading (Input), left out", inputs);
    made.batch = settled_batch(file_, batch());
    if (made.batch > 0)
      for (RecordedLayer& each : made.layers) per_sample(each, made.batch);
    made.source = fmt::format(
        "{}: PipeDream profile; times are of a whole batch; assumed: 4 bytes a number{}",
        printable(file_.name()), by_image_ ? ", images of 3 x 224 x 224, from which the batch follows" : "");
    return made;
  }

 private:
  ConfigError too_large(const char* what) const {
    return ConfigError({file_.name(), "", fmt::format("has more than {} {}", kMostRecordedOperations, what),
                        "", "Name the profile of one network"});
  }

  void node(std::uint32_t number, std::string_view text) {
    const std::size_t first = text.find(kBetween) + kBetween.size(), last = text.rfind(kBetween);
    if (nodes_.contains(number)) return file_.ignore("nodes that appear twice; the first is used");
    if (nodes_.size() == kMostRecordedOperations) throw too_large("nodes");
    ProfileNode& made = nodes_[number];
    made.layer = printable(std::string(text.substr(first, last - first)));
    const std::string_view values = text.substr(last + kBetween.size());
    const auto read = [&](std::string_view key, double& value) {
      const std::size_t at = values.find(key);
      if (at == std::string_view::npos) return file_.ignore("nodes without a time or a size");
      std::string_view rest = values.substr(at + key.size());
      rest = rest.substr(0, rest.starts_with('[') ? rest.find(']') + 1 : rest.find(','));
      std::vector<double> parts;
      if (!read_list(rest, parts)) return file_.ignore("times and sizes that are not numbers");
      const double sum = std::accumulate(parts.begin(), parts.end(), 0.0);
      if (!(sum >= 0) || !std::isfinite(sum)) return file_.ignore("negative times and sizes");
      value = sum;
    };
    read("forward_compute_time=", made.forward_ms);
    read("backward_compute_time=", made.backward_ms);
    read("activation_size=", made.activation_bytes);
    read("parameter_size=", made.parameter_bytes);
  }

  // Kahn's algorithm; of nodes that may come next, the one with the smallest number: so they were made.
  std::vector<std::uint32_t> order() {
    for (const auto& [from, to] : links_) {
      if (!nodes_.contains(from) || !nodes_.contains(to)) {
        file_.ignore("edges of missing nodes");
        continue;
      }
      nodes_[from].followers.push_back(to);
      ++nodes_[to].leaders;
    }
    std::priority_queue<std::uint32_t, std::vector<std::uint32_t>, std::greater<>> ready;
    for (const auto& [number, node] : nodes_)
      if (node.leaders == 0) ready.push(number);
    std::vector<std::uint32_t> sorted;
    while (!ready.empty()) {
      const std::uint32_t number = ready.top();
      ready.pop();
      sorted.push_back(number);
      for (const std::uint32_t follower : nodes_[number].followers)
        if (--nodes_[follower].leaders == 0) ready.push(follower);
    }
    if (sorted.size() == nodes_.size()) return sorted;
    const auto left = std::ranges::find_if(nodes_, [](const auto& n) { return n.second.leaders > 0; });
    throw ConfigError({file_.name(), "", "has circular edges", fmt::format("at node{}", left->first),
                       "Correct its edges: a network's layers have an order"});
  }

  RecordedLayer layer(std::uint32_t number, const ProfileNode& node) {
    RecordedLayer made;
    const std::string kind = node.layer.substr(0, node.layer.find('('));
    made.name = fmt::format("node{} {}", number, kind);
    made.forward_s = node.forward_ms / 1e3;
    made.backward_s = node.backward_ms / 1e3;
    made.activations = node.activation_bytes / kNumber_bytes;
    const double numbers = node.parameter_bytes / kNumber_bytes;
    if (numbers != std::floor(numbers)) file_.ignore("parameters whose size is not a multiple of 4 bytes");
    if (!(numbers >= 1)) {
      if (kind.starts_with("BatchNorm")) made.type = "bn";
      return made;
    }
    shape(made, kind, node.layer, std::floor(numbers));
    return made;
  }

  void shape(RecordedLayer& made, const std::string& kind, const std::string& text, double numbers) {
    double rows = 0;
    if (kind.starts_with("Conv")) {
      made.type = "conv";
      rows = argument(text, 1);
    } else if (kind == "Linear") {
      made.type = "fc";
      rows = named_argument(text, "out_features=");
    } else if (kind.starts_with("Embedding")) {
      made.type = "embedding";
      const double words = argument(text, 0), width = argument(text, 1);
      if (words * width == numbers) return made.tensors.push_back({words, width});
    } else if (kind.starts_with("BatchNorm")) {
      made.type = "bn";
      if (std::fmod(numbers, 2) == 0) made.tensors = {{numbers / 2}, {numbers / 2}};
    }
    const double bias = text.find("bias=False") == std::string::npos ? rows : 0;
    const double columns = rows > 0 ? (numbers - bias) / rows : 0;
    if (columns >= 1 && columns == std::floor(columns)) {
      made.tensors = {{rows, columns}};
      if (bias > 0) made.tensors.push_back({bias});
    }
    if (made.tensors.empty()) made.tensors = {{numbers}};
  }

  // 0 where the file does not tell: by the size of the input, and by what the last fully connected layer puts
  // out.
  int batch() {
    double by_input = 0, by_output = 0;
    for (const auto& [number, node] : nodes_) {
      const double outputs =
          node.layer.starts_with("Linear") ? named_argument(node.layer, "out_features=") : 0;
      if (is_input(node)) by_input = node.activation_bytes / kImage_bytes;
      if (outputs > 0) by_output = node.activation_bytes / kNumber_bytes / outputs;
    }
    const auto whole = [](double value) {
      return value >= 1 && value <= 1e6 && value == std::floor(value) ? static_cast<int>(value) : 0;
    };
    const int image = whole(by_input), output = whole(by_output);
    by_image_ = image > 0 && (output == 0 || output == image);
    if (image > 0 && output > 0 && image != output) {
      file_.ignore("input and output sizes that imply different batches; use --set batch=N");
      return 0;
    }
    return image > 0 ? image : output;
  }

  ImportedFile& file_;
  std::map<std::uint32_t, ProfileNode> nodes_;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> links_;
  std::size_t edges_ = 0;
  bool by_image_ = false;
};

void read_pipedream(Input& input, ImportedFile& file) {
  ProfileGraph graph(file);
  for (std::string_view line; input.line(line);)
    if (!trimmed(line).empty()) graph.line(line);
  RecordedWorkload network = graph.network();
  add_pass_times(file, network);
  if (!network.layers.empty()) file.workload = std::move(network);
}

bool is_pipedream(std::string_view head) {
  const std::string_view line = head.substr(0, head.find('\n'));
  return line.find("forward_compute_time=") != std::string_view::npos &&
         line.find("backward_compute_time=") != std::string_view::npos;
}

}  // namespace

std::vector<ImportFormat> pipedream() {
  return {{{.name = "pipedream",
            .summary = "graph.txt of PipeDream's profiler: a network's layers and their times",
            .citation = "https://github.com/msr-fiddle/pipedream, profiler; DOI 10.1145/3341301.3359646"},
           is_pipedream,
           make_importer<FileImporter<read_pipedream>>}};
}

}  // namespace simsgd::importers
