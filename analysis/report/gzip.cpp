#include <zlib.h>

#include "analysis/report/page.hpp"
#include "sim/base/check.hpp"

namespace simsgd::report {

std::string gzip(const std::string& data) {
  z_stream stream = {};
  constexpr int kGzipWindow = 15 + 16, kMemory = 8;
  int state = deflateInit2(&stream, Z_BEST_COMPRESSION, Z_DEFLATED, kGzipWindow, kMemory, Z_DEFAULT_STRATEGY);
  CHECK(state == Z_OK, "zlib has no memory");
  std::string packed(deflateBound(&stream, data.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(data.data()));
  stream.avail_in = static_cast<uInt>(data.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  state = deflate(&stream, Z_FINISH);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  CHECK(state == Z_STREAM_END, "a page's data fit into zlib's own bound");
  return packed;
}

std::string base64(const std::string& data) {
  static const char* const kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  text.reserve(data.size() / 3 * 4 + 4);
  for (std::size_t i = 0; i < data.size(); i += 3) {
    const auto byte = [&](std::size_t k) {
      return k < data.size() ? static_cast<std::uint32_t>(static_cast<unsigned char>(data[k])) : 0U;
    };
    const std::uint32_t bits = byte(i) << 16 | byte(i + 1) << 8 | byte(i + 2);
    text += kDigits[bits >> 18 & 63];
    text += kDigits[bits >> 12 & 63];
    text += i + 1 < data.size() ? kDigits[bits >> 6 & 63] : '=';
    text += i + 2 < data.size() ? kDigits[bits & 63] : '=';
  }
  return text;
}

}  // namespace simsgd::report
