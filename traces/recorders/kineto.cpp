// kineto: traces of PyTorch's profiler, old schema ("Kernel", "Operator") and new ("kernel", "cpu_op"), one
// file per rank, those of a job together; and the timelines that `simsgd run -o` and `simsgd-measure run -o`
// write in that shape. Read event by event. Of a job: times of collectives (the last starter's, over the
// files of all ranks), of steps, of kernels, each worker's computing per step, and the network.
//   https://github.com/pytorch/kineto, libkineto/src/output_json.cpp (schemaVersion 1);
//   docs/import.md says what each part is made of.
#include "traces/recorders/kineto.hpp"

#include "traces/import_format.hpp"
#include "traces/reading/text.hpp"

namespace simsgd::importers {

namespace {

class Kineto final : public Importer {
 public:
  void read(Input& input, ImportedFile& file) override {
    kineto::Events events(file);
    const TraceRead trace = read_trace_events(input, file, events);
    events.finish();
    if (trace.events == 0) file.ignore("files without events");
    ranks_.take(events, trace.head, file);
  }

  void finish() override { ranks_.finish(); }

 private:
  kineto::Ranks ranks_;
};

bool is_kineto(std::string_view head) {
  return first_character(head) == '{' && head.find("\"traceEvents\"") != std::string_view::npos;
}

}  // namespace

std::vector<ImportFormat> kineto() {
  return {{{.name = "kineto",
            .summary = "traces of PyTorch's profiler (Kineto), one file per rank, and our own timelines",
            .citation = "https://github.com/pytorch/kineto, libkineto/src/output_json.cpp"},
           is_kineto,
           make_importer<Kineto>}};
}

}  // namespace simsgd::importers
