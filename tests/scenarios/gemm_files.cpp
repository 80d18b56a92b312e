// Products that a user measured, as a CSV file under a device's "gemm".
#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "sim/cluster/kernels.hpp"
#include "tests/scenarios/support.hpp"

namespace simsgd::test::scenarios_gemm_files {

namespace {

/// A device whose own file has an efficiency and a time, and a table of the user's over it.
Json with_table(const Folder& folder, const std::string& table) {
  folder.write("my.csv", table);
  folder.write("d.json",
               R"({"name": "D", "peak_flops": "1 TFLOPS", "gemm": {"efficiency": 0.5, "gather": "3 us",
                   "times": [{"m": 7, "n": 7, "k": 7, "time": 1}]}})");
  Json scenario = small_scenario();
  scenario["cluster"]["device"] = {{"use", "d.json"}, {"gemm", {{"use", "my.csv"}}}};
  return scenario;
}

Json gemm_of(const std::string& table) {
  const Folder folder;
  const std::string file = folder.write_json("s.json", with_table(folder, table));
  return load_scenario(file).resolved["cluster"]["device"]["gemm"];
}

Json time_of(int m, int n, int k, double seconds) {
  return {{"m", m}, {"n", n}, {"k", k}, {"time", seconds}};
}

}  // namespace

TEST_CASE(
    "a table of times takes the place of the device's own, by ascending FLOPs, and leaves its other keys") {
  const Json gemm = gemm_of("# V100, fp16\nk,dtype,M,n,us\n64,half,128,64,20\r\n\n8,half,8,8,5\n");
  CHECK(gemm["times"] == Json{time_of(8, 8, 8, 5 * 1e-6), time_of(128, 64, 64, 20 * 1e-6)});
  CHECK(gemm["efficiency"] == 0.5);
  CHECK(gemm["gather"] == "3 us");
}

TEST_CASE("times and rates come in several units, and a cell's own unit counts") {
  const Json one = {time_of(1000, 100, 10, 0.002)};  // 2 Mflop
  for (const char* table :
       {"m,n,k,seconds\n1000,100,10,0.002", "m,n,k,time\n1000,100,10,2 ms", "m,n,k,ms\n1000,100,10,2",
        "m,n,k,ms\n1000,100,10,2000 us", "m,n,k,gflops\n1000,100,10,1", "m,n,k,flops\n1000,100,10,1 GFLOPS",
        "m,n,k,TFLOPS,ms\n1000,100,10,77,2"}) {
    CAPTURE(table);
    const Json times = gemm_of(table)["times"];
    REQUIRE(times.size() == 1);
    CHECK(times[0]["time"].get<double>() == doctest::Approx(0.002).epsilon(1e-12));
  }
}

TEST_CASE("a kernel of the job takes what the table says, or its law's ratio beyond") {
  const Folder folder;
  const std::string file =
      folder.write_json("s.json", with_table(folder, "m,n,k,us\n100,100,100,10\n200,200,200,40\n"));
  const Device device = make_job(load_scenario(file)).cluster.device;
  CHECK(gemm_s(device, {.m = 200, .n = 200, .k = 200}) == doctest::Approx(40e-6).epsilon(1e-12));
  CHECK(gemm_s(device, {.m = 400, .n = 400, .k = 400}) == doctest::Approx(320e-6).epsilon(1e-12));
}

TEST_CASE("a table is read under gemm alone, and one that is not there is not taken for a JSON file") {
  const Folder folder;
  Json scenario = with_table(folder, "m,n,k,us\n1,1,1,1\n");
  scenario["cluster"]["device"] = {{"use", "my.csv"}, {"name", "D"}};
  folder.write_json("s.json", scenario);
  CHECK(folder.errors("s.json") ==
        "my.csv: is a table, which only a device's \"gemm\" reads. Use a JSON file that holds one object.");
  scenario["cluster"]["device"] = {{"name", "D"}, {"gemm", {{"use", "mi.csv"}}}};
  folder.write_json("s.json", scenario);
  CHECK(folder.errors("s.json").starts_with(
      "s.json:/cluster/device/gemm/use: names a file that does not exist. Found: \"mi.csv\". Did you mean "
      "\"my.csv\"? Looked for "));
}

}  // namespace simsgd::test::scenarios_gemm_files
