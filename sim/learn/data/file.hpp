// Reading a data file, plain or compressed with gzip (zlib tells them apart by their first bytes). Every
// failure is a ParameterError under the key of the parameter that led to the file, and names the file and the
// remedy.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>

namespace simsgd {

struct FileSource {
  std::filesystem::path path;
  std::string key;     ///< the parameter that named it, without "/"
  std::string remedy;  ///< what to do if it cannot be used, such as "Install the Debian package x"
};

/// Throws "the file X <problem>".
[[noreturn]] void reject_file(const FileSource& source, const std::string& problem);

class DataFile {
 public:
  explicit DataFile(FileSource source);
  ~DataFile();
  DataFile(const DataFile&) = delete;
  DataFile& operator=(const DataFile&) = delete;

  /// Fills `to` as far as the file reaches; the number of bytes read. Bytes count uncompressed.
  std::size_t read(std::span<std::uint8_t> to);
  /// Bytes read so far.
  std::size_t position() const { return position_; }
  [[noreturn]] void fail(const std::string& problem) const { reject_file(source_, problem); }

 private:
  FileSource source_;
  struct Handle;
  std::unique_ptr<Handle> handle_;
  std::size_t position_ = 0;
};

}  // namespace simsgd
