// Texts made small: by zlib alone, and as what differs from a text that is much like it.
#pragma once

#include <string>

namespace simsgd {

/// Which 32 kB of a text are the dictionary.
enum class Dictionary { begin, end };

/// Compressed with zlib, quickly. `like`: a text that the reader has too, of which it may repeat
/// parts (of its first 32 kB); empty: none.
std::string packed(const std::string& text, const std::string& like = "");

/// Back. Throws RunError where `bytes` are not that.
std::string unpacked(const std::string& bytes, const std::string& like = "",
                     Dictionary dictionary = Dictionary::begin);

}  // namespace simsgd
