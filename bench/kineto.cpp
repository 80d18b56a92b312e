// Import of a Kineto trace, against nlohmann's SAX parser reading the same file into nothing. 30 MB by
// default; SIMSGD_BENCH_TRACE_MB=300 makes it that of the promise.
#include <benchmark/benchmark.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "bench/benchmarks.hpp"
#include "bench/scenario_run.hpp"
#include "traces/import.hpp"

namespace simsgd::bench {

namespace {

double trace_bytes() {
  const char* const said = std::getenv("SIMSGD_BENCH_TRACE_MB");
  return 1e6 * (said == nullptr ? 30 : std::max(1.0, std::strtod(said, nullptr)));
}

// Steps of 50 layers as PyTorch's profiler writes them: an operator, its launch, arrows and its kernel, in
// both passes, and an all-reduce every ten layers of the backward pass.
class Trace {
 public:
  Trace() : path_(std::filesystem::temp_directory_path() / fmt::format("simsgd-bench-{}.json", getpid())) {
    std::FILE* const file = std::fopen(path_.c_str(), "wb");
    if (file == nullptr) return;
    write(
        file,
        "{\n  \"schemaVersion\": 1,\n  \"deviceProperties\": [{\"id\": 0, \"name\": \"NVIDIA A100\"}],\n"
        "  \"distributedInfo\": {\"backend\": \"nccl\", \"rank\": 0, \"world_size\": 1},\n  \"traceEvents\": [");
    for (int number = 5; written_ < trace_bytes(); ++number) step(file, number);
    write(file, "\n  ]\n}\n");
    std::fclose(file);
  }
  ~Trace() { std::filesystem::remove(path_); }
  Trace(const Trace&) = delete;
  Trace& operator=(const Trace&) = delete;
  std::string path() const { return path_.string(); }

 private:
  void write(std::FILE* file, const std::string& text) {
    written_ += static_cast<double>(std::fwrite(text.data(), 1, text.size(), file));
  }

  std::string event(const char* category, const std::string& name, int thread, double ts, double dur,
                    const std::string& args) {
    const std::string separator = first_ ? "" : ",";
    first_ = false;
    return fmt::format(
        "{}\n  {{\n    \"ph\": \"X\", \"cat\": \"{}\", \"name\": \"{}\", \"pid\": 2910249, \"tid\": {},\n"
        "    \"ts\": {:.3f}, \"dur\": {:.3f},\n    \"args\": {{\n      \"External id\": {}, {}\n    }}\n  }}",
        separator, category, name, thread, ts, dur, correlation_, args);
  }

  static std::string arrow(char phase, int id, int thread, double ts) {
    return fmt::format(
        ",\n  {{\n    \"ph\": \"{}\", \"id\": {}, \"pid\": 2910249, \"tid\": {}, \"ts\": {:.3f},\n    \"cat\": \"ac2g\", \"name\": \"ac2g\"\n  }}",
        phase, id, thread, ts);
  }

  void launch(std::FILE* file, const std::string& kernel, int thread, double ts, double dur,
              const std::string& more = "") {
    const int id = ++correlation_;
    write(file, event("cuda_runtime", "cudaLaunchKernel", thread, ts, 5.1,
                      fmt::format("\"cbid\": 211, \"correlation\": {}", id)) +
                    arrow('s', id, thread, ts));
    write(
        file,
        event(
            "kernel", kernel, 7, ts + 4000, dur,
            fmt::format(
                "\"queued\": 0, \"device\": 0, \"context\": 1,\n      \"stream\": 7, \"correlation\": {},\n"
                "      \"registers per thread\": 96, \"shared memory\": 87568,\n      \"blocks per SM\": 0.074074, \"warps per SM\": 1.259259,\n      \"grid\": [8, 1, 1],\n      \"block\": [544, 1, 1],\n      \"est. achieved occupancy %\": 0{}",
                id, more)) +
            arrow('f', id, 7, ts + 4000));
  }

