#include "results/atomic_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <optional>
#include <random>
#include <utility>

#include "sim/base/errors.hpp"
#include "sim/base/interrupts.hpp"
#include "sim/base/units.hpp"

namespace simsgd {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t kBuffer_bytes = std::size_t{1} << 16;

struct Place {
  fs::path file;                  ///< what a chain of symbolic links ends at, whether it exists or not
  std::optional<int> descriptor;  ///< N where that is /proc/self/fd/N, as for /dev/stdout: open already
};

Place behind_links(fs::path path) {
  std::error_code failed;
  const std::string own = fmt::format("/proc/{}/fd", getpid());
  for (int links = 0; links < 40; ++links) {
    const std::string name = path.filename().string();
    const auto number = number_of_text<int>(name);
    if (number && fs::weakly_canonical(path.parent_path(), failed) == own) return {path, number};
    if (!fs::is_symlink(fs::symlink_status(path, failed))) break;
    const fs::path next = fs::read_symlink(path, failed);
    path = next.is_absolute() ? next : path.parent_path() / next;
  }
  return {path, std::nullopt};
}

mode_t usual_mode() {
  const mode_t mask = umask(0);
  umask(mask);
  return 0666 & ~mask;
}

}  // namespace

AtomicFile::AtomicFile(fs::path path) : path_(std::move(path)) {
  if (!open_in_place()) open_beside();
}

bool AtomicFile::open_in_place() {
  const Place place = behind_links(path_);
  target_ = place.file;
  if (place.descriptor) {
    std::fflush(nullptr);  // what was printed comes first
    descriptor_ = fcntl(*place.descriptor, F_DUPFD_CLOEXEC, 0);
    if (descriptor_ < 0) fail(errno);
    return true;
  }
  struct stat status = {};
  if (stat(path_.c_str(), &status) != 0 || S_ISREG(status.st_mode)) return false;
  Waiting waiting(fmt::format("Waiting for a program that reads {}", path_.string()));
  for (;;) {
    // A FIFO without a reader says so instead of waiting.
    descriptor_ =
        open(path_.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY | (S_ISFIFO(status.st_mode) ? O_NONBLOCK : 0));
    if (descriptor_ >= 0 || errno != ENXIO || !S_ISFIFO(status.st_mode)) break;
    waiting.pause();
  }
  if (descriptor_ < 0) fail(errno);
  if (S_ISFIFO(status.st_mode)) fcntl(descriptor_, F_SETFL, O_WRONLY);
  return true;
}

void AtomicFile::open_beside() {
  struct stat status = {};
  const bool exists = stat(target_.c_str(), &status) == 0;
  std::random_device random;
  for (int tries = 0; tries < 100 && descriptor_ < 0; ++tries) {
    // Shortened where the file's own name is nearly as long as a name may be (255 bytes).
    temporary_ = target_.parent_path() /
                 fmt::format(".{}.{:08x}.part", target_.filename().string().substr(0, 200), random());
    descriptor_ = open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (descriptor_ < 0 && errno != EEXIST) break;
  }
  if (descriptor_ < 0) {
    temporary_.clear();
    fail(errno);
  }
  (void)!fchmod(descriptor_, exists ? status.st_mode & 07777 : usual_mode());
}

AtomicFile::~AtomicFile() {
  if (descriptor_ < 0) return;
  close(descriptor_);
  if (!temporary_.empty()) unlink(temporary_.c_str());
}

void AtomicFile::write(const std::string& data) {
  buffer_ += data;
  if (buffer_.size() >= kBuffer_bytes) flush();
}

void AtomicFile::flush() {
  for (std::size_t done = 0; done < buffer_.size();) {
    const ssize_t written = ::write(descriptor_, buffer_.data() + done, buffer_.size() - done);
    if (written > 0) done += static_cast<std::size_t>(written);
    if (written < 0 && errno != EINTR) fail(errno);
    if (written < 0 && interrupted()) throw Interrupted();
  }
  buffer_.clear();
}

void AtomicFile::finish() {
  flush();
  // A network file system says only at fsync or close that its disk is full; some file systems know no fsync.
  if (!temporary_.empty() && fsync(descriptor_) != 0 && errno != EINVAL && errno != ENOTSUP) fail(errno);
  if (close(std::exchange(descriptor_, -1)) != 0) fail(errno);
  if (!temporary_.empty() && std::rename(temporary_.c_str(), target_.c_str()) != 0) fail(errno);
}

void AtomicFile::fail(int error) {
  if (descriptor_ >= 0) close(std::exchange(descriptor_, -1));
  if (!temporary_.empty()) unlink(temporary_.c_str());
  throw RunError(fmt::format("Cannot write {}: {}", path_.string(), std::strerror(error)));
}

void write_file_atomically(const fs::path& path, const std::string& content) {
  AtomicFile file(path);
  file.write(content);
  file.finish();
}

void make_folder(const fs::path& folder) {
  std::error_code failure;
  fs::create_directories(folder, failure);
  if (failure) throw RunError(fmt::format("Cannot make {}: {}", folder.string(), failure.message()));
}

}  // namespace simsgd
