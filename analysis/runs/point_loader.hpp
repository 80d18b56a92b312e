// Loads points one after another, and of each only what differs from the one before: a point that differs in
// its seed alone is the same scenario, and the same job, with another seed.
#pragma once

#include <optional>
#include <string>

#include "scenarios/language/study.hpp"

namespace simsgd {

class PointLoader {
 public:
  explicit PointLoader(const Study& study);

  /// As load_point. Stays as it is until the next point is loaded.
  const Scenario& load(const StudyPoint& point);
  /// Whether the point loaded last was the one before but for its seed.
  bool was_only_another_seed() const { return only_seed_; }
  /// Of the point loaded last, as are the following: run_key.
  std::string key() const;
  /// As make_job. Stays as it is until the next point is loaded.
  const Job& job();
  /// As completed(), JSON.
  std::string completed_text();

 private:
  bool differs_in_seed_only(const StudyPoint& point) const;

  const Study& study_;
  bool seed_is_free_;  // nothing else in the file depends on it
  bool only_seed_ = false;
  std::optional<Scenario> loaded_;
  std::vector<Assignment> set_;  // of it, without the seed
  std::optional<Job> job_;       // of it, or of what differs in its seed alone
  Json completed_;               // likewise; null: not made yet
};

}  // namespace simsgd
