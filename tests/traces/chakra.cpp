// Chakra traces: against an encoder and a decoder of protobuf of our own.
#include <doctest/doctest.h>

#include "scenarios/language/scenario.hpp"
#include "sim/engine/simulate.hpp"
#include "tests/support/refusal.hpp"
#include "tests/traces/imports.hpp"
#include "traces/chakra/chakra_nodes.hpp"
#include "traces/chakra/chakra_writer.hpp"

namespace simsgd::test::traces_chakra {

using namespace traces;
using doctest::Approx;

namespace {

// Protobuf by hand: https://protobuf.dev/programming-guides/encoding
std::string varint(std::uint64_t value) {
  std::string bytes;
  for (; value >= 128; value >>= 7U) bytes += static_cast<char>((value & 127U) | 128U);
  return bytes + static_cast<char>(value);
}
std::string field(unsigned number, std::uint64_t value) { return varint(number << 3U) + varint(value); }
std::string field(unsigned number, const std::string& value) {
  return varint((number << 3U) | 2U) + varint(value.size()) + value;
}
std::string delimited_bytes(const std::string& message) { return varint(message.size()) + message; }
std::string attribute(const std::string& name, unsigned type, std::uint64_t value) {
  return field(10, field(1, name) + field(type, value));
}

constexpr unsigned kInt64 = 9, kBool = 27, kText = 29;

const std::string kHead = delimited_bytes(field(1, "0.0.4"));

struct HandNode {
  std::uint64_t id;
  std::string name;
  std::uint64_t type, duration_us;
  std::vector<std::uint64_t> data_deps{};
  std::string more{};

