// The archive that `cpack` makes (its Debian package: tests/python/image.sh) is unpacked into an empty
// directory and run there, without the environment and from a working directory that is empty too, so that
// the program can find its scenarios only beside itself; and in a root that holds nothing but the archive and
// the libraries that the program names.
#include <doctest/doctest.h>

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/cli/scratch.hpp"

namespace simsgd::test::cli_package {

using Json = nlohmann::ordered_json;
using namespace cli;
using cli::Outcome;

namespace {

namespace fs = std::filesystem;

/// The one entry of a directory whose name ends in `end`.
fs::path entry(const fs::path& directory, const std::string& end) {
  for (const auto& each : fs::directory_iterator(directory))
    if (each.path().filename().string().ends_with(end)) return each.path();
  FAIL("there is no " << end << " in " << directory);
  return {};
}

void shell(const std::string& command) {
  CAPTURE(command);
  REQUIRE(std::system(command.c_str()) == 0);
}

/// One archive for every fact about it.
class Unpacked {
 public:
  static const Unpacked& archive() {
    static const Unpacked unpacked;
    return unpacked;
  }

  const fs::path& prefix() const { return prefix_; }

  /// Standard output of the program in a root of its own: the archive, and the libraries that it names.
  std::string in_empty_root(const std::string& arguments) const {
    const std::string root = (scratch_.path() / "root").string();
    shell("for library in $(ldd " + prefix_.string() + "/bin/simsgd " + prefix_.string() +
          "/lib/simsgd/*.so | grep -o '[[:space:]]/[^ ]*'); do install -D $library " + root +
          "$library; done");
    const fs::path out = scratch_.path() / "out.txt";
    shell(std::string(geteuid() == 0 ? "" : "unshare -r ") + "env -i $(command -v chroot) " + root + " /" +
          prefix_.filename().string() + "/bin/simsgd " + arguments + " > " + out.string() + " 2>&1");
    return contents(out);
  }

  /// A file in that root.
  void write(const std::string& name, const std::string& text) const { scratch_.write("root/" + name, text); }

  /// Its standard output; errors go the same way.
  std::string simsgd(const std::string& arguments) const {
    const fs::path out = scratch_.path() / "out.txt";
    shell("cd " + (scratch_.path() / "empty").string() + " && env -i " + prefix_.string() + "/bin/simsgd " +
          arguments + " > " + out.string() + " 2>&1");
    return contents(out);
  }

 private:
  Unpacked() {
    const std::string path = scratch_.path().string();
    shell("cd " SIMSGD_BINARY_DIR " && cpack -G TGZ -B " + path + "/made > " + path + "/cpack.txt 2>&1");
    fs::create_directories(scratch_.path() / "root");
    fs::create_directories(scratch_.path() / "empty");
    shell("tar xzf " + entry(scratch_.path() / "made", ".tar.gz").string() + " -C " + path + "/root");
    prefix_ = entry(scratch_.path() / "root", "");
  }

  Scratch scratch_;
  fs::path prefix_;
};

}  // namespace

TEST_CASE("the archive runs where it is unpacked, with its own scenarios") {
  const Unpacked& unpacked = Unpacked::archive();
  CHECK(unpacked.simsgd("list clusters").starts_with("clusters/a100-nvswitch-ib200.json "));
  for (const char* file : {"quickstart.json", "scenarios/quickstart.json"})
    CHECK(unpacked.simsgd(std::string("check ") + file).find("a study of 2 points, correct") !=
          std::string::npos);
  const Json run = Json::parse(unpacked.simsgd(
      "run quickstart.json --point 1 --json --set /stop/steps=2 --set /learner=null --set /target=null"));
  CHECK(run["metrics"]["iteration_time_mean_s"].get<double>() > 0);
  for (const char* file :
       {"share/man/man1/simsgd.1", "share/bash-completion/completions/simsgd",
        "share/zsh/vendor-completions/_simsgd", "share/simsgd/schemas/scenario.schema.json",
        "share/doc/simsgd/reference.md", "share/doc/simsgd/LICENSE", "lib/simsgd/libsimsgd_ceres.so",
        "lib/simsgd/libsimsgd_http.so", "lib/simsgd/libsimsgd_measurements.so",
        "lib/simsgd/libsimsgd_python.so"}) {
    CAPTURE(file);
    CHECK(fs::is_regular_file(unpacked.prefix() / file));
  }
  // What a scenario calls its schema is there after the install too.
  const fs::path devices = unpacked.prefix() / "share/simsgd/scenarios/devices";
  const Json device = Json::parse(contents(devices / "v100.json"), nullptr, true, true);
  CHECK(fs::is_regular_file(devices / device["$schema"].get<std::string>()));
  CHECK(!fs::exists(unpacked.prefix() / "share/simsgd/scenarios/language"));
}

TEST_CASE("the archive runs in a root in which there is nothing else, and what it opens later is there") {
  if (geteuid() != 0 && std::system("unshare -r true 2> /dev/null") != 0) {
    MESSAGE("SKIPPED: a root of one's own needs root, or user namespaces");
    return;
  }
  const Unpacked& unpacked = Unpacked::archive();
  CHECK(unpacked.in_empty_root("list clusters").starts_with("clusters/a100-nvswitch-ib200.json "));
  const Json run = Json::parse(unpacked.in_empty_root(
      "run quickstart.json --point 1 --json --set /stop/steps=2 --set /learner=null --set /target=null"));
  CHECK(run["metrics"]["iteration_time_mean_s"].get<double>() > 0);
  unpacked.write("rings.csv", kRings);
  unpacked.write("spec.json", kRingsSpec);
  CHECK(unpacked.in_empty_root("calibrate /spec.json").find("rings: 6 measurements, 4 fitted") !=
        std::string::npos);
}

}  // namespace simsgd::test::cli_package
