// The table of codecs. To add one: write codecs/NAME.cpp with a function `std::vector<CodecPlugin> NAME()` in
// simsgd::codecs, and add one line to the list in ../CMakeLists.txt.
#pragma once

#include <vector>

#include "sim/learn/codec.hpp"
#include "sim/plugin.hpp"

namespace simsgd {

using CodecPlugin = Plugin<MadeCodec>;

const std::vector<CodecPlugin>& codec_plugins();

}  // namespace simsgd
