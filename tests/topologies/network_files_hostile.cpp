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

TEST_CASE("everything that is wrong with a DOT network is said at once, by its vertices' names") {
  const std::string all = refusal("dot", ".dot", R"(graph { a [type=host]; b [type=hots]; c;
    a -- s [bandwidth="10 Gpbs"]; b -- s; s -- s [bandwidth="1e9"]; s -- t [bandwidth="1 GB/s", latency="-1 us"];
    a -- t [bandwidth=-3]; b -- t [bandwidth="1e30"]; t -- u [bandwidth=nan] })");
  CHECK(has(all, "F: type of \"b\" is neither host nor switch. Found: hots."));
  CHECK(has(
      all,
      "bandwidth of a -- s has the unit \"Gpbs\", which is not a unit of bandwidth. Found: 10 Gpbs. Write "));
  CHECK(has(all, "has no bandwidth of b -- s."));
  CHECK(has(all, "joins a vertex to itself. Found: s -- s."));
  CHECK(has(all, "latency of s -- t is below 0. Found: -1 us."));
  CHECK(has(all, "bandwidth of a -- t is not above 0. Found: -3."));
  CHECK(has(all, "bandwidth of b -- t is beyond what can be simulated. Found: 1e30."));
  CHECK(has(all, "bandwidth of t -- u is not a number with a unit. Found: nan."));
  CHECK(has(all, "switch \"c\" is joined to nothing."));
  CHECK(has(all, "has 1 host for 2 nodes. Set /cluster/nodes to at most 1, or use another network"));
}

TEST_CASE("what is wrong with an XML network is said with its lines") {
  const std::string graphml = refusal("graphml", ".graphml", R"(<graphml>
<key id="w" for="edge" attr.name="bandwidth" attr.type="string"/><key id="t" for="node" attr.name="type"/>
<graph edgedefault="undirected">
<node id="a"><data key="t">host</data></node>
<node id="a"/>
<node id="b"><data key="t">host</data></node>
<edge source="a" target="b"/>
<edge source="a" target="x"><data key="w">1 GB/s</data></edge>
<edge source="a" target="b" directed="true"><data key="w">1 GB/s</data></edge>
<hyperedge/>
<graph/>
</graph></graphml>)");
  CHECK(has(graphml, "F:5: is a node that was there before. Found: a."));
  CHECK(has(graphml, "F:7: has no bandwidth."));
  CHECK(has(graphml, "F:8: joins a node that is not there. Found: x."));
  CHECK(has(graphml, "F:9: is a directed edge, and cables go both ways."));
  CHECK(has(graphml, "F:10: is a <hyperedge>, which is not read."));
  CHECK(has(graphml, "F:11: is a graph inside or beside another one."));

  const std::string platform = refusal("simgrid_xml", ".xml", R"(<platform version="3">
<zone id="z" routing="Vivaldi">
<host id="a"/><host id="b"/>
<router id="b"/>
<link id="l" bandwidth="1GBs" latency="1 parsec"/>
<link id="l" bandwidth="1GBps" latency="0" sharing_policy="FATPIPE"/>
<cluster id="c"/>
<zone id="y" routing="Full"/>
<link id="d" bandwidth="1GBps" sharing_policy="SPLITDUPLEX"/>
<route src="a" dst="nobody"><link_ctn id="l"/></route>
<route src="a" dst="b">
<link_ctn id="none"/>
<link_ctn id="d"/>
</route>
<route src="b" dst="a"><link_ctn id="l"/></route>
<route src="a" dst="b"/>
</zone></platform>)");
  for (const char* part :
       {"F:1: is a platform of another version. Found: 3.",
        "F:2: has a routing that is not read. Found: Vivaldi.",
        "F:4: is a host or router that was there before. Found: b.",
        "F:5: bandwidth has the unit \"GBs\", which is not a unit of bandwidth.",
        "F:5: latency has the unit \"parsec\"",
        "F:6: link \"l\" has a policy that is not read. Found: FATPIPE.",
        "F:6: is a link that was there before. Found: l.", "F:7: has a <cluster>, which is not read.",
        "F:8: is a zone inside or beside another one. Found: y.",
        "F:10: is a route of a host or router that is not there. Found: nobody.",
        "F:12: crosses a link that is not there. Found: none.",
        "F:13: does not say in which direction it crosses a SPLITDUPLEX link. Found: d.",
        "F:15: is a route that was there before. Found: b to a.", "F:16: is a route without links."})
    CHECK(has(platform, part));
}

