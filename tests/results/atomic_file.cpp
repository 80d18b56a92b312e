#include "results/atomic_file.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <iterator>
#include <thread>

#include "sim/base/errors.hpp"
#include "tests/scenarios/support.hpp"
#include "tests/support/in_child.hpp"

namespace simsgd::test::results_atomic_file {

namespace fs = std::filesystem;

namespace {

std::string content(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// So many files are in the folder, temporary ones too.
std::ptrdiff_t files_beside(const std::string& path) {
  return std::distance(fs::directory_iterator(fs::path(path).parent_path()), {});
}

}  // namespace

TEST_CASE("a file has its name when it is whole, and not before") {
  const Folder folder;
  const std::string path = folder.path("f");
  {
    AtomicFile file(path);
    file.write("one ");
    CHECK(!fs::exists(path));
    file.write("two");
    file.finish();
  }
  CHECK(content(path) == "one two");
  CHECK(files_beside(path) == 1);
}

TEST_CASE("of two writers of one name each writes a whole file, and the last one's stays") {
  const Folder folder;
  const std::string path = folder.path("f");
  AtomicFile a(path), b(path);
  a.write("aa");
  b.write("b");
  a.write("aa");
  b.finish();
  CHECK(content(path) == "b");
  a.finish();
  CHECK(content(path) == "aaaa");
  CHECK(files_beside(path) == 1);
}

TEST_CASE("nobody is led elsewhere by a link that was planted beside the file") {
  const Folder folder;
  const std::string path = folder.path("f"), victim = folder.write("victim", "untouched");
  fs::create_symlink(victim, path + ".part");
  write_file_atomically(path, "text");
  CHECK(content(path) == "text");
  CHECK(content(victim) == "untouched");
}

TEST_CASE("a link stays a link, and what it names is written, with the permissions that it has") {
  const Folder folder;
  const std::string link = folder.path("link"), file = folder.write("file", "old"),
                    fresh = folder.path("fresh");
  fs::permissions(file, fs::perms::owner_read | fs::perms::owner_write);
  fs::create_symlink("file", link);
  write_file_atomically(link, "new");
  CHECK(fs::is_symlink(link));
  CHECK(content(file) == "new");
  CHECK(fs::status(file).permissions() == (fs::perms::owner_read | fs::perms::owner_write));
  fs::remove(link);
  fs::create_symlink("fresh", link);  // of nothing yet
  write_file_atomically(link, "new");
  CHECK(fs::is_symlink(link));
  CHECK(content(fresh) == "new");
}

TEST_CASE("a device and a FIFO are written into, and stay what they are") {
  const Folder folder;
  const std::string null = folder.path("null"), fifo = folder.path("fifo");
  fs::create_symlink("/dev/null", null);
  write_file_atomically(null, "text");
  CHECK(fs::is_symlink(null));
  CHECK(fs::is_character_file("/dev/null"));
  REQUIRE(mkfifo(fifo.c_str(), 0600) == 0);
  std::string read;
  std::thread reader([&] { read = content(fifo); });
  write_file_atomically(fifo, std::string(200000, 'x'));  // more than a pipe holds
  reader.join();
  CHECK(read == std::string(200000, 'x'));
  CHECK(fs::is_fifo(fifo));
  CHECK(files_beside(fifo) == 2);
}

TEST_CASE("an open file of this process goes on where it is: /dev/stdout that goes to a file") {
  const Folder folder;
  const std::string path = folder.path("out");
  const int out = open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  REQUIRE(out >= 0);
  CHECK(write(out, "before ", 7) == 7);
  write_file_atomically("/dev/fd/" + std::to_string(out), "text");
  CHECK(write(out, " after", 6) == 6);
  close(out);
  CHECK(content(path) == "before text after");
}

TEST_CASE("a file that is given up, or that a full disk cuts, leaves nothing") {
  const Folder folder;
  const std::string path = folder.path("f");
  { AtomicFile(path).write("one"); }
  CHECK(!fs::exists(path));
  CHECK(files_beside(path) == 0);
  // A limit of 100 kB on files, as a full disk would be.
  const ChildResult result = run_in_child([&path]() -> std::vector<double> {
    std::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{100000, 100000};
    setrlimit(RLIMIT_FSIZE, &limit);
    write_file_atomically(path, std::string(1000000, 'x'));
    return {};
  });
  CHECK(result.error == "Cannot write " + path + ": File too large");
  CHECK(!fs::exists(path));
  CHECK(files_beside(path) == 0);
}

}  // namespace simsgd::test::results_atomic_file
