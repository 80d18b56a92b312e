#include "algorithms/python/method.hpp"

#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "sim/base/this_program.hpp"

namespace simsgd {

void PythonOptions::fields(Fields& f) {
  f.text("source", source, "The method's source text").by_rule("what the file says");
  f.text(
      "file", file,
      "File of the method, relative to the working directory; with \"source\" it is only a name for messages");
  f.text(
      "function", function,
      "Name of the generator function that is the method; default: the only one, or the one named like the file");
  f.raw(
       "options", options,
       {{"type", "object"}, {"description", "Options that are passed to the method as its second parameter"}})
      .by_rule("what the method declares");
  f.raw("graph", graph,
        {{"type", "object"},
         {"x-plugin", "graph"},
         {"description", "The graph that the method sees as w.graph: one of `simsgd list graphs`"}})
      .by_rule("none");
  f.time("yield_limit", yield_limit_s,
         "Real time that the method may compute between two yields; after it the run fails")
      .above(0);
}

void PythonOptions::complete(const AlgorithmContext& context) {
  if (source) return;
  std::ifstream text(context.find_file && !file.empty() ? context.find_file(file) : file, std::ios::binary);
  if (!text)
    reject(
        "file", "cannot be read",
        "Name a Python file beside the scenario or in the working directory, or give its text as \"source\"");
  source.emplace(std::istreambuf_iterator<char>(text), std::istreambuf_iterator<char>());
}

namespace {

MadeAlgorithm make_python(const PythonOptions& options, const AlgorithmContext& context) {
  using Make = void (*)(const PythonOptions&, const AlgorithmContext&, MadeAlgorithm&);
  static const auto make =
      reinterpret_cast<Make>(function_of_own_library("libsimsgd_python.so", "simsgd_make_python"));
  MadeAlgorithm made;
  make(options, context, made);
  return made;
}

}  // namespace

const AlgorithmPlugin& python_plugin() {
  static const AlgorithmPlugin plugin{
      {.name = "python", .summary = "a method of your own, in Python", .citation = ""},
      "what the method sends",
      {.sends = {Traffic::gradient, Traffic::model, Traffic::factor, Traffic::inverse, Traffic::control},
       .activities = {Activity::selection, Activity::factor, Activity::inverse}},
      make_python};
  return plugin;
}

std::pair<std::string, std::string> python_override(const std::string& file) {
  return {"/algorithm", Json{{"name", "python"}, {"file", file}}.dump()};
}

}  // namespace simsgd
