#include "sim/learn/data/file.hpp"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>

#include "sim/base/errors.hpp"
#include "sim/base/units.hpp"

namespace simsgd {

void reject_file(const FileSource& source, const std::string& problem) {
  reject(source.key, "the file " + source.path.string() + " " + problem, source.remedy);
}

struct DataFile::Handle {
  gzFile file = nullptr;
  ~Handle() {
    if (file != nullptr) gzclose_r(file);
  }
};

DataFile::DataFile(FileSource source) : source_(std::move(source)), handle_(std::make_unique<Handle>()) {
  std::error_code error;
  if (!std::filesystem::exists(source_.path, error)) fail("does not exist");
  if (!std::filesystem::is_regular_file(source_.path, error)) fail("is not a regular file");
  errno = 0;
  handle_->file = gzopen(source_.path.c_str(), "rb");
  if (handle_->file == nullptr) fail(std::string("cannot be opened: ") + std::strerror(errno));
  gzbuffer(handle_->file, 1u << 17);
}

DataFile::~DataFile() = default;

std::size_t DataFile::read(std::span<std::uint8_t> to) {
  constexpr std::size_t kMost = 1u << 30;  // gzread takes no more than an int can hold
  std::size_t done = 0;
  while (done < to.size()) {
    const auto asked = static_cast<unsigned>(std::min(kMost, to.size() - done));
    const int got = gzread(handle_->file, to.data() + done, asked);
    if (got < 0) {
      int code = Z_OK;
      std::string why = gzerror(handle_->file, &code);  // "path: reason"
      why.erase(0, why.rfind(": ") == std::string::npos ? 0 : why.rfind(": ") + 2);
      if (code != Z_BUF_ERROR)
        fail("is damaged: " + (code == Z_ERRNO ? std::string(std::strerror(errno)) : why));
      break;  // a compressed file that ends too early
    }
    if (got == 0) break;
    done += static_cast<std::size_t>(got);
  }
  position_ += done;
  return done;
}

std::vector<std::uint8_t> read_whole(const FileSource& source) {
  constexpr std::size_t kMostBytes = std::numeric_limits<std::int32_t>::max();
  DataFile file(source);
  std::vector<std::uint8_t> all;
  constexpr std::size_t kBlock = 1u << 20;
  for (;;) {
    const std::size_t before = all.size();
    all.resize(before + kBlock);
    const std::size_t got = file.read(std::span(all).subspan(before));
    all.resize(before + got);
    if (all.size() > kMostBytes) file.fail("has more than 2^31 - 1 bytes");
    if (got < kBlock) break;
  }
  if (all.empty()) file.fail("is empty");
  return all;
}

std::int64_t samples_to_use(const std::string& key, std::optional<std::int64_t> asked, std::int64_t available,
                            const std::filesystem::path& path) {
  if (asked.value_or(0) > available)
    reject(key,
           fmt::format("asks for {} samples, more than the {} in {}", with_commas(*asked),
                       with_commas(available), path.string()),
           "Ask for fewer, or leave it out to use all");
  return asked.value_or(available);
}

std::string with_commas(std::int64_t value) {
  return value < 1000 ? std::to_string(value) : human_number(static_cast<double>(value));
}

}  // namespace simsgd
