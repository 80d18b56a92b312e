// Exports of Nsight Systems: made here with SQLite, table by table.
#include <doctest/doctest.h>
#include <sqlite3.h>

#include "tests/traces/imports.hpp"
#include "traces/names.hpp"

namespace simsgd::test::traces_nsight {

using namespace traces;
using doctest::Approx;

namespace {

// A database of these statements: its bytes, and where it lies.
std::string database(const Files& files, const std::string& statements) {
  const std::string path = files.write("export.sqlite", "");
  sqlite3* handle = nullptr;
  REQUIRE(sqlite3_open(path.c_str(), &handle) == SQLITE_OK);
  char* message = nullptr;
  sqlite3_exec(handle, statements.c_str(), nullptr, nullptr, &message);
  const std::string problem = message == nullptr ? "" : message;
  sqlite3_free(message);
  sqlite3_close(handle);
  REQUIRE(problem.empty());
  return path;
}

std::string errors_of(const std::string& path) {
  try {
    (void)import_files({path}, {});
  } catch (const ConfigError& error) {
    std::string text = error.what();
    return text.substr(text.find(".sqlite") + 1);
  }
  return "";
}

const char* const kKernelTable =
    "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL(start INTEGER, \"end\" INTEGER, deviceId INTEGER, streamId INTEGER, correlationId INTEGER, globalPid INTEGER, shortName INTEGER, demangledName INTEGER);";

// Process 5 (its ids are 5 << 24), GPU 0. Two steps on the host: 1000 to 2000 ns and 2000 to 3000 ns, in
// which calls 10 to 19 and 20 to 29 were made; kernels run later.
const std::string kProfile =
    std::string(kKernelTable) +
    "CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME(start INTEGER, \"end\" INTEGER, globalTid INTEGER, correlationId INTEGER);CREATE TABLE NVTX_EVENTS(start INTEGER, \"end\" INTEGER, eventType INTEGER, text TEXT, textId INTEGER, globalTid INTEGER);CREATE TABLE StringIds(id INTEGER PRIMARY KEY, value TEXT);INSERT INTO StringIds VALUES (1, 'sgemm'), (2, 'ncclDevKernel_AllReduce_Sum_f32_RING_LL'), (3, 'ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)'), (4, 'ProfilerStep#8');INSERT INTO NVTX_EVENTS VALUES (1000, 2000, 59, 'step 7', NULL, 83886081), (2000, 3000, 59, NULL, 4, 83886081), (1500, 1600, 59, 'nccl:all_reduce, 4096 bytes', NULL, 83886082), (1, 2, 59, 'forward', NULL, 83886081), (5, NULL, 34, 'mark', NULL, 83886081), (9, 8, 59, 'step 9', NULL, 83886081);INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (1100, 1110, 83886081, 10), (1550, 1560, 83886082, 12), (1900, 1910, 83886081, 19), (2100, 2110, 83886081, 20), (2900, 2910, 83886081, 29), (3500, 3510, 83886081, 40);"
    // Of step 7: 3000 to 5000 and 4000 to 6000 overlap, 3 us together; of step 8: 6000 to 7000 ns; one
    // outside.
    "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (4000, 6000, 0, 7, 19, 83886080, 1, 1), (3000, 5000, 0, 7, 10, 83886080, 1, 1), (6000, 7000, 0, 7, 20, 83886080, 1, 99), (5000, 9000, 0, 20, 12, 83886080, 2, 3), (9000, 9500, 0, 7, 40, 83886080, 1, 1), (9000, 8000, 0, 7, 25, 83886080, 1, 1);";

}  // namespace

TEST_CASE("nsight: the GPU's time in each step, by the call that launched a kernel, and NCCL's kernels") {
  const Files files;
  const Imported all = import_files({database(files, kProfile)}, with("workers", "4"));
  REQUIRE(all.steps.size() == 2);
  CHECK(all.steps[0].step == 7);
  CHECK(all.steps[0].worker == 0);
  CHECK(all.steps[0].compute_s == Approx(3e-6).epsilon(1e-12));
  CHECK(all.steps[1].step == 8);
  CHECK(all.steps[1].compute_s == Approx(1e-6).epsilon(1e-12));
  REQUIRE(all.rows.size() == 3);
  const Measurement& row = all.rows[2];
  CHECK(row.operation == "all_reduce");
  CHECK(row.value == Approx(4e-6).epsilon(1e-12));
  CHECK(row.bytes == 4096);
  CHECK(row.workers == 4);
  CHECK(row.labels ==
        std::map<std::string, std::string>{
            {"algorithm", "RING"}, {"protocol", "LL"}, {"rank", "0"}, {"step", "7"}, {"type", "f32"}});
  CHECK(ignored(all) == "1 kernels that end before they begin; 1 ranges that end before they begin");
  CHECK(understood(all) ==
        "2 NVTX events that are neither a step nor a size; 3 kernels of steps; 1 kernels outside of steps");
}

TEST_CASE("nsight: without calls, ranges or strings a kernel's own start and the rest tell what they can") {
  const Files files;
  const Imported all = import_files(
      {database(
          files,
          std::string(kKernelTable) +
              "CREATE TABLE NVTX_EVENTS(start INTEGER, \"end\" INTEGER, text TEXT, globalTid INTEGER);INSERT INTO NVTX_EVENTS VALUES (0, 100, 'train_step', 16777217), (100, 200, 'Train_Step', 16777217), (0, 200, 'iteration 3', 33554433);INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (10, 20, 0, 7, 1, 16777216, 1, 1), (150, 190, 0, 7, 2, 16777216, 1, 1), (10, 15, 1, 7, 2, 33554432, 1, 1);")},
      {});
  REQUIRE(all.steps.size() == 3);
  CHECK(all.steps[1].step == 2);
  CHECK(all.steps[1].compute_s == Approx(40e-9).epsilon(1e-9));
  CHECK(all.steps[2].worker == 1);
  CHECK(all.steps[2].step == 3);
  CHECK(ignored(all) == "1 missing tables: StringIds");
  const Imported two = import_files({database(files, kProfile), database(files, kProfile)}, {});
  CHECK(two.steps.back().worker == 1);  // a file for each process: workers are counted on
}

TEST_CASE("nsight: what cannot be used is refused with a sentence, and nothing of a schema is trusted") {
  const Files files;
  CHECK(
      errors_of(database(files, "CREATE TABLE a(b);")) ==
      "sqlite: has no table CUPTI_ACTIVITY_KIND_KERNEL. Profile with nsys profile --trace=cuda,nvtx, and export with nsys export --type sqlite.");
  CHECK(
      errors_of(database(files, "CREATE VIEW CUPTI_ACTIVITY_KIND_KERNEL AS SELECT 1 AS start, 2 AS \"end\";"))
          .find("has no table CUPTI_ACTIVITY_KIND_KERNEL") != std::string::npos);
  CHECK(
      errors_of(database(files, "PRAGMA application_id = 1397179506; CREATE TABLE runs(b);")) ==
      "sqlite: is a result file of simsgd, not a profile. Export its runs first: simsgd results export FILE.");
  CHECK(errors_of(database(files, kKernelTable)).find("contains no usable measurement (nsight)") !=
        std::string::npos);
  CHECK(errors_of(database(files, "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL(a, b);"))
            .find("1 missing columns: CUPTI_ACTIVITY_KIND_KERNEL.start") != std::string::npos);
  const std::string bytes = [&] {
    std::ifstream file(database(files, kProfile), std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(file), {});
  }();
  CHECK(
      errors_of(files.compress("a.sqlite", bytes)) ==
      "sqlite: is an SQLite database that is compressed or in a pipe, and must be read in place. Decompress it, and name the file itself.");
  // Texts where numbers should be, ends of int64, lots of the same; no crash, and counted.
  const Imported odd = import_files(
      {database(
          files,
          kProfile +
              "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES ('x', X'00FF', 'y', 7, -5, -1, 'ncclKernel_', NULL), (-9223372036854775808, 9223372036854775807, 0, 7, 10, 83886080, 1, 1), (1, 9223372036854775807, 0, 7, 9223372036854775807, 9223372036854775807, 1, 1);INSERT INTO NVTX_EVENTS VALUES (-5, 9223372036854775807, 59, 'step 18446744073709551615', NULL, -1), (7, 9, 59, X'FF00', 'y', 1);")},
      {});
  CHECK(odd.rows.size() == 4);
  // Cut anywhere, and with bytes changed: rows or errors.
  int worked = 0, failed = 0;
  for (std::size_t i = 0; i < 200; ++i) {
    std::string damaged = bytes;
    if (i % 2 == 0)
      damaged.resize(16 + bytes.size() * i / 200);
    else
      for (std::size_t at = 100 + 37 * i; at < damaged.size(); at += 911)
        damaged[at] = static_cast<char>(at + i);
    try {
      (void)import_text("f", damaged, {});
      ++worked;
    } catch (const ConfigError&) {
      ++failed;
    }
  }
  CHECK(worked + failed == 200);
  CHECK(failed > 100);
}

TEST_CASE("names of NCCL's kernels, of steps, and sizes in texts") {
  const auto kernel = nccl_kernel_name("ncclKernel_ReduceScatter_TREE_LL128_Sum_half(ncclWorkElem)");
  REQUIRE(kernel);
  CHECK(kernel->operation == "reduce_scatter");
  CHECK(kernel->algorithm == "TREE");
  CHECK(kernel->protocol == "LL128");
  CHECK(kernel->type == "half");
  CHECK(nccl_kernel_name("ncclDevKernel_SendRecv(x)")->operation == "send_receive");
  CHECK(nccl_kernel_name("void ncclKernel_Broadcast_RING_LL_Sum_int8_t()")->operation == "broadcast");
  CHECK_FALSE(nccl_kernel_name("my_ncclDevKernel_AllReduce"));
  CHECK_FALSE(nccl_kernel_name("ncclGroupEnd"));
  CHECK(step_name("ProfilerStep#12")->number == 12);
  CHECK(step_name(" Iteration_3 ")->number == 3);
  CHECK(step_name("train_step")->number == std::nullopt);
  CHECK_FALSE(step_name("step 3 of layer 4"));
  CHECK_FALSE(step_name("optimizer_step"));
  CHECK(nccl_bytes("ncclAllReduce bytes=512") == 512);
  CHECK(nccl_bytes("nccl: 1024bytes") == 1024);
  CHECK_FALSE(nccl_bytes("memset 12 bytes"));
  CHECK_FALSE(nccl_bytes("nccl bytes"));
}

}  // namespace simsgd::test::traces_nsight