  std::string bytes() const {
    std::string deps;
    for (const std::uint64_t dep : data_deps) deps += varint(dep);
    return delimited_bytes(field(1, id) + field(2, name) + field(3, type) + field(5, deps) + field(6, 77) +
                           field(7, duration_us) + more);
  }
};

std::string collective(std::uint64_t type, std::uint64_t size) {
  return attribute("comm_type", kInt64, type) + attribute("comm_size", kInt64, size) +
         attribute("is_cpu_op", kBool, 0);
}

// Forward a, b; backward b, a; each of the backward nodes' gradients is reduced.
std::string small_trace() {
  return kHead + HandNode{1, "a_fwd", 4, 100}.bytes() + HandNode{2, "b_fwd", 4, 200, {1}}.bytes() +
         HandNode{3, "b_bwd", 4, 500, {2}}.bytes() +
         HandNode{4, "reduce b", 7, 90, {3}, collective(0, 400)}.bytes() +
         HandNode{5, "a_bwd", 4, 250, {3}}.bytes() +
         HandNode{6, "reduce a", 7, 80, {5}, collective(0, 1200)}.bytes() +
         HandNode{7, "optimizer", 4, 40, {4, 6}}.bytes() +
         HandNode{8,  "gather", 7,
                  10, {7},      collective(2, 64) + field(10, field(1, "pg_name") + field(kText, "tp"))}
             .bytes() +
         HandNode{9, "host", 4, 10, {}, attribute("is_cpu_op", kBool, 1)}.bytes() +
         HandNode{10, "load", 2, 10}.bytes() + HandNode{11, "send", 5, 10}.bytes() +
         HandNode{12, "new", 99, 10}.bytes();
}

}  // namespace

TEST_CASE("chakra: collectives with sizes, layers by names and what they reduce, computing of a rank") {
  const Files files;
  ImportOptions options = with("batch", "8");
  options.set["workers"] = "4";
  for (const std::string& path :
       {files.write("job.3.et", small_trace()), files.compress("job.3.et", small_trace())}) {
    const Imported all = import_files({path}, options);
    REQUIRE(all.rows.size() == 3);
    CHECK(all.rows[0].operation == "all_reduce");
    CHECK(all.rows[0].bytes == 400);
    CHECK(all.rows[0].value == 90e-6);
    CHECK(all.rows[0].labels.at("rank") == "3");
    CHECK(all.rows[2].operation == "all_gather");
    CHECK(all.rows[2].bytes == 256);  // one rank's part, of 4 that the user says
    CHECK(all.rows[2].labels.at("group") == "tp");
    REQUIRE(all.workloads.size() == 1);
    const RecordedWorkload& net = all.workloads[0];
    CHECK(net.name == "job.3");
    REQUIRE(net.layers.size() == 2);
    CHECK(net.layers[0].name == "a_fwd");
    CHECK(net.layers[0].tensors == std::vector<std::vector<double>>{{300}});
    CHECK(net.layers[1].tensors == std::vector<std::vector<double>>{{100}});
    CHECK(net.layers[0].backward_s == 250e-6);
    CHECK(net.layers[1].backward_s == 500e-6);
    CHECK(net.forward_s() == Approx(300e-6).epsilon(1e-12));
    REQUIRE(all.steps.size() == 1);
    CHECK(all.steps[0].worker == 3);
    CHECK(all.steps[0].compute_s == Approx(1050e-6).epsilon(1e-12));  // without the optimizer
    CHECK(ignored(all) == "1 nodes of unknown type");
    CHECK(
        understood(all) ==
        "1 messages between two ranks, left out; 5 nodes of computing; 1 nodes of computing on the CPU; 1 nodes of memory and metadata, left out");
  }
}

TEST_CASE("chakra: without times sizes are rows; several ranks have one network") {
  std::string trace = kHead;
  trace += HandNode{1, "all", 7, 0, {}, collective(7, 4096)}.bytes();
  const Imported sizes = import_text("f", trace, with("workers", "2"));
  REQUIRE(sizes.rows.size() == 1);
  CHECK(sizes.rows[0].quantity == "size_bytes");
  CHECK(sizes.rows[0].operation == "reduce_scatter");
  CHECK(sizes.rows[0].value == 4096);
  const Files files;
  const Imported two = import_files(
      {files.write("a.0.et", small_trace()), files.write("a.1.et", small_trace())}, with("batch", "8"));
  CHECK(two.workloads.size() == 1);
  CHECK(two.steps.size() == 2);
  CHECK(counts(two.reports[1].understood).find("1 networks that another rank's file contains") !=
        std::string::npos);
}

TEST_CASE("chakra: what a file should not hold is an error with a sentence, or counted") {
  CHECK(
      import_errors(kHead + HandNode{1, "a", 4, 5, {2}}.bytes() + HandNode{2, "b", 4, 5, {1}}.bytes()) ==
      "f: has circular dependencies. Found: at node 1. Record the trace again: a node cannot wait for itself.\n");
  ImportOptions chakra;
  chakra.format = "chakra";
  CHECK(import_errors("\xff\xff\xff\xff\xff\xff", chakra).find("has an impossible length for message 1") !=
        std::string::npos);
  CHECK(import_errors(kHead + HandNode{1, "a", 4, 5}.bytes() + "\xff\xff\xff\x7f", chakra)
            .find("has an impossible length for message 3") != std::string::npos);
  CHECK(import_errors("{\"a\": 1}", chakra).find("is not a Chakra execution trace") != std::string::npos);
  CHECK(import_errors(kHead, chakra).find("contains no usable measurement (chakra)") != std::string::npos);
  const std::string one = kHead + HandNode{1, "a\xff\x1b", 4, 5}.bytes();
  const Imported odd =
      import_text("f",
                  one + HandNode{1, "b", 4, 5}.bytes() + HandNode{3, "c", 4, ~std::uint64_t{0}, {8}}.bytes() +
                      delimited_bytes("\x08") + delimited_bytes(std::string(200, '\xff')) +
                      HandNode{4, "d", 7, 5, {}, attribute("comm_type", kInt64, 77)}.bytes() +
                      HandNode{5, "e", 7, 5, {}, collective(2, 8)}.bytes() +
                      HandNode{6, "cut", 4, 5}.bytes().substr(0, 9),
                  {});
  CHECK(
      ignored(odd) ==
      "1 all-gathers that give only one rank's part; use --set workers=N; 1 collectives without a known type or a size; 1 dependencies on missing nodes; 1 durations that are negative, or of 2^63 us and more; 2 nodes that cannot be read; 1 nodes that repeat an id, not used for layers; 1 truncated last nodes");
  CHECK(odd.workloads.at(0).layers.at(0).name == "a\\xff\\u001b");
  // Any prefix, and any byte changed.
  int worked = 0, failed = 0;
  const std::string whole = small_trace();
  for (std::size_t at = 0; at < whole.size(); ++at)
    for (const bool cut : {true, false}) {
      std::string damaged = whole;
      if (cut)
        damaged.resize(at);
      else
        damaged[at] = static_cast<char>(~damaged[at]);
      try {
        (void)imported(damaged, chakra);
        ++worked;
      } catch (const ConfigError&) {
        ++failed;
      }
    }
  CHECK(worked > 100);
  CHECK(failed > 10);
}

namespace {

// One field of a message: its number, and its value or bytes.
struct RawField {
  unsigned number = 0;
  std::uint64_t value = 0;
  std::string bytes;
};

std::uint64_t take_varint(std::string_view& text) {
  std::uint64_t value = 0;
  for (unsigned shift = 0; !text.empty(); shift += 7) {
    const auto byte = static_cast<unsigned char>(text.front());
    text.remove_prefix(1);
    value |= static_cast<std::uint64_t>(byte & 127U) << shift;
    if (byte < 128) break;
  }
  return value;
}

std::vector<RawField> fields_of(std::string_view text) {
  std::vector<RawField> all;
  while (!text.empty()) {
    const std::uint64_t tag = take_varint(text);
    RawField field{static_cast<unsigned>(tag >> 3U), 0, ""};
    if (tag % 8 == 0) {
      field.value = take_varint(text);
    } else {
      const std::uint64_t size = tag % 8 == 1 ? 8 : tag % 8 == 5 ? 4 : take_varint(text);
      field.bytes = text.substr(0, size);
      text.remove_prefix(std::min<std::size_t>(size, text.size()));
    }
    all.push_back(field);
  }
  return all;
}

}  // namespace

TEST_CASE("chakra: what is written has the schema's field numbers") {
  const ChakraNode node{7,
                        "all_reduce",
                        kChakraCollective,
                        {3, 300},
                        {5},
                        11,
                        12,
                        {{"comm_size", std::int64_t{4096}},
                         {"is_cpu_op", false},
                         {"tensor_size", std::uint64_t{9}},
                         {"x", 0.5},
                         {"y", std::string("z")}}};
  std::string text = chakra_message(node);
  std::string_view rest = text;
  const std::uint64_t length = take_varint(rest);
  CHECK(length == rest.size());
  const std::vector<RawField> fields = fields_of(rest);
  REQUIRE(fields.size() == 12);
  CHECK(fields[0].value == 7);
  CHECK(fields[1].bytes == "all_reduce");
  CHECK(fields[2].value == 7);
  CHECK(fields[3].number == 4);
  CHECK(fields[3].bytes == varint(3) + varint(300));
  CHECK(fields[4].bytes == varint(5));
  CHECK(fields[5].value == 11);
  CHECK(fields[6].value == 12);
  const unsigned types[] = {9, 27, 13, 3, 29};
  for (std::size_t i = 0; i < 5; ++i) {
    CHECK(fields[7 + i].number == 10);
    const std::vector<RawField> attribute_fields = fields_of(fields[7 + i].bytes);
    REQUIRE(attribute_fields.size() == 2);
    CHECK(attribute_fields[1].number == types[i]);
  }
  CHECK(fields_of(fields[7].bytes)[1].value == 4096);
}

// A job that is exported as Chakra: there and back, and played by its dependencies alone.

namespace {

// A job's nodes, of all ranks, played by their dependencies and durations alone: a collective begins when all
// ranks have come to it. Returns when the last one ends.
double replayed_s(const std::vector<std::vector<ChakraNode>>& ranks) {
  std::vector<std::map<std::uint64_t, double>> ends(ranks.size());
  std::map<std::string, std::map<std::size_t, double>> ready;  // of a collective: of the ranks that have come
  std::vector<std::size_t> next(ranks.size(), 0);
  double last_s = 0;
  for (bool moved = true; moved;) {
    moved = false;
    for (std::size_t r = 0; r < ranks.size(); ++r) {
      std::map<std::string, int> number;
      for (std::size_t i = 0; i < ranks[r].size(); ++i) {
        const ChakraNode& node = ranks[r][i];
        std::string key;
        if (node.type == kChakraCollective) {
          key = chakra_text(node.attributes, "pg_name") + "/" +
                std::to_string(chakra_number(node.attributes, "simsgd.channel"));
          key += "/" + std::to_string(number[key]++);
        }
        if (ends[r].contains(node.id)) continue;
        double begin_s = 0;
        bool possible = true;
        for (const auto* deps : {&node.ctrl_deps, &node.data_deps})
          for (const std::uint64_t dep : *deps) {
            possible = possible && ends[r].contains(dep);
            if (possible) begin_s = std::max(begin_s, ends[r].at(dep));
          }
        if (!possible) continue;
        if (!key.empty()) {
          moved = ready[key].emplace(r, begin_s).second || moved;
          if (ready[key].size() < ranks.size()) continue;
          for (const auto& [rank, ready_s] : ready[key]) begin_s = std::max(begin_s, ready_s);
        }
        ends[r][node.id] = begin_s + chakra_number(node.attributes, "simsgd.seconds");
        last_s = std::max(last_s, ends[r][node.id]);
        moved = true;
      }
    }
  }
  for (std::size_t r = 0; r < ranks.size(); ++r)
    if (ends[r].size() < ranks[r].size()) return -1;  // something waits for ever
  return last_s;
}

// What was simulated and exported, and what was read back.
struct ThereAndBack {
  double end_s = 0, replayed_s = 0;
  double nodes = 0, equal = 0;        // nodes that were written; those that are the same when read
  double collectives = 0, bytes = 0;  // of rank 0
  RecordedWorkload read;
  Workload own;
  std::size_t rows = 0;
  bool approximate = false;
};

ThereAndBack there_and_back(const std::string& scenario) {
  const Files files;
  const Job job = make_job(load_scenario(files.write("s.json", scenario)));
  ChakraRecorder recorder(job.workload, {job.name, "device", job.workers()});
  SimulationOptions options;
  options.observers = {&recorder};
  const SimulationResult result = simulate(job, options);
  if (!recorder.problem().empty()) throw std::runtime_error(recorder.problem());
  std::vector<std::vector<ChakraNode>> ranks;
  std::vector<std::string> paths;
  ThereAndBack made;
  for (int rank = 0; rank < job.workers(); ++rank) {
    const std::vector<ChakraNode> written = recorder.nodes(rank);
    std::string text = chakra_message(recorder.metadata(rank));
    for (const ChakraNode& node : written) text += chakra_message(node);
    paths.push_back(files.write("job." + std::to_string(rank) + ".et", text));
    Input input("f", text);
    ChakraReader reader(input);
    std::vector<ChakraNode>& read = ranks.emplace_back();
    for (ChakraNode node; reader.next(node);) read.push_back(node);
    for (std::size_t i = 0; i < std::min(written.size(), read.size()); ++i)
      made.equal += written[i] == read[i];
    made.nodes += static_cast<double>(written.size() + (read.size() == written.size() ? 0 : 1000000));
  }
  for (const ChakraNode& node : ranks[0])
    if (node.type == kChakraCollective) {
      ++made.collectives;
      made.bytes += chakra_number(node.attributes, "comm_size");
    }
  const Imported all = import_files(paths, {});
  made.end_s = result.record.end_s;
  made.replayed_s = replayed_s(ranks);
  made.read = all.workloads.at(0);
  made.own = job.workload;
  made.rows = all.rows.size();
  made.approximate = recorder.approximate();
  return made;
}

std::string data_parallel(const std::string& algorithm, const std::string& cluster = "gtopk-1gbe",
                          const std::string& more = "") {
  return R"({"name": "s", "cluster": {"use": ")" SIMSGD_SOURCE_DIR R"(/scenarios/clusters/)" + cluster +
         R"(.json", "workers": 4}, "workload": {"use": ")" SIMSGD_SOURCE_DIR
         R"(/scenarios/workloads/resnet20.json", "batch": 64)" +
         more + R"(}, "learner": null, "algorithm": )" + algorithm + R"(, "stop": {"steps": 3},
      "stragglers": [{"name": "lognormal", "mean": "3 ms", "sigma": 1}]})";
}

}  // namespace

