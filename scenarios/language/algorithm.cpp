// The section "algorithm": the training method, and the logical graph that it may ask for.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "algorithms/loaded_algorithms.hpp"
#include "algorithms/plugin.hpp"
#include "algorithms/python/method.hpp"
#include "scenarios/language/schema.hpp"
#include "scenarios/language/sections.hpp"
#include "sim/base/units.hpp"
#include "topologies/graphs/graph.hpp"

namespace simsgd {

namespace {

// Algorithms ask for a graph without knowing which there are: "x-plugin" becomes the forms of all of them.
void fill_in_graphs(Json& algorithm) {
  for (Json& form : algorithm["oneOf"])
    for (Json& property : form["properties"])
      if (property.value("x-plugin", "") == "graph") {
        Json forms = schema::plugin(property.at("description"), graph_plugins());
        property = property.contains("default") ? schema::with_default(forms, property["default"]) : forms;
      }
}

// A method of a library says in the resolved scenario which contents of the library it is, so that another
// one is another run.
constexpr const char* kLibrary = "library";

void add_libraries(Json& algorithm) {
  for (Json& form : algorithm["oneOf"])
    for (const AlgorithmPlugin& plugin : loaded_algorithms())
      if (form["title"] == plugin.info.name)
        form["properties"][kLibrary] = {
            {"type", "string"},
            {"default", plugin.library},
            {"description", "The library that the method comes from, with a number of its contents"}};
}

/// The section as the method's options have it.
Json without_library(Json section, const AlgorithmPlugin& plugin) {
  const auto named = section.find(kLibrary);
  if (plugin.library.empty() || named == section.end()) return section;
  if (*named != plugin.library)
    reject(kLibrary, fmt::format("is not what was loaded, which is \"{}\"", plugin.library),
           "Load that one with --plugin, or leave the key out");
  section.erase(named);
  return section;
}

/// A file of the command line is looked for in the working directory first, else beside the scenario.
std::string path_of(const Reader& reader, const std::string& name) {
  std::error_code ignored;
  const bool typed = reader.origin_file("/algorithm/file") == "--set";
  return typed && std::filesystem::exists(name, ignored) ? name : reader.resolve("/algorithm", name).string();
}

/// Without a cluster where that is wrong.
AlgorithmContext context_of(const Reader& reader, const Job& job, int workers, std::vector<Note>* notes) {
  return {.workers = workers,
          .workload = &job.workload,
          .seed = job.seed,
          .cluster = job.workers() > 0 ? &job.cluster : nullptr,
          .graph = &job.graph,
          .optimizer = &job.optimizer,
          .learner = job.learner.get(),
          .notes = notes,
          .find_file = [&reader](const std::string& name) { return path_of(reader, name); }};
}

/// "parameters and gradients 204 MB, activations 1 GB": the parts of a whole.
std::string listed(const std::vector<MemoryPart>& parts) {
  std::string text;
  for (const MemoryPart& part : parts)
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", part.name, human_bytes(part.bytes));
  return text;
}

void check_memory(const Reader& reader, const Job& job) {
  const Device& device = job.cluster.device;
  const double bytes = total_bytes(job.memory);
  if (device.memory_bytes == 0 || bytes <= device.memory_bytes) return;
  const bool self = reader.value("/workload").is_string();
  reader.error(self ? "/learner/batch" : "/workload/batch",
               fmt::format("needs {} on each GPU, and {} has {}", human_bytes(bytes), device.name,
                           human_bytes(device.memory_bytes)),
               fmt::format("Use a smaller batch{}; it takes: {}", self ? "" : " or more micro_batches",
                           listed(job.memory)));
}

/// Nothing is exchanged at an interval that no worker lives to see. Where workers need no others, one may
/// take the steps of all.
void check_interval(const Reader& reader, const StopRule& stop, int workers, const AlgorithmPlugin& plugin,
                    bool needs_others) {
  const std::string& key = plugin.uses.interval;
  if (key.empty() || workers == 1 || stop.steps == StopRule().steps) return;
  if (reader.origin_file("/stop/steps") == "advise") return;  // it looks at the first steps of a longer run
  const auto interval = reader.value("/algorithm/" + key).get<double>();
  const double most = static_cast<double>(stop.steps) * (needs_others ? 1 : workers);
  if (interval <= most) return;
  reader.error("/algorithm/" + key,
               fmt::format("is beyond the run's {} steps{}: nothing would ever be exchanged", stop.steps,
                           needs_others ? "" : fmt::format(" of {} workers", workers)),
               fmt::format("Use at most {}, or a longer run", stop.steps));
}

/// What the device does not know of a codec's kernels, for messages as long as the model.
void note_codec(const AlgorithmContext& context, const Codec& codec) {
  const double numbers = context.workload->parameters();
  const CodecKernels kernels = codec.kernels(numbers);
  if (kernels.chunk > 0) {
    note_kernel(context, DeviceKernel::gemm);
    note_size(context, GemmSize{.m = kernels.chunk, .n = numbers / kernels.chunk, .k = kernels.chunk});
  }
  if (kernels.chosen > 0) {
    note_kernel(context, DeviceKernel::select);
    note_size(context, SelectSize{.k = kernels.chosen, .n = numbers});
    note_kernel(context, DeviceKernel::vector_pass);
  } else {
    note_kernel(context, DeviceKernel::quantise);
  }
}

/// A codec of messages is one that the method's messages can travel by.
void check_codec(const Reader& reader, const AlgorithmPlugin& plugin, const Codec* codec) {
  using Codecs = AlgorithmUses::Codecs;
  const Codecs takes = plugin.uses.codecs;
  if (codec == nullptr || takes == Codecs::any || (takes == Codecs::dense && !codec->sparse())) return;
  const std::string& name = plugin.info.name;
  const char *problem = nullptr, *remedy = "Leave it out, or use another method";
  if (takes == Codecs::dense) {
    problem = "sends few of the numbers, and the reduce-scatters of {} add up all of them";
    remedy = "Use a codec that sends all numbers, such as integer or sign";
  } else if (takes == Codecs::own) {
    problem = "codes messages that {} codes itself";
    remedy = "Give it as /algorithm/codec";
  } else {
    problem = "codes messages that {} has coded already";
  }
  reader.error("/network/codec", fmt::format(fmt::runtime(problem), name), remedy);
}

}  // namespace

const std::vector<AlgorithmPlugin>& training_methods() {
  static const std::vector<AlgorithmPlugin> all = [] {
    std::vector<AlgorithmPlugin> table = algorithm_plugins();
    table.push_back(python_plugin());
    table.insert(table.end(), loaded_algorithms().begin(), loaded_algorithms().end());
    return table;
  }();
  return all;
}

Json schema::algorithm() {
  Json json = plugin("The training method that all workers run", training_methods());
  fill_in_graphs(json);
  add_libraries(json);
  return json;
}

std::optional<LogicalGraph> build_graph(const Reader& reader, int workers) {
  const std::string pointer = "/algorithm/graph";
  if (!reader.has(pointer)) return LogicalGraph{};
  if (!reader.usable(pointer) || !reader.usable("/seed")) return std::nullopt;
  return reader.attempt(pointer, [&] {
    return make_graph(
        {.workers = workers,
         .seed = reader.seed(),
         .find_file = [&](const std::string& name) { return reader.resolve(pointer, name).string(); }},
        reader.value(pointer));
  });
}

void complete_algorithm(Json& algorithm, const Scenario& scenario, const Job& job) {
  ErrorList none;
  const Reader reader(scenario, none);
  const AlgorithmContext context = context_of(reader, job, job.workers(), nullptr);
  const AlgorithmPlugin& plugin =
      find_plugin(training_methods(), algorithm["name"].get<std::string>(), "algorithm");
  algorithm = without_library(std::move(algorithm), plugin);
  plugin.complete(algorithm, context);
  if (!plugin.library.empty()) algorithm[kLibrary] = plugin.library;
  if (algorithm.contains("graph"))
    find_plugin(graph_plugins(), algorithm["graph"]["name"].get<std::string>(), "logical graph")
        .complete(algorithm["graph"], {.workers = job.workers(), .seed = job.seed, .find_file = {}});
}

void build_algorithm(const Reader& reader, int workers, Job& job) {
  const Json& section = reader.value("/algorithm");
  const AlgorithmPlugin& plugin =
      find_plugin(training_methods(), section["name"].get<std::string>(), "algorithm");
  const AlgorithmContext context = context_of(reader, job, workers, &job.notes);
  if (context.cluster == nullptr && !plugin.library.empty()) return;  // which may look at it
  auto algorithm =
      reader.attempt("/algorithm", [&] { return plugin.make(without_library(section, plugin), context); });
  check_codec(reader, plugin, job.network.coding.codec.get());
  check_interval(reader, job.stop, workers, plugin, algorithm && (*algorithm)->needs_others());
  if (!algorithm || context.cluster == nullptr) return;
  job.algorithm = std::move(*algorithm);
  job.memory = job.algorithm->memory({job.workload, job.optimizer, job.workers()});
  if (const Coding& coding = job.coding(); coding.codec) {
    note_codec(context, *coding.codec);
    const double numbers = job.workload.parameters();
    job.memory.push_back({"coded message", coding.codec->bits(numbers) / 8});
    if (coding.feedback > 0) job.memory.push_back({"error feedback", kBytesPerNumber * numbers});
  }
  share_memory(job);
  check_memory(reader, job);
}

}  // namespace simsgd
