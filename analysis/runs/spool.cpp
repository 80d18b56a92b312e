#include "analysis/runs/spool.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <string_view>
#include <variant>

#include "sim/base/errors.hpp"

namespace simsgd {

namespace fs = std::filesystem;

namespace {

// Whether nobody appends to the file; it stays locked until the descriptor is closed.
class IdleFile {
 public:
  explicit IdleFile(const fs::path& file)
      : descriptor_(open(file.c_str(), O_RDWR | O_CLOEXEC)),
        idle_(descriptor_ >= 0 && locks(descriptor_, LOCK_EX, file)) {}
  ~IdleFile() {
    if (descriptor_ >= 0) close(descriptor_);
  }
  IdleFile(const IdleFile&) = delete;
  IdleFile& operator=(const IdleFile&) = delete;
  explicit operator bool() const { return idle_; }

 private:
  int descriptor_;
  bool idle_;
};

constexpr std::string_view kRun = "{\"run\":";

}  // namespace

RunRow run_of_line(const std::string& line) {
  return run_from_text(line.substr(kRun.size(), line.size() - kRun.size() - 1));
}

bool locks(int descriptor, int operation, const fs::path& file) {
  if (flock(descriptor, operation | LOCK_NB) == 0) return true;
  if (errno == EWOULDBLOCK || errno == EINTR) return false;
  throw unlockable(file, errno);
}

std::vector<fs::path> spool_files(const fs::path& database) {
  std::vector<fs::path> files;
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(spool_directory(database), none))
    if (entry.path().extension() == ".jsonl") files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

fs::path spool_directory(const fs::path& database) { return database.string() + ".spool"; }

std::uint64_t read_spool(const fs::path& file, const SpoolLines& lines) {
  std::ifstream stream(file, std::ios::binary);
  std::uint64_t whole = 0;
  for (std::string line; std::getline(stream, line) && !stream.eof(); whole += line.size() + 1) {
    if (!OrderedJson::accept(line)) continue;
    std::variant<RunRow, ResultStudy> row;
    try {
      if (line.starts_with(kRun))
        row = run_of_line(line);
      else
        row = study_from_json(OrderedJson::parse(line).at("sweep"));
    } catch (const std::exception& error) {
      throw RunError(fmt::format("{}: the line at byte {} is not of this version of simsgd ({})",
                                 file.string(), whole, error.what()));
    }
    if (RunRow* run = std::get_if<RunRow>(&row); run != nullptr && lines.run)
      lines.run(std::move(*run), whole);
    else if (run == nullptr && lines.sweep)
      lines.sweep(std::move(std::get<ResultStudy>(row)));
  }
  return whole;
}

void merge_spool(const fs::path& database, ResultStore& store) {
  for (const fs::path& file : spool_files(database)) {
    const IdleFile idle(file);
    read_spool(file, {[&store](const RunRow& run, std::uint64_t) { store.put(run); },
                      [&store](const ResultStudy& sweep) { store.put(sweep); }});
    std::error_code none;
    if (idle) fs::remove(file, none);
  }
  std::error_code not_empty;
  fs::remove(spool_directory(database), not_empty);
}

// Whoever merges may have removed the file between our opening and our locking it: then there is a new one to
// make.
void SpoolWriter::acquire() {
  struct stat ours = {}, named = {};
  do {
    if (descriptor_ >= 0) close(descriptor_);
    descriptor_ = open(file_.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    if (descriptor_ < 0) return;
    // Who looks whether it is being written (`sweep status`) holds it for an instant.
    bool taken = locks(descriptor_, LOCK_EX, file_);
    for (int tries = 0; !taken && tries < 20; ++tries) {
      usleep(20'000);
      taken = locks(descriptor_, LOCK_EX, file_);
    }
    if (!taken) {
      close(descriptor_);
      throw RunError(
          fmt::format("{} is being written by another process: the same shard runs twice, or is being merged",
                      file_.string()));
    }
  } while (fstat(descriptor_, &ours) != 0 || stat(file_.c_str(), &named) != 0 || ours.st_ino != named.st_ino);
}

SpoolWriter::SpoolWriter(const fs::path& file) : file_(file) {
  std::error_code failure;
  fs::create_directories(file.parent_path(), failure);
  if (!failure) acquire();
  if (descriptor_ < 0)
    throw ConfigError({file.string(), "", "cannot be written", "",
                       fmt::format("Choose another place for -o ({})",
                                   failure ? failure.message() : std::strerror(errno))});
  size_ = read_spool(file, {});
  if (ftruncate(descriptor_, static_cast<off_t>(size_)) != 0)
    throw RunError(fmt::format("Cannot write {}: {}", file.string(), std::strerror(errno)));
}

SpoolWriter::~SpoolWriter() { close(descriptor_); }

std::uint64_t SpoolWriter::append(const RunRow& run) {
  return append_line(std::string(kRun) + to_text(run) + "}\n");
}

void SpoolWriter::append(const ResultStudy& sweep) {
  append_line(OrderedJson{{"sweep", to_json(sweep)}}.dump() + "\n");
}

std::uint64_t SpoolWriter::append_line(const std::string& line) {
  const std::uint64_t begin = size_;
  for (std::size_t done = 0; done < line.size();) {
    const ssize_t written = write(descriptor_, line.data() + done, line.size() - done);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) throw RunError(fmt::format("Cannot write {}: {}", file_.string(), std::strerror(errno)));
    done += static_cast<std::size_t>(written);
  }
  if (fdatasync(descriptor_) != 0)
    throw RunError(fmt::format("Cannot write {}: {}", file_.string(), std::strerror(errno)));
  size_ += line.size();
  return begin;
}

}  // namespace simsgd
