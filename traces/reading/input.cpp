#include "traces/reading/input.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "sim/base/errors.hpp"
#include "sim/base/interrupts.hpp"

namespace simsgd {

namespace {

constexpr std::size_t kChunk_bytes = std::size_t{1} << 20;
constexpr std::size_t kHead_bytes = std::size_t{1} << 16;

}  // namespace

// zlib gives what is not compressed as it is.
struct Input::Source {
  gzFile file = nullptr;
  ~Source() {
    if (file != nullptr) gzclose(file);
  }
};

Input::Input(const std::string& path)
    : name_(path == "-" ? "<stdin>" : path), source_(std::make_unique<Source>()) {
  const EndsAtInterrupts guard(name_);  // a FIFO without a writer does not open
  const int descriptor = path == "-" ? dup(STDIN_FILENO) : open(path.c_str(), O_RDONLY | O_CLOEXEC);
  struct stat status = {};
  if (descriptor < 0 || fstat(descriptor, &status) != 0) {
    const std::string why = std::strerror(errno);
    if (descriptor >= 0) close(descriptor);
    throw ConfigError(
        {name_, "", "cannot be read (" + why + ")", "", "Check that it exists and may be read"});
  }
  if (S_ISDIR(status.st_mode)) {
    close(descriptor);
    throw ConfigError({name_, "", "is a directory", "", "Name the files in it"});
  }
  source_->file = gzdopen(descriptor, "rb");
  if (source_->file == nullptr) {
    close(descriptor);
    throw ConfigError({name_, "", "cannot be read", "", "Try again with more memory"});
  }
  gzbuffer(source_->file, kChunk_bytes / 4);
  if (!S_ISREG(status.st_mode) || gzdirect(source_->file) == 0) return;
  size_ = static_cast<std::size_t>(status.st_size);
  if (path != "-") plain_path_ = path;
}

Input::Input(std::string name, std::string text)
    : name_(std::move(name)), buffer_(text.begin(), text.end()), end_(buffer_.size()), at_end_(true) {}

Input::~Input() = default;

bool Input::fill() {
  if (at_end_) return false;
  if (begin_ > 0) {
    std::copy(buffer_.begin() + static_cast<std::ptrdiff_t>(begin_),
              buffer_.begin() + static_cast<std::ptrdiff_t>(end_), buffer_.begin());
    end_ -= begin_;
    begin_ = 0;
  }
  if (buffer_.size() - end_ < kChunk_bytes) buffer_.resize(std::max(2 * buffer_.size(), end_ + kChunk_bytes));
  const EndsAtInterrupts guard(name_);
  const int got = gzread(source_->file, buffer_.data() + end_, static_cast<unsigned>(kChunk_bytes));
  int code = Z_OK;
  const std::string why = gzerror(source_->file, &code);
  if (got > 0) {
    end_ += static_cast<std::size_t>(got);
    filled_ += static_cast<std::size_t>(got);
    return true;
  }
  at_end_ = true;
  cut_ = code == Z_BUF_ERROR;
  if (code != Z_OK && !cut_)
    throw ConfigError({name_, "",
                       code == Z_DATA_ERROR ? "is a damaged gzip file" : "cannot be read (" + why + ")", "",
                       code == Z_DATA_ERROR ? "Copy it again: gzip -t says whether it is whole"
                                            : "Check that it may be read"});
  return false;
}

std::string_view Input::head() {
  while (end_ - begin_ < kHead_bytes && fill()) {
  }
  return {buffer_.data() + begin_, std::min(end_ - begin_, kHead_bytes)};
}

double Input::fraction_read() const {
  if (size_ == 0) return 0;
  return static_cast<double>(filled_ - (end_ - begin_)) / static_cast<double>(size_);
}

bool Input::line(std::string_view& text) {
  const char* found = nullptr;
  for (std::size_t searched = 0;;) {
    const char* from = buffer_.data() + begin_;
    const std::size_t length = end_ - begin_;
    if (length > searched)
      found = static_cast<const char*>(std::memchr(from + searched, '\n', length - searched));
    if (found != nullptr) break;
    searched = length;
    if (searched > kLongestLine_bytes)
      throw ConfigError(
          {name_, "",
           fmt::format("has a line {} of more than {} MiB", line_number_ + 1, kLongestLine_bytes >> 20), "",
           "Name a text file of measurements"});
    if (!fill()) break;
  }
  const char* from = buffer_.data() + begin_;
  line_ended_ = found != nullptr;
  if (!line_ended_ && begin_ == end_) return false;
  text = {from, line_ended_ ? static_cast<std::size_t>(found - from) : end_ - begin_};
  begin_ += text.size() + (line_ended_ ? 1 : 0);
  if (text.ends_with('\r')) text.remove_suffix(1);
  ++line_number_;
  return true;
}

bool Input::piece(std::string_view& text) {
  if (begin_ == end_ && !fill()) return false;
  text = {buffer_.data() + begin_, end_ - begin_};
  begin_ = end_;
  return true;
}

std::string Input::rest() {
  while (fill())
    if (end_ - begin_ > kLargestDocument_bytes)
      throw ConfigError({name_, "", fmt::format("is larger than {} MiB", kLargestDocument_bytes >> 20), "",
                         "Split it into several files, or write one JSON document per line"});
  std::string all(buffer_.data() + begin_, end_ - begin_);
  begin_ = end_;
  return all;
}

}  // namespace simsgd
