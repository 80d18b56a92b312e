// nccl_tests_json: what nccl-tests writes with -J, and `simsgd bench --json`. Times are in us, bandwidths in
// GB/s.
//   https://github.com/NVIDIA/nccl-tests
#include <cmath>
#include <set>

#include "sim/base/errors.hpp"
#include "sim/base/printable.hpp"
#include "traces/import.hpp"
#include "traces/names.hpp"
#include "traces/reading/input.hpp"
#include "traces/reading/json.hpp"

namespace simsgd::importers {

namespace {

using nlohmann::json;

class NcclDocument {
 public:
  NcclDocument(const json& document, ImportedFile& file) : document_(document), file_(file) {}

  void read() {
    const json& results = member(document_, "results");
    if (!results.is_array())
      throw ConfigError({file_.name(), "/results", "is not a list",
                         results.is_null() ? "" : "a " + std::string(results.type_name()),
                         "Name what nccl-tests writes with -J"});
    common_.quantity = "time_s";
    participants();
    common_.operation = operation();
    common_.samples = static_cast<std::uint64_t>(count_of(member(config(), "iters"), 1, 1));
    const std::size_t first = file_.rows.size();
    for (const json& result : results) {
      const double size = number_of(member(result, "size"));
      if (!(size >= 0)) {
        file_.ignore("results without a size");
        continue;
      }
      half(result, size, "out_of_place");
      half(result, size, "in_place");
    }
    if (first < file_.rows.size()) bandwidths_.settle_operation(first, file_);
    file_.understand("tables");
  }

 private:
  const json& config() const { return member(document_, "config"); }

  // "devices": one element each, or {"name", "count"} for several alike.
  void participants() {
    int workers = 0;
    std::set<std::string> hosts, groups;
    const json& devices = member(document_, "devices");
    if (devices.is_array())
      for (const json& device : devices) {
        workers += std::min(count_of(member(device, "count"), 1, 1), 1 << 24);
        if (workers > 1 << 24) break;  // no list is so long
        for (const char* key : {"hostname", "host"})
          if (const std::string host = text_of(member(device, key)); !host.empty()) hosts.insert(host);
        groups.insert(std::to_string(count_of(member(device, "group"), 0, 0)));
      }
    const int count = static_cast<int>(std::max<std::size_t>(1, groups.size()));
    common_.workers =
        count_of(member(config(), "ranks"), 1, workers % count == 0 ? workers / count : workers);
    common_.nodes = static_cast<int>(hosts.size());
  }

  std::string operation() const {
    const std::string said = operation_from(text_of(member(config(), "operation")));
    if (!said.empty()) return said;
    const json& arguments = member(document_, "args");
    return operation_of_program(
        text_of(arguments.is_array() && !arguments.empty() ? arguments[0] : arguments));
  }

  void half(const json& result, double size, const char* placement) {
    const json& half = member(result, placement);
    if (half.is_null()) return;
    const double time_s = number_of(member(half, "time")) / 1e6;
    if (std::isnan(time_s)) return file_.understand("times that are N/A");
    if (time_s == 0) return file_.ignore("times of 0");
    const double wrong = number_of(member(half, "nwrong"));
    if (wrong > 0) return file_.ignore("operations with wrong results");
    Measurement row = common_;
    row.bytes = size;
    row.value = time_s;
    row.labels["placement"] = placement;
    for (const char* key : {"type", "redop"})
      if (const std::string text = text_of(member(result, key)); !text.empty() && text != "none")
        row.labels[key] = printable(text);
    if (const int root = count_of(member(result, "root"), 0, -1); root >= 0)
      row.labels["root"] = std::to_string(root);
    const double algbw = number_of(member(half, "alg_bw")), busbw = number_of(member(half, "bus_bw"));
    if (algbw >= 0) bandwidths_.see(row, 1e9, algbw, busbw, file_);
    file_.add(std::move(row));
  }

  const json& document_;
  ImportedFile& file_;
  Measurement common_;
  PrintedBandwidths bandwidths_;
};

void read_nccl_tests_json(Input& input, ImportedFile& file) {
  const json document = parse_document(input.rest(), input.name());
  NcclDocument(document, file).read();
}

bool is_nccl_tests_json(std::string_view head) {
  return first_character(head) == '{' && head.find("\"nccl_version\"") != std::string_view::npos;
}

}  // namespace

std::vector<ImportFormat> nccl_tests_json() {
  return {{{.name = "nccl_tests_json",
            .summary = "JSON of nccl-tests (-J) and of simsgd bench --json",
            .citation = "https://github.com/NVIDIA/nccl-tests"},
           is_nccl_tests_json,
           make_importer<FileImporter<read_nccl_tests_json>>}};
}

}  // namespace simsgd::importers
