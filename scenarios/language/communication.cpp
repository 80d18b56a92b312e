#include "scenarios/language/communication.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "scenarios/language/errors.hpp"
#include "sim/base/errors.hpp"
#include "sim/collectives/schedules.hpp"

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

}  // namespace simsgd
