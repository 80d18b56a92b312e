// The verb `report` from outside: what it writes, what it says where something is missing, its exit codes.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "tests/analysis/support.hpp"
#include "tests/support/contents.hpp"

namespace simsgd::test::report_verb {

namespace {

namespace fs = std::filesystem;

/// Where libraries and Node are looked for; put back at the end.
class WebFolder {
 public:
  explicit WebFolder(const std::string& folder) {
    if (const char* old = std::getenv("SIMSGD_WEB")) old_ = old;
    setenv("SIMSGD_WEB", folder.c_str(), 1);
  }
  ~WebFolder() {
    if (old_.empty())
      unsetenv("SIMSGD_WEB");
    else
      setenv("SIMSGD_WEB", old_.c_str(), 1);
  }
  WebFolder(const WebFolder&) = delete;
  WebFolder& operator=(const WebFolder&) = delete;

 private:
  std::string old_;
};

}  // namespace

TEST_CASE("tables need no Node; a page and figures say what is missing, and write nothing") {
  const Folder folder;
  const WebFolder nothing(folder.path("web"));
  const std::string study = folder.write_json("s.json", small_study({2, 4})), database = folder.path("s.db"),
                    page = folder.path("s.html"), figures = folder.path("figures");
  REQUIRE(run_simsgd({"sweep", "run", study, "-o", database}).code == 0);

  const Ended csv = run_simsgd({"report", database, "--format", "csv", "--chart", "breakdown"});
  CHECK(csv.code == 0);
  CHECK(csv.out.starts_with(
      "study,chart,cluster/workers,activity,part,time_per_step_s,seeds\nsmall,breakdown,2,"));
  CHECK(run_simsgd({"report", database, "--format", "md", "-o", folder.path("s.md")}).code == 0);
  CHECK(contents(folder.path("s.md")).find("### Where the time of a step goes") != std::string::npos);

  const Ended without = run_simsgd({"report", database, "-o", page, "--figures", figures});
  CHECK(without.code == 2);
  CHECK(without.err.find("simsgd report: Vega, which draws the page, was not found; looked in " +
                         folder.path("web/node_modules") + ". Get it with ./setup.sh web") !=
        std::string::npos);
  const Ended no_node = run_simsgd({"report", database, "--format", "csv", "-o", page, "--figures", figures});
  CHECK(no_node.code == 2);
  CHECK(no_node.err.find("Node with vl2svg, which draws figures, was not found") != std::string::npos);
  CHECK(!fs::exists(page));
  CHECK(!fs::exists(figures));

  const Ended nowhere = run_simsgd({"report", database});
  CHECK(nowhere.code == 2);
  CHECK(nowhere.err.find("needs a file for its page. Name it with -o R.html") != std::string::npos);
  CHECK(run_simsgd({"report", database, "--format", "csv", "--chart", "speed"}).code == 2);
  CHECK(run_simsgd({"report", folder.path("none.db"), "--format", "csv"}).code == 2);
}

TEST_CASE("--where draws only some points, and the command below a chart repeats it") {
  const Folder folder;
  const std::string study = folder.write_json("s.json", small_study({2, 4})), database = folder.path("s.db");
  REQUIRE(run_simsgd({"sweep", "run", study, "-o", database}).code == 0);
  const Ended of_four = run_simsgd({"report", database, "--format", "md", "--chart", "throughput", "--study",
                                    "small", "--where", "workers=4"});
  CHECK(of_four.out.find("\n1 point, 1 done, 0 failed; one seed each.\n") != std::string::npos);
  CHECK(of_four.out.find(" --study small --where workers=4 --chart throughput --figures figures\n") !=
        std::string::npos);
  const Ended both = run_simsgd({"report", database, "--format", "csv", "--chart", "breakdown"});
  const Ended of_two =
      run_simsgd({"report", database, "--format", "csv", "--chart", "breakdown", "--where", "workers=2"});
  const auto lines = [](const std::string& text) { return std::count(text.begin(), text.end(), '\n'); };
  CHECK(lines(both.out) - 1 == 2 * (lines(of_two.out) - 1));
  const Ended wrong = run_simsgd({"report", database, "--format", "md", "--where", "workers=128"});
  CHECK(wrong.code == 2);
  CHECK(wrong.err.find("--where: is not a value of cluster/workers. Found: 128. Choose 2 or 4.") !=
        std::string::npos);
}

TEST_CASE("a page is whole or not there") {
  const Folder folder;
  for (const char* library : {"vega/build/vega", "vega-lite/build/vega-lite", "vega-embed/build/vega-embed"})
    folder.write("web/node_modules/" + std::string(library) + ".min.js", "// drawn by nobody");
  const WebFolder web(folder.path("web"));
  const std::string study = folder.write_json("s.json", small_study({2})), database = folder.path("s.db");
  REQUIRE(run_simsgd({"sweep", "run", study, "-o", database}).code == 0);
  const Ended made = run_simsgd({"report", database, "-o", folder.path("s.html")});
  CHECK(made.code == 0);
  CHECK(made.out.empty());
  CHECK(contents(folder.path("s.html")).ends_with("</script>\n</body>\n</html>\n"));
  const Ended lost = run_simsgd({"report", database, "-o", folder.path("no/folder/s.html")});
  CHECK(lost.code == 1);
  CHECK(!fs::exists(folder.path("no")));
}

}  // namespace simsgd::test::report_verb
