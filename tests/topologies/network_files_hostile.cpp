// Files of networks that are wrong, cut off, or meant to do harm: refused with what is wrong, all at once.
#include <sys/resource.h>

#include <filesystem>

#include "network_files.hpp"

namespace simsgd::test::topologies_network_files_hostile {

namespace {

std::string refusal(const std::string& topology, const std::string& ending, const std::string& text,
                    int nodes = 2) {
  const NetworkFile file(ending, text);
  std::string all = file_refusal(topology, nodes, file);
  for (std::size_t at = 0; (at = all.find(file.path(), at)) != std::string::npos;)
    all.replace(at, file.path().size(), "F");
  return all;
}

bool has(const std::string& text, const std::string& part) {
  CAPTURE(text);
  return text.find(part) != std::string::npos;
}

constexpr const char* kTwo =
    R"(<platform version="4.1"><zone id="z" routing="Full"><host id="a"/><host id="b"/>)"
    R"(<link id="l" bandwidth="1GBps" latency="1us"/><route src="a" dst="b"><link_ctn id="l"/></route></zone></platform>)";

}  // namespace

TEST_CASE("half a file, nothing, or something else is refused, wherever it is cut") {
  const std::string whole = kTwo;
  CHECK(refusal("simgrid_xml", ".xml", whole).empty());
  for (std::size_t cut = 0; cut < whole.size(); cut += 7) {
    CAPTURE(cut);
    CHECK(!refusal("simgrid_xml", ".xml", whole.substr(0, cut)).empty());
    CHECK(!refusal("graphml", ".graphml", whole.substr(0, cut)).empty());
    CHECK(!refusal("dot", ".dot", whole.substr(0, cut)).empty());
  }
  const std::string dot =
      "graph { a [type=host]; b [type=host]; a -- s [bandwidth=\"1e9\"]; b -- s [bandwidth=\"1 GB/s\"] }";
  CHECK(refusal("dot", ".dot", dot).empty());
  for (std::size_t cut = 0; cut < dot.size(); cut += 3)
    CHECK(!refusal("dot", ".dot", dot.substr(0, cut)).empty());
  CHECK(has(refusal("simgrid_xml", ".xml", std::string("\0\1\2", 3)), "F:1: is not XML: "));
}

TEST_CASE("what nests without end does not exhaust the stack") {
  std::string deep, braces;
  for (int i = 0; i < 200'000; ++i) deep += "<a>";
  braces.assign(1'000'000, '{');
  CHECK(has(refusal("graphml", ".graphml", deep), "nests elements deeper than 64"));
  CHECK(has(refusal("simgrid_xml", ".xml", deep), "nests elements deeper than 64"));
  CHECK(has(refusal("dot", ".dot", "graph " + braces), "has more than 1000 braces"));
  CHECK(!refusal("dot", ".dot", "graph " + std::string(1000, '{')).empty());
}

TEST_CASE("a file of 300 MB is refused without being read, as is what is not a file") {
  const NetworkFile file(".dot", "graph {");
  std::filesystem::resize_file(file.path(), 300'000'000);
  for (const char* name : {"dot", "graphml", "simgrid_xml"}) {
    CHECK(
        file_refusal(name, 2, file) ==
        file.path() +
            ": is larger than 8 MiB. Remove everything but the network, or use a topology of `simsgd list topologies`.");
    for (const auto& [path, what] : {std::pair{"/dev/zero", "is not a file"},
                                     {"/tmp", "is not a file"},
                                     {"/no/such/file.dot", "does not exist"}}) {
      CAPTURE(path);
      std::string said;
      try {
        make(name, plain_nodes(2), {{"path", path}});
      } catch (const ConfigError& error) {
        said = error.what();
      }
      CHECK(said.starts_with(std::string(path) + ": " + what + "."));
    }
  }
}

TEST_CASE("a thousand errors are twenty and a count") {
  std::string text = "graph { ";
  for (int i = 0; i < 1000; ++i) text += "a" + std::to_string(i) + " [type=x]; ";
  const std::string all = refusal("dot", ".dot", text + "}");
  CHECK(std::count(all.begin(), all.end(), '\n') == 20);
  CHECK(has(all, "F: has 1981 more errors. Correct those above first."));
}

}  // namespace simsgd::test::topologies_network_files_hostile
