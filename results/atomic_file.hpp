// The file that a command writes. A regular file appears under its name whole or not at all: it is written
// beside it under a name of this writer's own, put on the disk and renamed, so that two writers never mix and
// whatever stops the writing (a full disk, a limit, an exception) leaves what was there. A link stays a link,
// and its target is what is replaced. A device, a pipe or a socket (/dev/null, /dev/stdout, a FIFO) is
// written into.
#pragma once

#include <filesystem>
#include <string>

namespace simsgd {

class AtomicFile {
 public:
  /// Throws RunError where it cannot be made; Interrupted while a FIFO has no reader.
  explicit AtomicFile(std::filesystem::path path);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  /// Throws RunError.
  void write(const std::string& data);
  /// Gives the file its name. Throws RunError.
  void finish();

 private:
  bool open_in_place();
  void open_beside();
  void flush();
  [[noreturn]] void fail(int error);

  std::filesystem::path path_, target_, temporary_;  // temporary_: empty where it is written in place
  std::string buffer_;
  int descriptor_ = -1;
};

/// Writes `content` to such a file. Throws RunError, Interrupted.
void write_file_atomically(const std::filesystem::path& path, const std::string& content);

/// A folder and those above it, where they are not there. Throws RunError.
void make_folder(const std::filesystem::path& folder);

}  // namespace simsgd
