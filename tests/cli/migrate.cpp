// simsgd migrate: files in place, exit codes, and nothing written where anything is wrong.
#include <doctest/doctest.h>

#include "tests/cli/scratch.hpp"

namespace simsgd::test::cli_migrate {

namespace {

using cli::contents;
using cli::Outcome;
using cli::Scratch;

constexpr const char* kOld =
    "{\"stop\": {\"steps\": 1},  // short\n \"algorithm\": {\"name\": \"nonblocking\", \"mini_batches\": "
    "4}}\n";
constexpr const char* kNew =
    "{\"stop\": {\"steps\": 1},  // short\n \"algorithm\": {\"name\": \"nonblocking\", \"micro_batches\": "
    "4}}\n";

}  // namespace

TEST_CASE("migrate rewrites files in place, and says what it changed") {
  const Scratch scratch;
  const auto old = scratch.write("old.json", kOld);
  scratch.write("new.json", kNew);
  std::filesystem::permissions(old, std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
  std::filesystem::create_symlink("old.json", scratch.path() / "link.json");
  const Outcome outcome = scratch.simsgd("migrate link.json new.json");
  CHECK(outcome.code == 0);
  CHECK(outcome.err.empty());
  CHECK(outcome.out ==
        "link.json:/algorithm/mini_batches: now \"micro_batches\"\n"
        "link.json: 1 change, written\n"
        "new.json: nothing to change\n");
  CHECK(contents(old) == kNew);
  CHECK(std::filesystem::is_symlink(scratch.path() / "link.json"));
  CHECK(std::filesystem::status(old).permissions() ==
        (std::filesystem::perms::owner_read | std::filesystem::perms::owner_write));
}

TEST_CASE("migrate --check writes nothing, and ends with 1 where there is something to change") {
  const Scratch scratch;
  const auto old = scratch.write("old.json", kOld);
  scratch.write("new.json", kNew);
  const Outcome outcome = scratch.simsgd("migrate --check old.json new.json");
  CHECK(outcome.code == 1);
  CHECK(outcome.out ==
        "old.json:/algorithm/mini_batches: now \"micro_batches\"\n"
        "old.json: 1 change to make\n"
        "new.json: nothing to change\n");
  CHECK(contents(old) == kOld);
  CHECK(scratch.simsgd("migrate --check new.json").code == 0);
}

TEST_CASE("migrate tells all errors of all files, and then writes nothing") {
  const Scratch scratch;
  const auto old = scratch.write("old.json", kOld);
  scratch.write("both.json", R"({"stop": {}, "algorithm": {"mini_batches": 4, "micro_batches": 4}})");
  const Outcome outcome = scratch.simsgd("migrate old.json both.json none.json -");
  CHECK(outcome.code == 2);
  CHECK(outcome.out.empty());
  CHECK(outcome.err ==
        "both.json:/algorithm/mini_batches: is called \"micro_batches\" now, which is there, too. Found: 4. "
        "Keep "
        "one of the two.\n"
        "none.json: cannot be read. Check that it exists and may be read.\n"
        "-: is standard input, which cannot be rewritten. Name a file.\n"
        "3 errors; nothing was run or written.\n");
  CHECK(contents(old) == kOld);
}

}  // namespace simsgd::test::cli_migrate
