// What the learner's tests share: plug-ins by name, tiny data sets, a model bound to its data.
#pragma once

#include <array>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <vector>

#include "sim/learn/data/registry.hpp"
#include "sim/learn/learner.hpp"
#include "sim/learn/model.hpp"
#include "sim/learn/models/registry.hpp"

#include "tests/support/numbers.hpp"

namespace simsgd::testing {

inline const ModelPlugin& model_plugin(const std::string& name) {
  for (const ModelPlugin& plugin : model_plugins())
    if (plugin.info.name == name) return plugin;
  throw std::runtime_error("no model " + name);
}

inline const ModelPluginOf<double>& model_in_double(const std::string& name) {
  for (const ModelPluginOf<double>& plugin : models_in_double())
    if (plugin.info.name == name) return plugin;
  throw std::runtime_error("no model " + name);
}

inline const DataPlugin& data_plugin(const std::string& name) {
  for (const DataPlugin& plugin : data_plugins())
    if (plugin.info.name == name) return plugin;
  throw std::runtime_error("no data source " + name);
}

inline std::filesystem::path as_written(const std::string& path) { return path; }

inline DataSets load(const std::string& name, const Json& parameters, std::uint64_t seed = 1) {
  return data_plugin(name).make(parameters, {.seed = seed, .resolve = as_written});
}

/// One sample of one channel.
inline DataSet image_set(int height, int width, const std::vector<float>& pixels, std::int32_t label,
                         int classes) {
  DataSet data;
  data.name = "image";
  data.count = 1;
  data.features = std::int64_t{height} * width;
  data.height = height, data.width = width, data.channels = 1;
  data.classes = classes;
  data.floats = pixels;
  data.labels = {label};
  return data;
}

/// `count` samples of normal features, with labels of `classes` classes drawn at random.
inline DataSet random_classes(std::int64_t count, std::int64_t features, int classes, std::uint64_t seed) {
  Stream stream({seed, Purpose::data_set, 77, 0});
  DataSet data;
  data.name = "random";
  data.count = count;
  data.features = features;
  data.classes = classes;
  for (std::int64_t i = 0; i < count * features; ++i)
    data.floats.push_back(static_cast<float>(stream.normal()));
  for (std::int64_t i = 0; i < count; ++i)
    data.labels.push_back(static_cast<std::int32_t>(stream.below(static_cast<std::uint32_t>(classes))));
  return data;
}

/// A text of `count` samples, of tokens drawn at random.
inline DataSet random_text(int vocabulary, std::int64_t context, std::int64_t count, std::uint64_t seed) {
  Stream stream({seed, Purpose::data_set, 78, 0});
  DataSet data;
  data.name = "text";
  data.count = count;
  data.features = data.stride = context;
  data.classes = vocabulary;
  data.bytes_per_token = 1;
  for (std::int64_t i = 0; i <= count * context; ++i)
    data.tokens.push_back(static_cast<std::uint16_t>(stream.below(static_cast<std::uint32_t>(vocabulary))));
  return data;
}

inline std::vector<std::int32_t> all_samples(const DataSet& data) {
  std::vector<std::int32_t> all;
  for (std::int32_t i = 0; i < data.count; ++i) all.push_back(i);
  return all;
}

/// Loss and gradient of a model in double precision on all samples of a data set.
struct Differentiated {
  double loss = 0;
  std::vector<double> gradient;
  LayerTap<double> tap;
};

inline Differentiated differentiate(const Model<double>& model, const std::vector<double>& parameters,
                                    const DataSet& data) {
  Differentiated result;
  result.gradient.resize(parameters.size());
  result.loss = model.loss_and_gradient(parameters, data.batch<double>(all_samples(data)), result.gradient,
                                        &result.tap);
  return result;
}

/// Parameters drawn at random.
inline std::vector<double> random_point(std::size_t size, std::uint64_t seed) {
  Stream stream({seed, Purpose::initial_model, 0, 0});
  std::vector<double> parameters(size);
  for (double& parameter : parameters) parameter = 0.4 * stream.normal();
  return parameters;
}

/// Images drawn at random, with labels.
inline DataSet random_images(int channels, int height, int width, int classes, std::int64_t count = 5) {
  DataSet data = random_classes(count, std::int64_t{channels} * height * width, classes, 3);
  data.channels = channels, data.height = height, data.width = width;
  return data;
}

/// What a command prints; empty if it fails.
inline std::string output_of(const std::string& command) {
  std::FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) throw std::runtime_error("cannot run " + command);
  std::string all;
  std::array<char, 4096> block{};
  for (std::size_t got; (got = std::fread(block.data(), 1, block.size(), pipe)) > 0;)
    all.append(block.data(), got);
  return pclose(pipe) == 0 ? all : "";
}

inline bool torch_is_there() {
  return output_of("/usr/bin/python3 -c 'import importlib.util as u; print(u.find_spec(\"torch\"))'") !=
         "None\n";
}

/// Loss and gradient of each case, as tests/learn/NAME_torch.py computes them.
inline std::vector<Differentiated> by_torch(const std::string& name, const Json& cases) {
  const std::string path = SIMSGD_BINARY_DIR "/" + name + "_cases.json";
  std::ofstream(path) << cases;
  const std::string said =
      output_of("/usr/bin/python3 " SIMSGD_SOURCE_DIR "/tests/learn/" + name + "_torch.py " + path);
  if (said.empty()) throw std::runtime_error(name + "_torch.py has failed");
  std::vector<Differentiated> all;
  for (const Json& each : Json::parse(said))
    all.push_back({each["loss"].get<double>(), each["gradient"].get<std::vector<double>>(), {}});
  return all;
}

}  // namespace simsgd::testing
