#include "scenarios/language/links.hpp"

#include "scenarios/language/provenance.hpp"
#include "sim/base/reject.hpp"

namespace simsgd {

namespace {

void segments_field(Fields& f, std::vector<LinkSegment>& segments) {
  f.objects(
      "segments", segments,
      "What a lone message takes by its size, where a library's protocols make it another than latency + bytes / bandwidth; messages that meet still share the bandwidth of the link",
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
  f.bytes("up_to", up_to_bytes, "Largest message that it is for").by_rule("any size");
  f.time("latency", latency_s, "One way").required();
  f.bandwidth("bandwidth", bandwidth_Bps, "Bytes per second, at most the link's own").required();
}

void LinkBurst::fields(Fields& f) {
  f.bytes("bytes", bytes, "That pass at the burst's bandwidth: what the bucket holds").required();
  f.bandwidth("bandwidth", bandwidth_Bps, "Until the bucket is empty").required();
}

void GpuLink::fields(Fields& f) {
  f.bandwidth("bandwidth", bandwidth_Bps, "Bytes per second").required();
  f.time("latency", latency_s, "One way, from GPU to GPU of one node");
  f.bandwidth(
       "host_memory", host_memory_Bps,
       "Bytes per second that two GPUs of a node pass on together where they have no path to each other, but write to the host's memory what others read there. All share it, and n workers of a node have 2/n of it: measured of 2 and 4 L40S")
      .by_rule("none: GPUs reach each other");
  segments_field(f, segments);
}

void Nic::fields(Fields& f) {
  f.bandwidth("bandwidth", bandwidth_Bps, "Of each NIC and direction").required();
  f.number(
       "goodput", goodput,
       "Share of the bandwidth that payloads get, of the line rate that a data sheet says: frames, headers and what the host's protocol code reaches take the rest. Burst and segments are payload already")
      .above(0)
      .at_most(1)
      .by_rule("1: the bandwidth is that of payloads");
  f.time("latency", latency_s, "One way, from NIC to NIC through one switch");
  f.object(
       "burst", burst,
       "A token bucket of the sender: a message between nodes passes at the burst's bandwidth until it is empty, then at the NIC's, at which it fills from then on")
      .by_rule("none");
  segments_field(f, segments);
  f.whole("count", count, "NICs (rails) per node").at_least(1);
}

void check_link(const std::string& link, const GpuLink& of) {
  check_segments(link, of.segments, of.bandwidth_Bps);
}

void check_link(const std::string& link, const Nic& of) {
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

}  // namespace simsgd