  void step(std::FILE* file, int number) {
    const double begin = 4458676416788.066 + 40000.0 * number;
    write(file, event("user_annotation", fmt::format("ProfilerStep#{}", number), 2910249, begin, 39000,
                      "\"Ev Idx\": 1"));
    for (int layer = 0; layer < 100; ++layer) {
      const bool backward = layer >= 50;
      const int sequence = 100 * number + (backward ? 99 - layer : layer),
                thread = backward ? 2919752 : 2910249;
      const double ts = begin + 300.0 * layer;
      const std::string args =
          fmt::format("\"Record function id\": 3, \"Sequence number\": {}, \"Fwd thread id\": 0", sequence);
      const std::string dims = ", \"Input Dims\": [[32, 512, 7, 7], [512, 512, 3, 3], [], [], [], [], []]";
      write(file, event("cpu_op", backward ? "ConvolutionBackward0" : "aten::conv2d", thread, ts, 200,
                        args + dims));
      for (const char* inner :
           {"aten::convolution", "aten::_convolution", "aten::cudnn_convolution", "aten::empty"})
        write(file,
              event("cpu_op", inner, thread, ts + 20, 100, "\"Record function id\": 3, \"Ev Idx\": 13859"));
      launch(
          file,
          "void cutlass__5x_cudnn::Kernel<cutlass_tensorop_s1688fprop_optimized_tf32_128x64_16x4_nhwc_align4>(cutlass_tensorop_s1688fprop_optimized_tf32_128x64_16x4_nhwc_align4::Params)",
          thread, ts + 50, 120.5);
      launch(
          file,
          "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, at::detail::Array<char*, 3> >(int, at::native::CUDAFunctor_add<float>, at::detail::Array<char*, 3>)",
          thread, ts + 80, 46.2);
      if (backward && layer % 10 == 9)
        launch(
            file, "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevComm*, unsigned long, ncclWork*)", thread,
            ts + 90, 900,
            ", \"Collective name\": \"allreduce\", \"In msg nelems\": 6637568, \"Out msg nelems\": 6637568, \"Group size\": 1, \"dtype\": \"Float\", \"Process Group Name\": \"0\", \"Process Group Ranks\": \"[0]\"");
    }
  }

  std::filesystem::path path_;
  double written_ = 0;
  int correlation_ = 0;
  bool first_ = true;
};

struct Nothing : nlohmann::json_sax<nlohmann::json> {
  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t) override { return true; }
  bool number_unsigned(number_unsigned_t) override { return true; }
  bool number_float(number_float_t, const string_t&) override { return true; }
  bool string(string_t&) override { return true; }
  bool binary(binary_t&) override { return true; }
  bool start_object(std::size_t) override { return true; }
  bool key(string_t&) override { return true; }
  bool end_object() override { return true; }
  bool start_array(std::size_t) override { return true; }
  bool end_array() override { return true; }
  bool parse_error(std::size_t, const std::string&, const nlohmann::json::exception&) override {
    return false;
  }
};

void import_kineto(benchmark::State& state, Summary& summary) {
  const Trace trace;
  const std::string what = fmt::format("{:.0f} MB of Kineto", trace_bytes() / 1e6);
  for ([[maybe_unused]] auto _ : state) {
    const Stopwatch parsing;
    std::ifstream file(trace.path(), std::ios::binary);
    Nothing nothing;
    const bool whole = nlohmann::json::sax_parse(file, &nothing);
    const Elapsed reference = parsing.elapsed();
    if (!whole) return state.SkipWithError("the trace is not JSON");
    const Stopwatch importing;
    const Imported all = import_files({trace.path()}, {});
    const Elapsed elapsed = importing.elapsed();
    summary.time("nlohmann's SAX parser reading " + what + " into nothing", reference, 0);
    summary.ratio("import of the same against that", elapsed, reference, 1.5);
    state.counters["rows"] = static_cast<double>(all.rows.size());
  }
  const ChildRun run = run_in_child([&trace]() -> std::vector<double> {
    return {static_cast<double>(import_files({trace.path()}, {}).rows.size())};
  });
  summary.memory("memory of that, with this process's own", run.peak_bytes, 200e6);
}

}  // namespace

void register_kineto(Summary& summary) {
  add_benchmark("import/kineto", Clock::around, 3,
                [&summary](benchmark::State& state) { import_kineto(state, summary); });
}

}  // namespace simsgd::bench
