#include "results/atomic_file.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "sim/base/errors.hpp"

namespace simsgd {

AtomicFile::AtomicFile(std::filesystem::path path)
    : path_(std::move(path)),
      temporary_(path_.string() + ".part"),
      file_(std::fopen(temporary_.c_str(), "wb")) {
  if (file_ == nullptr) fail(errno);
}

AtomicFile::~AtomicFile() {
  if (file_ == nullptr) return;
  std::fclose(file_);
  unlink(temporary_.c_str());
}

void AtomicFile::write(const std::string& data) {
  if (std::fwrite(data.data(), 1, data.size(), file_) != data.size()) fail(errno);
}

void AtomicFile::finish() {
  if (std::fflush(file_) != 0) fail(errno);
  // A network file system says only here that its disk is full.
  if (std::fclose(std::exchange(file_, nullptr)) != 0 ||
      std::rename(temporary_.c_str(), path_.c_str()) != 0) {
    const int error = errno;
    unlink(temporary_.c_str());
    fail(error);
  }
}

void AtomicFile::fail(int error) {
  throw RunError(fmt::format("Cannot write {}: {}", path_.string(), std::strerror(error)));
}

void write_file_atomically(const std::filesystem::path& path, const std::string& content) {
  AtomicFile file(path);
  file.write(content);
  file.finish();
}

}  // namespace simsgd
