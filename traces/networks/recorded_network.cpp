#include "traces/networks/recorded_network.hpp"

#include <fmt/format.h>

#include "sim/base/printable.hpp"

namespace simsgd {

std::string network_name(const std::string& file, std::initializer_list<std::string_view> endings) {
  std::string name = file.substr(file.rfind('/') + 1);
  if (name.ends_with(".gz")) name.resize(name.size() - 3);
  for (const std::string_view ending : endings)
    if (name.size() > ending.size() && name.ends_with(ending)) {
      name.resize(name.size() - ending.size());
      break;
    }
  return printable(name);
}

int settled_batch(ImportedFile& file, int told) {
  const int set = file.constants().batch;
  if (set == 0) return told;
  if (told > 0 && told != set)
    file.ignore(fmt::format("values of batch that were set: the file tells {}, which is not used", told));
  return set;
}

void per_sample(RecordedLayer& layer, int batch) {
  layer.activations /= batch;
  if (layer.type != "conv" && layer.type != "fc") return;
  for (const std::vector<double>& tensor : layer.tensors)
    if (tensor.size() == 2) {
      layer.forward_flop = 2 * tensor[1] * layer.activations;
      return;
    }
}

void add_pass_times(ImportedFile& file, const RecordedWorkload& network) {
  const auto add = [&](const char* quantity, double seconds) {
    if (!(seconds > 0)) return;
    Measurement row;
    row.quantity = quantity;
    row.workers = 1;
    row.value = seconds;
    row.labels["workload"] = network.name;
    file.add(std::move(row));
  };
  add("forward_s", network.forward_s());
  add("backward_s", network.backward_s());
}

}  // namespace simsgd
