// A pipeline-parallel job by other means than the replay: every worker is a program of instructions, which is
// run until it has to wait for somebody. 1F1B; gradients reduced over replicas; the norm over all workers.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace simsgd::test::replay {

struct Instruction {
  std::string kind;
  int replica = 0, stage = 0, micro_batch = -1;
  std::string meeting;  // of those who do it together; empty: alone
  double duration_s = 0, delay_s = 0;
  double launch_s = 0, go_s = 0, end_s = -1;  // -1: not yet
  bool communication() const { return !meeting.empty(); }
};

struct PipelineJob {
  int replicas = 2, stages = 3, micro_batches = 4;
  std::vector<std::vector<Instruction>> programs;  // by worker: stage * replicas + replica

  // Durations and delays by what each instruction is.
  void make(const std::function<double(const Instruction&)>& duration_s,
            const std::function<double(const Instruction&)>& delay_s) {
    programs.clear();
    for (int stage = 0; stage < stages; ++stage)
      for (int replica = 0; replica < replicas; ++replica) {
        std::vector<Instruction> program;
        const auto add = [&](const std::string& kind, int micro_batch, const std::string& meeting) {
          Instruction made{kind, replica, stage, micro_batch, meeting};
          made.duration_s = duration_s(made);
          made.delay_s = delay_s(made);
          program.push_back(made);
        };
        const auto pass = [&](const char* way, int m, int from, int to) {
          const auto link = [&](int a, int b) {
            return fmt::format("{} {} {} {} {}", way, replica, m, a, b);
          };
          if (from >= 0 && from < stages) add(fmt::format("{}-recv", way), m, link(from, stage));
          add(fmt::format("{}-compute", way), m, "");
          if (to >= 0 && to < stages) add(fmt::format("{}-send", way), m, link(stage, to));
        };
        add("params-all-gather", -1, fmt::format("gather {}", stage));
        const int warm_up = std::min(stages - stage - 1, micro_batches);
        for (int m = 0; m < warm_up; ++m) pass("forward", m, stage - 1, stage + 1);
        for (int m = warm_up; m < micro_batches + warm_up; ++m) {
          if (m < micro_batches) pass("forward", m, stage - 1, stage + 1);
          pass("backward", m - warm_up, stage + 1, stage - 1);
        }
        add("grads-reduce-scatter", -1, fmt::format("reduce {}", stage));
        add("optimizer-clip-main-grad", -1, "norm");
        add("optimizer", -1, "");
        programs.push_back(program);
      }
  }

  // Whoever meets waits for the last of them; a lane goes on when its last has ended, and an instruction when
  // what it needs has.
  double run() {
    std::vector<std::size_t> next(programs.size(), 0);
    std::map<std::string, std::vector<Instruction*>> met;
    std::map<std::string, std::size_t> expected;
    for (auto& program : programs)
      for (Instruction& each : program) {
        ++expected[each.meeting];
        each.end_s = -1;
      }
    // Compute, messages and collectives are lanes of their own: a lane goes on when its last has ended, and
    // an instruction when what it needs has.
    double last_s = 0;
    bool moved = true;
    const auto ready_s = [&](std::size_t w, std::size_t i, bool& known) {
      double ready = 0;
      const Instruction& here = programs[w][i];
      for (std::size_t j = 0; j < i; ++j) {
        const Instruction& before = programs[w][j];
        if (!needs(here, before)) continue;
        if (before.end_s < 0) known = false;
        ready = std::max(ready, before.end_s);
      }
      return ready;
    };
    std::vector<std::vector<bool>> done(programs.size());
    for (std::size_t w = 0; w < programs.size(); ++w) done[w].assign(programs[w].size(), false);
    while (moved) {
      moved = false;
      for (std::size_t w = 0; w < programs.size(); ++w)
        for (std::size_t i = 0; i < programs[w].size(); ++i) {
          if (done[w][i]) continue;
          Instruction& here = programs[w][i];
          bool known = true;
          here.launch_s = ready_s(w, i, known) + here.delay_s;
          if (!known) continue;
          done[w][i] = moved = true;
          std::vector<Instruction*>& who =
              met[here.communication() ? here.meeting : fmt::format("{} {}", w, i)];
          who.push_back(&here);
          if (here.communication() && who.size() < expected[here.meeting]) continue;
          double go = 0;
          for (const Instruction* each : who) go = std::max(go, each->launch_s);
          for (Instruction* each : who) {
            each->go_s = go;
            each->end_s = go + each->duration_s;
            last_s = std::max(last_s, each->end_s);
          }
        }
    }
    return last_s;
  }

  static std::string lane(const Instruction& i) {
    if (i.kind.ends_with("send") || i.kind.ends_with("recv")) return i.kind;  // each its own
    return i.communication() ? "dp-comm" : "compute";
  }
  static bool needs(const Instruction& here, const Instruction& before) {
    if (lane(here) == lane(before)) return true;
    const auto is = [](const Instruction& i, const char* end) { return i.kind.ends_with(end); };
    const bool same = here.micro_batch == before.micro_batch && here.kind[0] == before.kind[0];
    if (is(here, "compute") && is(before, "recv")) return same;
    if (is(here, "send") && is(before, "compute")) return same;
    if (is(here, "forward-compute") && is(before, "gather")) return true;
    if (is(here, "scatter") && is(before, "compute")) return true;
    if (is(here, "clip-main-grad") && is(before, "compute")) return true;
    return is(here, "optimizer") && is(before, "clip-main-grad");
  }

  // As a table; `aligned`: communication is recorded from its last starter on.
  std::string rows(int step, double offset_s, bool aligned) const {
    std::string text;
    for (const auto& program : programs)
      for (const Instruction& i : program) {
        const double begin_s = aligned ? i.go_s : i.launch_s;
        text += fmt::format("{},\"PP{}, TP0, {}\",{},{},{},{},{}\n", i.replica, i.stage, lane(i), i.kind,
                            step, i.micro_batch, (offset_s + begin_s) * 1e6, (i.end_s - begin_s) * 1e6);
      }
    return text;
  }
};

inline const char* const kColumns = "pid_dp,thread,op,step,mb_id,ts_us,dur_us\n";

}  // namespace simsgd::test::replay
