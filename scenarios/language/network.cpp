// The section "network": how communication is simulated, and links that differ from what the cluster says.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "scenarios/language/communication.hpp"
#include "scenarios/language/schema.hpp"
#include "scenarios/language/sections.hpp"
#include "sim/base/errors.hpp"
#include "sim/distributions/registry.hpp"

namespace simsgd {

namespace {

/// Changes of some links.
struct SlowLinks {
  std::optional<std::vector<int>> nodes;
  std::optional<std::vector<std::string>> links;
  double bandwidth_factor = 1;
  double extra_latency_s = 0;
  std::optional<double> jitter_factor;

  void fields(Fields& f) {
    f.list("nodes", nodes, "The cables between these nodes and the network, in both directions",
           "Number of a node, from 0")
        .least_items(1)
        .example("[0]");
    f.list("links", links, "Links by their names, as results list them. Each name is one direction",
           "Name of a link")
        .least_items(1)
        .example("[\"node0.nic0.up\"]");
    f.number("bandwidth_factor", bandwidth_factor, "Each of these links keeps this share of its bandwidth")
        .above(0);
    f.time("extra_latency", extra_latency_s, "Each of these links adds this latency to a path");
    f.number(
         "jitter_factor", jitter_factor,
         "The jitter of messages that cross them is multiplied by this; the greatest factor on their path counts")
        .at_least(0)
        .by_rule("1");
  }
};

struct NetworkSection {
  NetworkSettings settings;
  RawValue jitter{Json(0)}, codec;
  std::optional<bool> error_feedback;
  std::vector<SlowLinks> slow_links;
  PolicySection collectives;

  void fields(Fields& f) {
    f.choice(
        "fidelity", settings.fidelity,
        {{"auto", Fidelity::automatic},
         {"closed", Fidelity::closed},
         {"steps", Fidelity::steps},
         {"flows", Fidelity::flows},
         {"messages", Fidelity::messages}},
        "How the time of collectives is computed. auto takes the fastest way that is exact in this scenario");
    f.choice("precision", settings.precision,
             {{"fp32", Precision::fp32}, {"fp16", Precision::fp16}, {"bf16", Precision::bf16}},
             "Numbers in messages have this format. Sums are always fp32");
    f.plugin("codec", codec, codec_plugins(),
             "Gradients and models travel by this codec, whatever the method, and precision is for the rest")
        .by_rule("none");
    f.flag(
         "error_feedback", error_feedback,
         "With a codec, what a message lacks is added to the next one; of models, changes since the last one travel")
        .by_rule("true with a codec");
    add_draw(f, "jitter", jitter, "Each message takes this much longer; every message draws its own");
    f.objects("slow_links", slow_links,
              "Links that differ from the cluster's description; changes apply in this order",
              "A change of some links, or of all without \"nodes\" and \"links\"");
    collectives.fields(f, "as the cluster's \"collectives\" say");
  }
};

/// The links between a node and the network.
std::vector<LinkId> cables_of(const Cluster& cluster, int node) {
  const int interior = cluster.network.endpoints + node;
  const int first_switch = cluster.network.endpoints + cluster.nodes;
  std::vector<LinkId> found;
  for (std::size_t id = 0; id < cluster.network.links.size(); ++id) {
    const Link& link = cluster.network.links[id];
    if ((link.from_vertex == interior && link.to_vertex >= first_switch) ||
        (link.to_vertex == interior && link.from_vertex >= first_switch))
      found.push_back(static_cast<LinkId>(id));
  }
  return found;
}

std::vector<LinkId> links_of_nodes(const Cluster& cluster, const std::vector<int>& nodes) {
  std::vector<LinkId> found;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const std::string key = fmt::format("nodes/{}", i);
    if (nodes[i] >= cluster.nodes)
      reject(key, fmt::format("is not a node of the cluster, which has {}", cluster.nodes),
             fmt::format("Write numbers from 0 to {}", cluster.nodes - 1));
    const std::vector<LinkId> cables = cables_of(cluster, nodes[i]);
    if (cables.empty()) reject(key, "has no cables that the topology tells apart", "Name them in \"links\"");
    found.insert(found.end(), cables.begin(), cables.end());
  }
  return found;
}

std::vector<LinkId> links_by_name(const Network& network, const std::vector<std::string>& names) {
  std::vector<LinkId> found;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const auto link =
        std::ranges::find_if(network.links, [&](const Link& each) { return each.name == names[i]; });
    if (link != network.links.end()) {
      found.push_back(static_cast<LinkId>(link - network.links.begin()));
      continue;
    }
    std::vector<std::string> valid;
    for (const Link& each : network.links) valid.push_back(each.name);
    const std::string guess = nearest(names[i], valid);
    reject(fmt::format("links/{}", i), "is not a link of the network",
           guess.empty() ? fmt::format("Links have names such as \"{}\"", valid.front())
                         : fmt::format("Did you mean \"{}\"?", guess));
  }
  return found;
}

