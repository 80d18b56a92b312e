// A method in Python: a generator function of a worker and its options, which yields what it waits for. The
// same roles as in C++; docs/python.md. Its text is part of the scenario, so that a result says what it comes
// from. What is seen of libsimsgd_python.so is at the end.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "algorithms/python/door.hpp"
#include "algorithms/python/method.hpp"
#include "algorithms/python/watchdog.hpp"
#include "sim/base/errors.hpp"
#include "sim/learn/model.hpp"

namespace simsgd {

namespace {

using python::Door;
using python::to_python;

/// What the method says of itself: its number, memory, needs_others, shards, sends, activities, notes.
Json declared(const PythonOptions& options) {
  python::Ref answer;
  try {
    const Json given = options.options.present() ? options.options.json() : Json::object();
    answer = python::call(python::of_door("load"), {to_python(*options.source), to_python(options.file),
                                                    to_python(options.function), to_python(given.dump())});
  } catch (const RunError& error) {
    std::string why = error.what();
    if (why.ends_with('.')) why.pop_back();
    reject("name", fmt::format("needs Python: {}", why),
           "Use another algorithm if you cannot install Python");
  }
  std::string text;
  python::from_python(answer.get(), text);
  Json said = Json::parse(text);
  if (!said.at("problems").empty()) {
    const Json& first = said["problems"][0];
    throw ParameterError(first[0].get<std::string>(), first[1].get<std::string>(),
                         first[2].get<std::string>());
  }
  return said;
}

/// What the method declares by names; nothing where it does not.
template <class Kind>
std::optional<std::vector<Kind>> named_in(const Json& said, const char* key,
                                          Kind (*of_name)(const std::string&)) {
  if (said.at(key).is_null()) return std::nullopt;
  std::vector<Kind> kinds;
  try {
    for (const Json& name : said[key]) kinds.push_back(of_name(name));
  } catch (const RunError& error) {
    const std::string why = error.what();
    reject("source", fmt::format("declares an unknown value in {}: {}", key, why.substr(0, why.size() - 1)),
           "Correct it");
  }
  return kinds;
}

class PythonMethod final : public Algorithm {
 public:
  PythonMethod(const Json& said, const std::string& file, double yield_limit_s,
               const AlgorithmContext& context)
      : number_(said.at("number")),
        yield_limit_s_(yield_limit_s),
        needs_others_(said.at("needs_others")),
        shards_(said.at("shards")),
        memory_(said.at("memory")) {
    if (context.cluster != nullptr) {
      parts_.cluster = *context.cluster;
      parts_.has_cluster = true;
    }
    if (context.learner != nullptr) parts_.factors = factor_layout(context.learner->model().layers());
    parts_.file = file;
    parts_.posts = said.at("posts");
    parts_.sends = named_in(said, "sends", &python::traffic_of);
    parts_.activities = named_in(said, "activities", &python::activity_of);
    if (context.notes != nullptr)
      for (const Json& text : said.at("notes"))
        add_note(*context.notes, {"method", fmt::format("the method says: {}", text.get<std::string>())});
  }

  void run(Worker& worker) const override {
    python::watch(yield_limit_s_);
    std::make_shared<Door>(worker, parts_)->run(number_);
  }
  bool needs_others() const override { return needs_others_; }
  bool shards() const override { return shards_; }
  std::vector<MemoryPart> memory(const MemoryContext& context) const override {
    if (memory_.is_object()) {
      std::vector<MemoryPart> more;
      for (const auto& [name, vectors] : memory_.items())
        more.push_back({name, vectors.get<double>() * context.vector_bytes()});
      return replica_memory_and(context, std::move(more));
    }
    Json about = {{"workers", context.workers},
                  {"parameters", context.workload.parameters()},
                  {"vector_bytes", context.vector_bytes()},
                  {"batch", context.workload.batch},
                  {"micro_batches", context.workload.micro_batches},
                  {"replica", Json::object()}};
    for (const MemoryPart& part : replica_memory(context)) about["replica"][part.name] = part.bytes;
    std::string text;
    python::from_python(
        python::call(python::of_door("memory_of"), {to_python(number_), to_python(about.dump())}).get(),
        text);
    const Json told = Json::parse(text);
    std::vector<MemoryPart> parts;
    for (const auto& [name, bytes] : told.items()) parts.push_back({name, bytes.get<double>()});
    return parts;
  }

 private:
  long long number_;
  double yield_limit_s_;
  bool needs_others_, shards_;
  Json memory_;  // in vectors of the model's size; else the method has a function for it
  python::Parts parts_;
};

}  // namespace

}  // namespace simsgd

extern "C" __attribute__((visibility("default"))) void simsgd_make_python(
    const simsgd::PythonOptions& options, const simsgd::AlgorithmContext& context,
    simsgd::MadeAlgorithm& made) {
  made = std::make_unique<simsgd::PythonMethod>(simsgd::declared(options), options.file,
                                                options.yield_limit_s, context);
}