TEST_CASE("a job that is exported as Chakra and read back is the same job: layers, bytes, times, deps") {
  const std::string buckets =
      R"({"name": "allreduce_sgd", "fusion": "threshold", "fusion_threshold": "100 KiB"})";
  const std::string one_by_one = R"({"name": "allreduce_sgd", "fusion": "none"})";
  for (const std::string& scenario : {data_parallel(buckets), data_parallel(one_by_one),
                                      data_parallel(R"({"name": "local_sgd", "period": 2})"),
                                      data_parallel(buckets, "gtopk-1gbe", R"(, "micro_batches": 2)"),
                                      data_parallel(one_by_one, "ethernet-10g")}) {
    CAPTURE(scenario);
    const ThereAndBack n = there_and_back(scenario);
    // There communication slows the computing beside it: layers' ends are then approximate.
    const bool slowed = n.approximate;
    CHECK(slowed == (scenario.find("10g") != std::string::npos));
    // The dependencies tell when everything ends.
    CHECK(n.replayed_s == Approx(n.end_s).epsilon(slowed ? 0.01 : 1e-9));
    CHECK(n.equal == n.nodes);
    CHECK(n.bytes == 1078888 * (scenario.find("local") == std::string::npos ? 3 : 1));
    CHECK(static_cast<double>(n.rows) == 4 * n.collectives);
    CHECK(n.read.layers.size() == n.own.layers.size());
    CHECK(n.read.parameters() == n.own.parameters());
    CHECK(n.read.batch == 64);
    CHECK(n.read.forward_s() == Approx(n.own.forward_s() * n.own.micro_batches).epsilon(1e-9));
    const double backward_s = n.own.backward_s() * n.own.micro_batches;
    if (!slowed) CHECK(n.read.backward_s() == Approx(backward_s).epsilon(1e-9));
    if (slowed) CHECK(n.read.backward_s() > backward_s);
  }
}

