// Who runs what, where several processes sweep into one store at once: each claims a run before it begins it.
// What a process that is gone had claimed is free again.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "analysis/runs/database.hpp"

namespace simsgd {

enum class Turn {
  mine,   ///< run it
  ended,  ///< another process ran it meanwhile: its row is in the store
  busy    ///< another process is running it
};

class Turns {
 public:
  /// Registers this process, and forgets those that are gone.
  explicit Turns(const Database& database);
  ~Turns();
  Turns(const Turns&) = delete;
  Turns& operator=(const Turns&) = delete;

  /// `force`: also a run that has a result, once. `whole`: a result counts only with its document.
  Turn ask(const std::string& key, bool force, bool whole);
  /// To be called now and then: says that this process lives.
  void beat();

 private:
  bool lives(std::int64_t process) const;
  void forget(std::int64_t process) const;

  const Database& database_;
  std::int64_t me_ = 0;
  Statement claimed_, done_, take_;
  std::chrono::steady_clock::time_point last_beat_;
};

}  // namespace simsgd
