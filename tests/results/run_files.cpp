#include <doctest/doctest.h>

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <nlohmann/json.hpp>

#include <csignal>
#include <fstream>
#include <iterator>
#include <thread>

#include "results/atomic_file.hpp"
#include "results/curves.hpp"
#include "sim/base/errors.hpp"
#include "sim/recording/learning_curve.hpp"
#include "tests/scenarios/support.hpp"
#include "tests/support/in_child.hpp"
#include "tests/support/jobs.hpp"

namespace simsgd::test::results_run_files {

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

TEST_CASE("a series has a member for each column, and null where it has no value") {
  RunRecord record;
  record.series = {{1, 0.5, 2.25}, {2, 1, std::nan("")}};
  record.evaluations = {{2, 1, 1.5, std::nan(""), 0, {2, 2}}};
  CHECK(series_of(record).dump() ==
        R"({"train":[{"step":1,"time_s":0.5,"train_loss":2.25},{"step":2,"time_s":1.0,"train_loss":null}],)"
        R"("test":[{"step":2,"time_s":1.0,"test_loss":1.5,"test_accuracy":null,"consensus_distance":0.0,)"
        R"("worker_steps":[2,2]}]})");
}

TEST_CASE("a curve in a file has a header, empty cells for what has no value, and no list") {
  RunRecord record;
  record.series = {{1, 0.5, 2.25}, {2, 1, std::nan("")}};
  record.evaluations = {{2, 1, 1.5, std::nan(""), 0, {2, 2}}};
  const OrderedJson series = series_of(record);
  REQUIRE(curves().size() == 2);
  CHECK(curves()[0].file == "loss.csv");
  CHECK(curve_csv(curves()[0], series["train"]) == "step,time_s,train_loss\n1,0.5,2.25\n2,1.0,\n");
  CHECK(curves()[1].file == "accuracy.csv");
  CHECK(curve_csv(curves()[1], series["test"]) ==
        "step,time_s,test_loss,test_accuracy,consensus_distance\n2,1.0,1.5,,0.0\n");
}

TEST_CASE("every column has a unit and a definition, and only what can be empty says when") {
  for (const Curve& curve : curves()) {
    for (const CurveColumn& column : curve.columns) {
      CAPTURE(column.name);
      CHECK(!column.unit.empty());
      CHECK(!column.definition.empty());
      const bool is_loss = column.name.ends_with("loss") || column.name.ends_with("accuracy");
      CHECK(column.when_empty.empty() != is_loss);
    }
  }
}

TEST_CASE("models of equal values are evaluated as the one tensor that they might be") {
  // 0.1 + 0.1 + 0.1 in fp32, times a third, is not 0.1: the mean of equal models is not exact.
  Job job = scripted_job(star(3, 0, 1e9), [](Worker&) {});
  add_learner(job, 4, 64);
  TensorData model;
  model.values.assign(job.learner->parameters(), 0.1F);
  const auto evaluation = [&](bool one_tensor) {
    Executor executor(1);
    LearningCurve curve(job, executor);
    const Tensor shared = executor.constant(model);
    std::vector<ModelAtInstant> workers;
    for (int rank = 0; rank < 3; ++rank)
      workers.push_back({1, one_tensor ? shared : executor.constant(model)});
    curve.evaluate(1.0, workers);
    RunRecord record;
    curve.finish(1.0, LearningCurve::End::instant, record);
    return record.evaluations.at(0);
  };
  CHECK(evaluation(true).consensus_distance == 0);
  CHECK(evaluation(false).consensus_distance == 0);
  CHECK(evaluation(false).test_loss == evaluation(true).test_loss);
}

}  // namespace simsgd::test::results_run_files
