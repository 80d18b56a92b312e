#include "measure/common_end.hpp"

#include <cmath>

#include "measure/exchanges.hpp"

namespace simsgd {

namespace {
constexpr int kReportOfStep = 1, kNoticeOfEnd = 2;
}  // namespace

CommonEnd::CommonEnd(const Job& job, const RunClock& clock, std::function<ModelAtInstant()> model,
                     MPI_Comm world)
    : job_(job), clock_(clock), model_(std::move(model)), alone_(!job.algorithm->needs_others()) {
  MPI_Comm_dup(world, &world_);
  MPI_Comm_rank(world_, &rank_);
  if (alone_ && std::isfinite(job.stop.time_s)) over_s_ = job.stop.time_s;
}

CommonEnd::~CommonEnd() {
  // Left behind: MPI may still read there. NOLINTNEXTLINE(bugprone-unhandled-exception-at-new)
  if (!leaving_.empty()) new auto(std::move(leaving_));
}

void CommonEnd::completed(double now_s, double samples) {
  if (!alone_) return;
  const Report report{now_s, samples};
  if (rank_ == 0) return count(report);
  Leaving& leaving = leaving_.emplace_back(Leaving{report, {}});
  MPI_Isend(&leaving.report, sizeof leaving.report, MPI_BYTE, 0, kReportOfStep, world_, &leaving.request);
}

void CommonEnd::count(const Report& report) {
  if (told_) return;
  ++steps_;
  samples_ += report.samples;
  const auto workers = static_cast<std::uint64_t>(job_.workers());
  const bool every = job_.learner && job_.record.evaluate_every > 0;
  if (every && steps_ % (job_.record.evaluate_every * workers) == 0) tell_all({report.time_s, false});
  const bool steps = job_.stop.steps <= steps_ / workers;
  if (!steps && samples_ < job_.stop.samples * kSampleRounding) return;
  told_ = true;
  tell_all({clock_.now(), true});
}

void CommonEnd::tell_all(const Notice& notice) {
  for (int to = 1; to < job_.workers(); ++to) {
    Leaving& leaving = leaving_.emplace_back(Leaving{{}, notice});
    MPI_Isend(&leaving.notice, sizeof leaving.notice, MPI_BYTE, to, kNoticeOfEnd, world_, &leaving.request);
  }
  heard(notice);
}

void CommonEnd::heard(const Notice& notice) {
  if (notice.over)
    over_s_ = std::min(over_s_.value_or(notice.time_s), notice.time_s);
  else
    kept_.push_back({notice.time_s, model_()});
}

void CommonEnd::receive() {
  const auto here = [this](int tag) {
    int found = 0;
    MPI_Iprobe(MPI_ANY_SOURCE, tag, world_, &found, MPI_STATUS_IGNORE);
    return found != 0;
  };
  while (rank_ == 0 && here(kReportOfStep)) {
    Report report;
    MPI_Recv(&report, sizeof report, MPI_BYTE, MPI_ANY_SOURCE, kReportOfStep, world_, MPI_STATUS_IGNORE);
    count(report);
  }
  while (rank_ != 0 && here(kNoticeOfEnd)) {
    Notice notice;
    MPI_Recv(&notice, sizeof notice, MPI_BYTE, 0, kNoticeOfEnd, world_, MPI_STATUS_IGNORE);
    heard(notice);
  }
}

// Every rank by its own clock.
void CommonEnd::keep_by_clock() {
  const double every_s = job_.record.evaluate_every_s;
  if (!(every_s > 0) || !job_.learner || job_.record.evaluate_every > 0) return;
  const double now_s = clock_.now();
  for (double next_s = static_cast<double>(kept_.size() + 1) * every_s; next_s <= now_s && !over();
       next_s += every_s)
    kept_.push_back({next_s, model_()});
}

void CommonEnd::progress() {
  if (!alone_) return;
  std::erase_if(leaving_, [](Leaving& leaving) { return is_complete(leaving.request); });
  receive();
  keep_by_clock();
}

}  // namespace simsgd
