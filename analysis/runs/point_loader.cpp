#include "analysis/runs/point_loader.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "analysis/runs/run_key.hpp"
#include "scenarios/language/loading.hpp"

namespace simsgd {

namespace {

constexpr const char* kSeed = "/seed";
constexpr std::int64_t kGreatestSeed = std::int64_t{1} << 53;  // of the schema

// The seed of a point that sets it, last, to one that its schema accepts.
const Assignment* seed_of(const StudyPoint& point) {
  if (point.coordinates.empty() || point.coordinates.back().pointer != kSeed) return nullptr;
  const Assignment& seed = point.coordinates.back();
  if (!seed.value.is_number_integer()) return nullptr;
  const auto value = seed.value.get<std::int64_t>();
  return value >= 0 && value <= kGreatestSeed ? &seed : nullptr;
}

// Which expected values hold may depend on the seed; a file that uses another may get such from there.
bool is_seed_free(const Study& study) {
  const Json& file = study.files->read(study.file == shown_name("-") ? "-" : study.file);
  if (!file.is_object() || file.contains("expected") || file.contains("use")) return false;
  return std::none_of(study.overrides.begin(), study.overrides.end(), [](const Assignment& each) {
    return within(each.pointer, "/expected") || each.pointer == "/use" || each.pointer == "/seed";
  });
}

}  // namespace

PointLoader::PointLoader(const Study& study) : study_(study), seed_is_free_(is_seed_free(study)) {}

bool PointLoader::differs_in_seed_only(const StudyPoint& point) const {
  return seed_is_free_ && loaded_ && seed_of(point) != nullptr &&
         point.coordinates.size() == set_.size() + 1 &&
         std::equal(set_.begin(), set_.end(), point.coordinates.begin());
}

const Scenario& PointLoader::load(const StudyPoint& point) {
  only_seed_ = differs_in_seed_only(point);
  if (only_seed_) {
    const Assignment& seed = *seed_of(point);
    loaded_->resolved["seed"] = seed.value;
    loaded_->origins.replace(kSeed, seed.origin);
    return *loaded_;
  }
  loaded_.reset();
  job_.reset();
  completed_ = nullptr;
  loaded_ = load_point(study_, point);
  const bool seeded = seed_of(point) != nullptr;
  set_.assign(point.coordinates.begin(), point.coordinates.end() - (seeded ? 1 : 0));
  if (!seeded) set_.push_back({});  // which no point has
  return *loaded_;
}

const Job& PointLoader::job() {
  if (job_ && !depends_on_seed(*loaded_)) {
    if (job_->seed != loaded_->resolved["seed"]) reseed(*job_, *loaded_);
    return *job_;
  }
  job_.reset();
  completed_ = nullptr;
  job_.emplace(make_job(*loaded_));
  return *job_;
}

std::string PointLoader::completed_text() {
  if (completed_.is_null())
    completed_ = completed(*loaded_, *job_);
  else
    completed_["seed"] = loaded_->resolved["seed"];
  return completed_.dump();
}

std::string PointLoader::key() const { return run_key(loaded_->resolved); }

}  // namespace simsgd
