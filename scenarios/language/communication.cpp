#include "scenarios/language/communication.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "scenarios/language/errors.hpp"
#include "scenarios/language/schema.hpp"
#include "scenarios/language/sections.hpp"
#include "sim/base/errors.hpp"
#include "sim/collectives/schedules.hpp"
#include "sim/distributions/registry.hpp"

namespace simsgd {

namespace {

void segments_field(Fields& f, std::vector<LinkSegment>& segments) {
  f.objects(
      "segments", segments,
      "A lone message takes this long by its size, where a library's protocols make it differ from latency + bytes / bandwidth. Messages that meet still share the bandwidth of the link",
      "Messages of some sizes");
}

void check_segments(const std::string& link, const std::vector<LinkSegment>& segments, double bandwidth_Bps) {
  for (std::size_t i = 0; i < segments.size(); ++i) {
    const std::string at = child(link + "/segments", i);
    if (segments[i].bandwidth_Bps > bandwidth_Bps * (1 + 1e-12))
      reject(at + "/bandwidth", "is more than the link has", "Give at most the bandwidth of the link");
    if (i + 1 < segments.size() && !segments[i].up_to_bytes)
      reject(at, "takes any size, so that the next segment is never used",
             "Give it \"up_to\", or leave out what follows");
    if (i > 0 && segments[i].up_to_bytes && *segments[i].up_to_bytes <= *segments[i - 1].up_to_bytes)
      reject(at + "/up_to", "is not above the one before it", "List them by ascending size");
  }
}

MessageSegments made_of(const std::vector<LinkSegment>& segments, double latency_s, double bandwidth_Bps) {
  MessageSegments all;
  all.latency_s = latency_s;
  all.bandwidth_Bps = bandwidth_Bps;
  for (const LinkSegment& each : segments) {
    MessageSegments::Segment& segment = all.segments.emplace_back();
    if (each.up_to_bytes) segment.up_to_bytes = *each.up_to_bytes;
    segment.latency_s = each.latency_s;
    segment.bandwidth_Bps = each.bandwidth_Bps;
  }
  return all;
}

}  // namespace

void LinkSegment::fields(Fields& f) {
  f.bytes("up_to", up_to_bytes, "The segment holds for messages up to this size").by_rule("any size");
  f.time("latency", latency_s, "These messages take this long, one way").required();
  f.bandwidth("bandwidth", bandwidth_Bps, "These messages have this bandwidth, at most the link's own")
      .required();
}

void LinkBurst::fields(Fields& f) {
  f.bytes("bytes", bytes, "The bucket holds this many bytes, which pass at the burst's bandwidth").required();
  f.bandwidth("bandwidth", bandwidth_Bps, "Messages have this bandwidth until the bucket is empty")
      .required();
}

void GpuLink::fields(Fields& f) {
  f.bandwidth("bandwidth", bandwidth_Bps, "A GPU's link has this bandwidth, in each direction").required();
  f.time("latency", latency_s, "A message between GPUs of a node takes this long, one way");
  f.bandwidth(
       "host_memory", host_memory_Bps,
       "Where GPUs of a node cannot reach each other, messages go through the host's memory, and two GPUs together have this bandwidth. All GPUs of the node share it: n workers have 2/n of it (measured with 2 and 4 L40S)")
      .by_rule("none: GPUs reach each other");
  segments_field(f, segments);
}

void Nic::fields(Fields& f) {
  f.bandwidth("bandwidth", bandwidth_Bps, "Each NIC has this bandwidth, in each direction").required();
  f.number(
       "goodput", goodput,
       "Share of the bandwidth that payloads get, if the bandwidth is the line rate of a data sheet; frames, headers and the host's protocol code take the rest. Burst and segments already count payload only")
      .above(0)
      .at_most(1)
      .by_rule("1: the bandwidth is that of payloads");
  f.quantity(
       Dimension::rate_Bps, "shaper_loss", shaper_loss_Bps,
       "What TCP loses to a traffic shaper (tc): the lower the rate R, the fewer packets its queue holds, and the more often windows are cut. The payload is R / (1 + sqrt(shaper_loss / R)): half of R if R is shaper_loss")
      .at_least(0)
      .by_rule("nothing is lost");
  f.time("latency", latency_s, "A message takes this long, one way, from NIC to NIC through one switch");
  f.object(
       "burst", burst,
       "Token bucket of the sender: messages between nodes pass at the burst's bandwidth until the bucket is empty, then at the NIC's, at which it refills")
      .by_rule("none");
  segments_field(f, segments);
  f.whole("count", count, "A node has this many NICs (rails)").at_least(1);
}

// assumed: the root, as TCP's rate goes with the root of how often packets are lost (Mathis et al., ACM CCR
// 27, 1997, doi:10.1145/263932.264023). With one number it holds from 50 Mb/s to 5 Gb/s of one machine
// (scenarios/book/low_communication.json).
double Nic::payload_Bps() const {
  const double loss = shaper_loss_Bps ? std::sqrt(*shaper_loss_Bps / bandwidth_Bps) : 0;
  return bandwidth_Bps * goodput.value_or(1) / (1 + loss);
}

void check_link(const std::string& link, const GpuLink& of) {
  check_segments(link, of.segments, of.bandwidth_Bps);
}

void check_link(const std::string& link, const Nic& of) {
  if (!(of.payload_Bps() > 0))
    reject(link + "/shaper_loss", "leaves nothing of the bandwidth",
           "Give at most a few times the bandwidth");
  check_segments(link, of.segments, of.payload_Bps());
}

MessageSegments segments_of(const GpuLink& link) {
  return made_of(link.segments, link.latency_s, link.bandwidth_Bps);
}

MessageSegments segments_of(const Nic& nic) {
  MessageSegments segments = made_of(nic.segments, nic.latency_s, nic.payload_Bps());
  if (nic.burst) {
    segments.burst_bytes = nic.burst->bytes;
    segments.burst_Bps = nic.burst->bandwidth_Bps;
  }
  return segments;
}

namespace {

using Op = CollectiveOp;
constexpr Op kOperations[] = {Op::all_reduce, Op::reduce_scatter, Op::all_gather, Op::all_to_all,
                              Op::broadcast,  Op::reduce,         Op::barrier};

/// What the stack says of an operation; null where it says nothing.
const Json* said_by(const std::optional<Stack>& stack, Op op) {
  if (!stack) return nullptr;
  const auto said =
      std::ranges::find_if(stack->collectives, [op](const auto& each) { return each.first == op_name(op); });
  return said == stack->collectives.end() ? nullptr : &said->second;
}

void read_policies(const Reader& reader, const std::string& at, CollectivePolicies& policies) {
  for (const Op op : kOperations) {
    const std::string pointer = at + "/" + op_name(op);
    if (!reader.has(pointer) || !reader.usable(pointer)) continue;
    auto policy = reader.attempt(pointer, [&] { return read_policy(op, reader.value(pointer)); });
    if (policy) policies[op] = std::move(*policy);
  }
}

}  // namespace

void PolicySection::fields(Fields& f, const std::string& otherwise) {
  for (const Op op : kOperations)
    f.raw(op_name(op), of_op[op], [op] {
       return policy_schema(op);
     }).by_rule((otherwise.empty() ? "" : otherwise + ", else ") + default_schedule(op));
}

CollectivePolicies build_policies(const Reader& reader, const std::optional<Stack>& stack) {
  CollectivePolicies policies;
  for (const Op op : kOperations)
    if (const Json* said = said_by(stack, op)) policies[op] = read_policy(op, *said);
  read_policies(reader, "/cluster/collectives", policies);
  read_policies(reader, "/network", policies);
  return policies;
}

Json standing_policies(const PolicySection& collectives, const std::optional<Stack>& stack) {
  Json all = Json::object();
  for (const Op op : kOperations) {
    const RawValue& own = collectives.of_op.at(op);
    const Json* said = said_by(stack, op);
    all[op_name(op)] = own.present()     ? own.json()
                       : said != nullptr ? completed_policy(op, *said)
                                         : Json(default_schedule(op));
  }
  return all;
}

// The section "network": how communication is simulated, and links that differ from what the cluster says.

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
