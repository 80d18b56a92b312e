#include "results/atomic_file.hpp"

#include <doctest/doctest.h>
#include <sys/resource.h>

#include <csignal>
#include <fstream>
#include <iterator>

#include "sim/base/errors.hpp"
#include "tests/scenarios/support.hpp"
#include "tests/support/in_child.hpp"

namespace simsgd::test::results_atomic_file {

TEST_CASE("a file has its name when it is whole, and not before") {
  const Folder folder;
  const std::string path = folder.path("f");
  {
    AtomicFile file(path);
    file.write("one ");
    CHECK(!std::filesystem::exists(path));
    file.write("two");
    file.finish();
  }
  std::ifstream written(path);
  CHECK(std::string(std::istreambuf_iterator<char>(written), {}) == "one two");
  CHECK(!std::filesystem::exists(path + ".part"));
}

TEST_CASE("a file that is given up, or that a full disk cuts, leaves nothing") {
  const Folder folder;
  const std::string path = folder.path("f");
  { AtomicFile(path).write("one"); }
  CHECK(!std::filesystem::exists(path));
  CHECK(!std::filesystem::exists(path + ".part"));
  // A limit of 100 kB on files, as a full disk would be.
  const ChildResult result = run_in_child([&path]() -> std::vector<double> {
    std::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{100000, 100000};
    setrlimit(RLIMIT_FSIZE, &limit);
    write_file_atomically(path, std::string(1000000, 'x'));
    return {};
  });
  CHECK(result.error == "Cannot write " + path + ": File too large");
  CHECK(!std::filesystem::exists(path));
  CHECK(!std::filesystem::exists(path + ".part"));
}

}  // namespace simsgd::test::results_atomic_file
