#include "sim/engine/simgrid_time.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include "sim/base/errors.hpp"

namespace simsgd {

MakeTimeKeeper simgrid_time(const std::string& library) {
  void* const opened = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  void* const made = opened != nullptr ? dlsym(opened, "simsgd_simgrid_time") : nullptr;
  if (made == nullptr)
    throw ConfigError(
        {"--simgrid", "", fmt::format("SimGrid cannot be opened: {}", dlerror()), "",
         "Packages do not include it. Build it from the sources: cmake --build --preset release --target simsgd_simgrid"});
  return reinterpret_cast<MakeTimeKeeper (*)()>(made)();
}

}  // namespace simsgd
