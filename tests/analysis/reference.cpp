#include <doctest/doctest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>

#include "tests/analysis/committed_documents.hpp"

namespace simsgd::test::analysis_reference {

using committed::committed_documents;
using committed::results_reference;

TEST_CASE("docs/reference.md, its pages, docs/results.md and schemas/ are what the program's tables say") {
  for (const auto& [name, text] : committed_documents()) {
    const std::string path = SIMSGD_SOURCE_DIR "/" + name;
    if (std::getenv("SIMSGD_WRITE_DOCS") != nullptr) std::ofstream(path, std::ios::binary) << text;
    std::ifstream file(path, std::ios::binary);
    const std::string written(std::istreambuf_iterator<char>(file), {});
    const bool up_to_date = written == text;  // not compared in a CHECK, which would print both
    CHECK_MESSAGE(up_to_date,
                  name << " is stale: run this test with SIMSGD_WRITE_DOCS=1, and commit what it writes");
  }
}

TEST_CASE(
    "the reference has each table once: where another has nearly the same keys, it shows those that differ") {
  const auto pages = committed::key_reference();
  const std::string page = pages.at("reference/cluster.md");
  CHECK(pages.at("reference.md").find("](reference/cluster.md)") != std::string::npos);
  // What another page shows is a link.
  CHECK(pages.at("reference/workload.md").find("The keys of [`/network/jitter`](network.md)") !=
        std::string::npos);
  std::size_t tables = 0;
  for (std::size_t at = 0; (at = page.find("\n| `step_latency` |", at + 1)) != std::string::npos;) ++tables;
  CHECK(tables == 1);
  const std::size_t all_to_all = page.find("\n### `/cluster/collectives/all_to_all/*`\n");
  REQUIRE(all_to_all != std::string::npos);
  const std::string section = page.substr(all_to_all, page.find("\n### ", all_to_all + 1) - all_to_all);
  CHECK(section.find("\nThe keys of `/cluster/collectives/all_gather/*`, but for:\n") != std::string::npos);
  CHECK(
      section.find(
          "\n| `schedule` | The schedule says who sends how much to whom, in which order | \"pairwise\" |") !=
      std::string::npos);
  CHECK(section.find("\n| `launch` |") == std::string::npos);
}

TEST_CASE("the reference has a line for each metric, with its unit, and for each column of a curve") {
  const std::string page = results_reference();
  CHECK(page.find("\n| `throughput_samples_per_s` | 1/s | Training samples whose gradient was used, ") !=
        std::string::npos);
  const std::size_t loss =
      page.find("\n| `train_loss` | 1 | Mean of the losses of all gradients that workers used ");
  REQUIRE(loss != std::string::npos);
  CHECK(page.substr(loss, page.find('\n', loss + 1) - loss).ends_with(" | without a learner |"));
  // A bar would end the cell.
  CHECK(page.find("sqrt(mean over workers of \\|x_i - mean\\|^2)") != std::string::npos);
}

}  // namespace simsgd::test::analysis_reference
