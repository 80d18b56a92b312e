// The file of the running program: what starts it again, and beside which its libraries and files lie.
#pragma once

#include <sys/auxv.h>

#include <filesystem>
#include <string>
#include <system_error>

namespace simsgd {

/// Executing this starts the program again, also where its file has been replaced since.
inline constexpr const char* kOwnImage = "/proc/self/exe";

/// Its path; empty where nothing tells.
inline std::filesystem::path this_program() {
  std::error_code failed;
  std::filesystem::path program = std::filesystem::read_symlink(kOwnImage, failed);
  // Without /proc: the path that was executed, which a shell has made of a name without a slash.
  if (failed)  // NOLINTNEXTLINE(performance-no-int-to-ptr): the kernel gives addresses as numbers
    program = std::filesystem::absolute(reinterpret_cast<const char*>(getauxval(AT_EXECFN)), failed);
  return failed ? std::filesystem::path() : program;
}

// Libraries of ours that few commands need, opened when one does: what they link in turn would take half of
// every start of the program. Built beside the program; installed in ../lib/simsgd.

/// The function `name` of the library; throws RunError where it cannot be opened.
void* function_of_own_library(const std::string& library, const char* name);

}  // namespace simsgd
