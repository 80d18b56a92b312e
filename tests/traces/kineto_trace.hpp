// A trace as PyTorch's profiler writes it, made up event by event.
#pragma once

#include <fmt/format.h>

#include <string>

namespace simsgd::test::traces_kineto {

// The texts of a trace, old or new schema.
class Trace {
 public:
  explicit Trace(bool old_schema = false, int rank = -1, int world = 0) : old_(old_schema) {
    text_ = R"({"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "GPU X"}],)";
    if (rank >= 0)
      text_ += fmt::format(R"("distributedInfo": {{"backend": "nccl", "rank": {}, "world_size": {}}},)", rank,
                           world);
    text_ += "\n\"traceEvents\": [";
  }
  void raw(const std::string& event) {
    text_ += (events ? ",\n" : "\n") + event;
    ++events;
  }
  void span(const char* category, const std::string& name, double ts, double dur,
            const std::string& thread = "1", const std::string& args = "") {
    raw(fmt::format(
        R"({{"ph": "X", "cat": "{}", "name": "{}", "pid": 7, "tid": {}, "ts": {:.3f}, "dur": {:.3f}, "args": {{{}}}}})",
        category, name, old_ ? "\"" + thread + "\"" : thread, ts, dur, args));
  }
  void step(int number, double ts, double dur) {
    span(old_ ? "Operator" : "user_annotation", fmt::format("ProfilerStep#{}", number), ts, dur);
  }
  // Launched at `host` by `thread`, and run from `ts` on.
  void kernel(const std::string& name, double host, double ts, double dur, const std::string& thread = "1",
              const std::string& args = "") {
    ++correlation_;
    const std::string id = fmt::format(R"("correlation": {})", correlation_);
    span(old_ ? "Kernel" : "kernel", name, ts, dur, "9", id + (args.empty() ? "" : ", " + args));
    span(old_ ? "Runtime" : "cuda_runtime", "cudaLaunchKernel", host, 1, thread, id);
  }
  void op(const std::string& name, double ts, double dur, int sequence, const std::string& thread,
          const std::string& dims = "") {
    span(old_ ? "Operator" : "cpu_op", name, ts, dur, thread,
         fmt::format(R"("Sequence number": {}{})", sequence,
                     dims.empty() ? "" : R"(, "Input Dims": )" + dims));
  }
  std::string text() const { return text_ + "\n]}"; }
  std::size_t events = 0;

 private:
  bool old_;
  std::string text_;
  int correlation_ = 0;
};

}  // namespace simsgd::test::traces_kineto