std::vector<LinkId> selected(const Cluster& cluster, const SlowLinks& entry) {
  std::vector<LinkId> all;
  if (!entry.nodes && !entry.links)
    for (std::size_t id = 0; id < cluster.network.links.size(); ++id) all.push_back(static_cast<LinkId>(id));
  if (entry.nodes) all = links_of_nodes(cluster, *entry.nodes);
  if (entry.links)
    for (const LinkId id : links_by_name(cluster.network, *entry.links)) all.push_back(id);
  std::ranges::sort(all);
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return all;
}

}  // namespace

Json schema::network() {
  NetworkSection section;
  return with_default(of(section, "How communication is simulated"), Json::object());
}

namespace {

void slow_down(const Reader& reader, const std::vector<SlowLinks>& all, Cluster& cluster) {
  for (std::size_t i = 0; i < all.size(); ++i) {
    reader.attempt(child("/network/slow_links", i), [&] {
      for (const LinkId id : selected(cluster, all[i])) {
        Link& link = cluster.network.links[static_cast<std::size_t>(id)];
        link.bandwidth_Bps *= all[i].bandwidth_factor;
        link.latency_s += all[i].extra_latency_s;
        link.jitter_factor = all[i].jitter_factor.value_or(link.jitter_factor);
      }
      return true;
    });
  }
}

}  // namespace

namespace {

/// |C(v) - v|^2 / |v|^2 of normally distributed numbers. Error feedback needs it below 1: Karimireddy et al.,
/// ICML 2019, arXiv:1901.09847, Assumption A.
double lost_share(const Codec& codec) {
  std::vector<float> values(4096), received(values.size());
  Stream draws({.seed = 1, .purpose = Purpose::coding});
  for (float& value : values) value = static_cast<float>(draws.normal());
  codec.transmit(values, draws, received);
  double lost = 0, all = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    lost += std::pow(static_cast<double>(received[i]) - values[i], 2);
    all += std::pow(static_cast<double>(values[i]), 2);
  }
  return lost / all;
}

}  // namespace

std::optional<NetworkSettings> build_network(const Reader& reader, Machines* machines) {
  if (!reader.usable("/network")) return std::nullopt;
  auto section = reader.section<NetworkSection>("/network");
  auto jitter =
      reader.attempt("/network", [&] { return draw_of(section.jitter.json(), "jitter", DrawUnit::seconds); });
  auto codec = reader.attempt("/network", [&] {
    if (section.error_feedback && !section.codec.present())
      reject("error_feedback", "has no effect without a codec", "Leave it out, or name a \"codec\"");
    MadeCodec made = section.codec.present() ? make_codec(section.codec.json()) : MadeCodec();
    if (made && section.error_feedback.value_or(true) && lost_share(*made) >= 1)
      reject("codec", "loses more of a message than is in it, and with error feedback that grows without end",
             "Set \"error_feedback\" to false, or use a finer codec");
    return made;
  });
  section.settings.collectives = build_policies(reader, machines != nullptr ? machines->stack : std::nullopt);
  if (machines != nullptr) slow_down(reader, section.slow_links, machines->cluster);
  if (!jitter || !codec) return std::nullopt;
  section.settings.coding = {std::move(*codec), section.error_feedback.value_or(true) ? 1.0 : 0.0};
  section.settings.jitter = std::move(*jitter);
  return std::move(section.settings);
}

}  // namespace simsgd
