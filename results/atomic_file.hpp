// A file that appears under its name whole or not at all: it is written beside it as NAME.part, and renamed
// when everything is on the disk. Whatever stops the writing (a full disk, a limit, an exception) leaves
// neither.
#pragma once

#include <cstdio>
#include <filesystem>
#include <string>

namespace simsgd {

class AtomicFile {
 public:
  /// Throws RunError where it cannot be made.
  explicit AtomicFile(std::filesystem::path path);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  /// Throws RunError.
  void write(const std::string& data);
  /// Gives the file its name. Throws RunError.
  void finish();

 private:
  [[noreturn]] void fail(int error);

  std::filesystem::path path_, temporary_;
  std::FILE* file_;
};

/// Writes `content` to such a file. Throws RunError.
void write_file_atomically(const std::filesystem::path& path, const std::string& content);

}  // namespace simsgd
