#include "analysis/runs/child_pool.hpp"

#include <doctest/doctest.h>
#include <unistd.h>

#include <csignal>
#include <new>
#include <stdexcept>
#include <vector>

#include "sim/engine/simulate.hpp"

namespace simsgd::test::analysis_child_pool {

namespace {

ChildEnd end_of(const std::function<std::string()>& work, std::optional<double> timeout_s = {}) {
  ChildEnd only;
  run_in_children(
      1, {.jobs = 1, .timeout_s = timeout_s, .interrupted = {}, .tick = {}},
      [&](std::size_t) { return work(); }, [&](std::size_t, const ChildEnd& end) { only = end; });
  return only;
}

}  // namespace

TEST_CASE("answers of any length come back whole") {
  const std::string long_answer(3000000, 'x');
  std::vector<std::string> answers(4);
  run_in_children(
      4, {.jobs = 2, .timeout_s = {}, .interrupted = {}, .tick = {}},
      [&](std::size_t i) { return std::to_string(i) + long_answer; },
      [&](std::size_t i, const ChildEnd& end) { answers[i] = end.text; });
  for (std::size_t i = 0; i < answers.size(); ++i) CHECK(answers[i] == std::to_string(i) + long_answer);
}

TEST_CASE("a child's exception comes back as its sentence") {
  const ChildEnd end = end_of([]() -> std::string { throw std::runtime_error("Deadlock."); });
  CHECK(end.kind == ChildEnd::Kind::threw);
  CHECK(end.text == "Deadlock.");
  const ChildEnd memory = end_of([]() -> std::string { throw std::bad_alloc(); });
  CHECK(memory.text ==
        "Out of memory. Use fewer workers, a smaller model, fewer --jobs, or a larger machine.");
}

TEST_CASE("a child that dies is told by how it died") {
  const ChildEnd killed = end_of([]() -> std::string {
    std::raise(SIGKILL);
    return "";
  });
  CHECK(killed.kind == ChildEnd::Kind::died);
  CHECK(killed.text == "was ended by signal 9 (Killed), which is what the system does when memory runs out");
  CHECK(end_of([]() -> std::string { _exit(7); }).text == "ended with exit code 7 and without a result");
}

TEST_CASE("a child that takes longer than the timeout is ended") {
  const ChildEnd end = end_of(
      []() -> std::string {
        for (;;) pause();
      },
      0.05);
  CHECK(end.kind == ChildEnd::Kind::timed_out);
  CHECK(end.text == "took longer than 0.05 s");
}

TEST_CASE("an interruption ends children that would run for ever") {
  CHECK_THROWS_AS(run_in_children(
                      3, {.jobs = 2, .timeout_s = {}, .interrupted = [] { return true; }, .tick = {}},
                      [](std::size_t) -> std::string {
                        for (;;) pause();
                      },
                      [](std::size_t, const ChildEnd&) {}),
                  Interrupted);
}

TEST_CASE("of many short tasks in lasting children each ends once, also beside one that dies") {
  constexpr std::size_t kTasks = 300, kDies = 150;
  std::size_t begun = 0;
  std::vector<int> ends(kTasks, 0);
  const auto next = [&]() -> NextTask {
    return begun < kTasks ? NextTask{NextTask::Kind::task, begun++} : NextTask{NextTask::Kind::none, 0};
  };
  const auto work = [](std::size_t task) {
    if (task == kDies) raise(SIGKILL);
    return std::to_string(task);
  };
  const auto ended = [&](std::size_t task, const ChildEnd& end) {
    ++ends[task];
    CHECK((end.kind == ChildEnd::Kind::answered) == (task != kDies));
    if (task != kDies) CHECK(end.text == std::to_string(task));
  };
  run_in_children({.jobs = 4, .timeout_s = {}, .interrupted = {}, .tick = {}},
                  {.next = next, .work = work, .ended = ended, .lasting = true});
  CHECK(ends == std::vector<int>(kTasks, 1));
}

TEST_CASE("tasks may come up while others run, and a file wakes the pool") {
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  std::vector<std::size_t> waiting = {0}, ended;
  int stage = 0;
  const auto next = [&]() -> NextTask {
    if (waiting.empty()) return {NextTask::Kind::later, 0};
    const std::size_t task = waiting.back();
    waiting.pop_back();
    return {NextTask::Kind::task, task};
  };
  // Once the first has ended a message comes, and with it two more.
  const auto tick = [&] {
    char byte = 0;
    if (stage == 0 && ended.size() == 1) {
      CHECK(write(ends[1], "x", 1) == 1);
      stage = 1;
    } else if (stage == 1) {
      CHECK(read(ends[0], &byte, 1) == 1);
      waiting = {2, 1};
      stage = 2;
    }
  };
  const auto all_ended = [&] { return ended.size() == 3; };
  const auto take = [&](std::size_t task, const ChildEnd& end) {
    CHECK(end.text == std::to_string(10 * task));
    ended.push_back(task);
  };
  const ChildTasks tasks = {.next = next,
                            .work = [](std::size_t task) { return std::to_string(10 * task); },
                            .ended = take,
                            .wakes = ends[0]};
  CHECK_THROWS_AS(
      run_in_children({.jobs = 2, .timeout_s = {}, .interrupted = all_ended, .tick = tick}, tasks),
      Interrupted);
  CHECK(ended.front() == 0);
  close(ends[0]);
  close(ends[1]);
}

}  // namespace simsgd::test::analysis_child_pool
