#include "sim/collectives/schedule.hpp"

#include <bit>

#include "sim/base/check.hpp"

namespace simsgd {

Stage make_stage(std::vector<std::int32_t> to, double bytes, double reduce_bytes, int repeat,
                 Carried carries) {
  Stage stage;
  stage.from.assign(to.size(), -1);
  for (std::size_t i = 0; i < to.size(); ++i) {
    if (to[i] < 0) continue;
    std::int32_t& sender = stage.from[static_cast<std::size_t>(to[i])];
    CHECK(sender < 0 && to[i] != static_cast<std::int32_t>(i),
          "a stage gives a rank two messages, or one to itself");
    sender = static_cast<std::int32_t>(i);
  }
  stage.to = std::move(to);
  stage.bytes = bytes;
  stage.reduce_bytes = reduce_bytes;
  stage.repeat = repeat;
  stage.carries = std::move(carries);
  return stage;
}

Carried all_of(bool adds, int blocks) {
  return {adds, [blocks](std::int32_t, std::int32_t) { return BlockRange{0, blocks}; }};
}

std::int64_t Schedule::messages() const {
  std::int64_t count = 0;
  for (const Stage& stage : stages) {
    std::int64_t in_stage = 0;
    for (const std::int32_t receiver : stage.to) in_stage += receiver >= 0 ? 1 : 0;
    count += in_stage * stage.repeat;
  }
  return count;
}

Schedule scaled(Schedule schedule, double factor) {
  for (Stage& stage : schedule.stages)
    for (double* bytes : {&stage.bytes, &stage.reduce_bytes, &stage.beside_bytes}) *bytes *= factor;
  for (double& bytes : schedule.sent_bytes) bytes *= factor;
  return schedule;
}

int power_of_two_below(int n) { return static_cast<int>(std::bit_floor(static_cast<unsigned>(n))); }

int ceil_log2(int n) { return n <= 1 ? 0 : static_cast<int>(std::bit_width(static_cast<unsigned>(n - 1))); }

}  // namespace simsgd
