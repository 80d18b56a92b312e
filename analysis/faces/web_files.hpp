// What pages and figures are drawn with: vega, vega-lite and vega-embed, and Node, which npm has put into a
// folder (./setup.sh web). Looked for in $SIMSGD_WEB, beside the build (build/web), and in the install
// (PREFIX/share/simsgd/web).
#pragma once

#include <filesystem>
#include <string>

namespace simsgd::faces {

/// JavaScript of the three, in the order in which they need each other. Throws ConfigError, with the way to
/// get them, where they are missing.
std::string web_libraries();

struct Vl2svg {
  std::filesystem::path node, script;
};
/// Throws ConfigError as above.
Vl2svg find_vl2svg();

}  // namespace simsgd::faces
