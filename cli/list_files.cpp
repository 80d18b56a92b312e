#include "cli/list_files.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "scenarios/language/json_source.hpp"
#include "sim/base/units.hpp"

namespace simsgd {

namespace {

std::string text_at(const Json& json, const std::string& key) {
  return json.contains(key) && json.at(key).is_string() ? json.at(key).get<std::string>() : "";
}

double sum_of(const Json& layers, const std::string& key) {
  double sum = 0;
  for (const Json& layer : layers) {
    if (!layer.contains(key)) continue;
    const Json& value = layer.at(key);
    if (value.is_number()) sum += value.get<double>();
    if (value.is_string()) sum += parse_quantity(value.get<std::string>(), Dimension::flop).value;
    for (const Json& tensor : value.is_array() ? value : Json::array()) sum += tensor.get<double>();
  }
  return sum;
}

/// What a workload file says, its layers summed up.
Json workload_numbers(const Json& file) {
  Json numbers = file;
  const Json layers = file.value("layers", Json::array());
  numbers.erase("layers");
  numbers["layers"] = layers.size();
  numbers["parameters"] = sum_of(layers, "tensors");
  numbers["forward_flop_per_sample"] = sum_of(layers, "forward_flop");
  numbers["activations_per_sample"] = sum_of(layers, "activations");
  return numbers;
}

std::string one_device_line(const Json& time) {
  const std::string step = time.contains("samples_per_s") ? time["samples_per_s"].dump() + " samples/s"
                           : time["forward_backward"].is_string()
                               ? time["forward_backward"].get<std::string>()
                               : time["forward_backward"].dump() + " s";
  return fmt::format("one device: {}, batch {}: {} ({})", text_at(time, "device"), time["batch"].dump(), step,
                     text_at(time, "source"));
}

std::string plain_text(const Json& value) {
  return value.is_number()   ? human_number(value.get<double>())
         : value.is_string() ? value.get<std::string>()
                             : value.dump();
}

/// "nic/bandwidth  1 Gbps", for everything but names and sources.
void add_lines(const Json& object, const std::string& above, std::vector<std::string>& lines) {
  for (const auto& [key, value] : object.items()) {
    if (above.empty() && (key == "name" || key == "source")) continue;
    const std::string path = above + key;
    if (key == "one_device") {
      for (const Json& time : value) lines.push_back(one_device_line(time));
    } else if (value.is_object()) {
      add_lines(value, path + "/", lines);
    } else if (value.is_number() && std::abs(value.get<double>()) < 1e-3 && value != 0) {
      lines.push_back(fmt::format("{}: {:g}", path, value.get<double>()));
    } else if (key != "source") {
      lines.push_back(fmt::format("{}: {}", path, plain_text(value)));
    }
  }
}

}  // namespace

std::vector<ListedFile> listed_files(const std::string& folder) {
  std::vector<ListedFile> files;
  for (const std::string& directory : search_path(folder, "")) {
    std::error_code none;
    for (const auto& entry : std::filesystem::directory_iterator(directory, none)) {
      if (entry.path().extension() != ".json") continue;
      std::ifstream stream(entry.path());
      Json json = Json::parse(stream, nullptr, false, true);
      if (json.is_discarded() || !json.is_object()) continue;
      json.erase("$schema");
      ListedFile file{folder + "/" + entry.path().filename().string(),
                      text_at(json, "name"),
                      text_at(json, "source"),
                      {},
                      {}};
      file.numbers = folder == "workloads" ? workload_numbers(json) : json;
      add_lines(file.numbers, "", file.lines);
      files.push_back(std::move(file));
    }
    if (!files.empty()) break;
  }
  std::sort(files.begin(), files.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  return files;
}

}  // namespace simsgd
