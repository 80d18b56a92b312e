// "1 point", "3 points": a count with the word of what is counted.
#pragma once

#include <cstdint>
#include <string>

namespace simsgd {

inline std::string counted(std::uint64_t count, const std::string& what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

}  // namespace simsgd