TEST_CASE("the dependencies of other data-parallel jobs tell when they end, too; the rest is refused") {
  for (const char* const algorithm :
       {R"({"name": "fsdp"})", R"({"name": "powersgd"})", R"({"name": "diloco", "inner_steps": 2})",
        R"({"name": "d_kfac"})", R"({"name": "spd_kfac"})"}) {
    CAPTURE(algorithm);
    const ThereAndBack n = there_and_back(data_parallel(algorithm));
    CHECK(n.replayed_s == Approx(n.end_s).epsilon(1e-9));
    CHECK(n.equal == n.nodes);
    CHECK(n.read.parameters() == n.own.parameters());
  }
  const auto refused = [](const char* algorithm) {
    return refusal_of<std::exception>([&] { there_and_back(data_parallel(algorithm)); });
  };
  CHECK(refused(R"({"name": "dropcompute", "deadline": "80 ms"})") ==
        "it computes gradients in pieces that may be stopped, not layer by layer");
  CHECK(refused(R"({"name": "gtopk", "density": 0.01})").find("for which Chakra has no type") !=
        std::string::npos);
  CHECK(refused(R"({"name": "ad_psgd"})").find("messages to one another, which are not written") !=
        std::string::npos);
}

}  // namespace simsgd::test::traces_chakra
