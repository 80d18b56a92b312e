#include "sim/base/this_program.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include "sim/base/errors.hpp"

namespace simsgd {

void* function_of_own_library(const std::string& library, const char* name) {
  const std::filesystem::path here = this_program().parent_path(), above = here.parent_path();
  for (const std::filesystem::path& place : {here, above / "lib/simsgd", above}) {
    std::error_code failed;
    if (!std::filesystem::exists(place / library, failed)) continue;
    void* const opened = dlopen((place / library).c_str(), RTLD_NOW | RTLD_LOCAL);
    void* const found = opened != nullptr ? dlsym(opened, name) : nullptr;
    if (found == nullptr) throw RunError(fmt::format("{} cannot be opened: {}", library, dlerror()));
    return found;
  }
  throw RunError(fmt::format(
      "{} is neither beside the program nor in ../lib/simsgd. In a clone ./setup.sh build makes it; else install SimSGD anew.",
      library));
}

}  // namespace simsgd