TEST_CASE("a platform with routing Full needs the route of every pair, in both directions") {
  const std::string all =
      refusal("simgrid_xml", ".xml", R"(<platform version="4.1"><zone id="z" routing="Full">
    <host id="a"/><host id="b"/><host id="c"/><link id="l" bandwidth="1GBps" latency="1us"/>
    <route src="a" dst="b"><link_ctn id="l"/></route>
    <route src="b" dst="c" symmetrical="NO"><link_ctn id="l"/></route></zone></platform>)",
              3);
  CHECK(
      all ==
      "F: has no route from host \"a\" to \"c\", \"c\" to \"a\", \"c\" to \"b\". List a route for each pair of hosts that are nodes, in both directions.");
}

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
  CHECK(has(refusal("graphml", ".graphml", "<svg/>"), "F:1: is a <svg>, no GraphML."));
  CHECK(has(refusal("simgrid_xml", ".xml", std::string("\0\1\2", 3)), "F:1: is not XML: "));
  CHECK(
      has(refusal("dot", ".dot", "digraph { a -> b }"), "F: is a directed graph, and cables go both ways."));
}

TEST_CASE("entities are never expanded, files never fetched: a document type of the file's own is refused") {
  const std::string bomb =
      "<?xml version=\"1.0\"?><!DOCTYPE g [<!ENTITY a \"aaaaaaaaaa\"><!ENTITY b \"&a;&a;&a;&a;&a;&a;&a;&a;\"><!ENTITY c \"&b;&b;&b;&b;&b;&b;&b;&b;\">]><graphml><graph>&c;</graph></graphml>";
  CHECK(refusal("graphml", ".graphml", bomb) ==
        "F:1: declares a document type of its own. Remove what stands in <!DOCTYPE ... [ ... ]>.");
  CHECK(
      has(refusal("simgrid_xml", ".xml",
                  "<!DOCTYPE platform [<!ENTITY x SYSTEM \"file:///etc/passwd\">]><platform>&x;</platform>"),
          "declares a document type of its own"));
  CHECK(has(
      refusal(
          "simgrid_xml", ".xml",
          "<!DOCTYPE platform SYSTEM \"http://127.0.0.1:1/x.dtd\"><platform version=\"4.1\">&x;</platform>"),
      "has an entity that XML does not define"));
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
            ": is larger than 8 MiB. Leave out what is not the network, or use a topology of `simsgd list topologies`.");
    for (const auto& [path, what] : {std::pair{"/dev/zero", "is not a file"},
                                     {"/tmp", "is not a file"},
                                     {"/no/such/file.dot", "is not there"}}) {
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

TEST_CASE("DOT cuts a number before its exponent, and that is said rather than taken for 1 byte per second") {
  CHECK(
      refusal("dot", ".dot", "graph { a [type=host]; b [type=host]; a -- b [bandwidth=1e9] }") ==
      "F: has a number with an exponent outside quotation marks, which DOT cuts. Found: e9. Write \"1e9\".");
}

TEST_CASE("a thousand errors are twenty and a count") {
  std::string text = "graph { ";
  for (int i = 0; i < 1000; ++i) text += "a" + std::to_string(i) + " [type=x]; ";
  const std::string all = refusal("dot", ".dot", text + "}");
  CHECK(std::count(all.begin(), all.end(), '\n') == 20);
  CHECK(has(all, "F: has 1981 more errors. Correct those above first."));
}

}  // namespace simsgd::test::topologies_network_files_hostile
