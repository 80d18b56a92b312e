#include "traces/chrome_trace.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

namespace simsgd {

namespace {

std::string microseconds(double seconds) { return fmt::format("{:.4f}", seconds * 1e6); }

std::string quoted(const std::string& value) { return nlohmann::json(value).dump(); }

std::string thread_name(int lane) {
  if (lane == kMainLane) return "main thread";
  if (lane == kComputeLane) return "stream 7: compute";
  if (lane >= kReceivedLane) return "messages received";
  if (lane >= kSentLane) return "messages sent";
  return fmt::format("stream {}: channel {}", lane, lane - kFirstChannelLane);
}

std::string metadata(int rank, int lane, const char* kind, const std::string& value) {
  return fmt::format(
      "{{\"ph\":\"M\",\"name\":\"{}\",\"pid\":{},\"tid\":{},\"ts\":0,\"args\":{{\"name\":{}}}}}", kind, rank,
      lane, quoted(value));
}

// One end of an arrow between ranks: 's' where it starts, 'f' inside the event that it points at.
std::string arrow_end(char end, std::uint64_t id, const char* category, const char* name, int rank, int lane,
                      double time_s) {
  return fmt::format(
      "{{\"ph\":\"{}\",\"id\":{},\"cat\":\"{}\",\"name\":\"{}\",\"pid\":{},\"tid\":{},\"ts\":{}{}}}", end, id,
      category, name, rank, lane, microseconds(time_s), end == 'f' ? ",\"bp\":\"e\"" : "");
}

// One file: of one rank, or of all that are recorded, with the arrows between them.
class TraceFile {
 public:
  using Write = std::function<void(const std::string&)>;

  TraceFile(const Timeline& timeline, int only_rank, const Write& write)
      : timeline_(timeline), only_rank_(only_rank), write_(write) {}

  void all() {
    heading();
    for (const TimelineEvent& event : timeline_.events())
      if (only_rank_ < 0 || event.rank == only_rank_) add(event);
    if (only_rank_ < 0) arrows();
    names();
    write_("\n]}\n");
  }

 private:
  void heading() {
    const TimelineSetup& setup = timeline_.setup();
    write_(fmt::format(
        "{{\"schemaVersion\":1,\"deviceProperties\":[{{\"id\":0,\"name\":{},\"totalGlobalMem\":{:.0f}}}],\"distributedInfo\":{{\"backend\":\"simsgd\",\"rank\":{},\"world_size\":{},\"pg_config\":[{{\"pg_name\":\"0\",\"pg_desc\":\"default_pg\",\"pg_size\":{}}}]}},\"displayTimeUnit\":\"ms\",\"baseTimeNanoseconds\":0,\"traceName\":{},\n\"traceEvents\":[",
        quoted(setup.device_name), setup.device_memory_bytes, std::max(only_rank_, 0), setup.workers,
        setup.workers, quoted(setup.title)));
  }

  void line(const std::string& text) { write_(std::exchange(separator_, ",\n") + text); }

  void add(const TimelineEvent& event) {
    lanes_.emplace_back(event.rank, event.lane);
    line(fmt::format(
        "{{\"ph\":\"X\",\"cat\":\"{}\",\"name\":\"{}\",\"pid\":{},\"tid\":{},\"ts\":{},\"dur\":{},\"args\":{{{}}}}}",
        event.category, event.name, event.rank, event.lane, microseconds(event.start_s),
        microseconds(event.end_s - event.start_s), event.arguments));
    if (event.flow == 0 || only_rank_ >= 0) return;
    const bool ends = event.flow % 2 == 1;
    line(arrow_end(ends ? 'f' : 's', event.flow / 2, "message", "message", event.rank, event.lane,
                   ends ? event.end_s : event.start_s));
  }

  void arrows() {
    std::uint64_t id = timeline_.flows();
    for (const TimelineArrow& arrow : timeline_.arrows()) {
      ++id;
      line(arrow_end('s', id, "wait", "holds up", arrow.from, arrow.lane, arrow.time_s));
      line(arrow_end('f', id, "wait", "holds up", arrow.to, arrow.lane, arrow.time_s));
    }
  }

  void names() {
    std::ranges::sort(lanes_);
    lanes_.erase(std::unique(lanes_.begin(), lanes_.end()), lanes_.end());
    int last_rank = -1;
    for (const auto& [pid, lane] : lanes_) {
      if (pid != last_rank)
        line(metadata(pid, 0, "process_name",
                      fmt::format("rank {} (node {})", pid, pid / timeline_.setup().gpus_per_node)));
      last_rank = pid;
      line(metadata(pid, lane, "thread_name", thread_name(lane)));
    }
  }

  const Timeline& timeline_;
  int only_rank_;
  const Write& write_;
  std::vector<std::pair<int, int>> lanes_;
  std::string separator_ = "\n";
};

}  // namespace

void write_chrome_trace(const Timeline& timeline, int rank,
                        const std::function<void(const std::string&)>& write) {
  TraceFile(timeline, rank, write).all();
}

}  // namespace simsgd
