#include "sim/engine/news.hpp"

#include <algorithm>
#include <limits>

#include "sim/base/instants.hpp"

namespace simsgd {

namespace {
constexpr double kNever = std::numeric_limits<double>::infinity();
}

News::News(const Job& job, Transport& transport)
    : job_(job), transport_(transport), ranks_(job.workers()), phases_(ceil_log2(job.workers())) {
  hop_s_.assign(static_cast<std::size_t>(ranks_) * static_cast<std::size_t>(phases_), -1.0);
}

bool News::by_recurrence() const {
  const Fidelity fidelity = job_.network.fidelity;
  return !job_.network.has_jitter() && fidelity != Fidelity::flows && fidelity != Fidelity::messages;
}

void News::listen(int rank, int tag, Heard heard) {
  Topic& topic = topics_[tag];
  topic.heard.resize(static_cast<std::size_t>(ranks_));
  topic.heard[static_cast<std::size_t>(rank)] = std::move(heard);
}

double News::hop_s(int rank, int phase) {
  double& hop = hop_s_[static_cast<std::size_t>(rank) * static_cast<std::size_t>(phases_) +
                       static_cast<std::size_t>(phase)];
  if (hop < 0) {
    const HostCosts& host = job_.cluster.host;
    hop = transport_.path(rank, (rank + (1 << phase)) % ranks_).alpha_s + host.before_s(0) + host.after_s(0);
  }
  return hop;
}

News::Story& News::story_of(Topic& topic, std::uint64_t number) {
  const auto found = topic.stories.find(number);
  if (found != topic.stories.end()) return found->second;
  Story story;
  if (!finished_.empty()) {
    story = std::move(finished_.back());
    finished_.pop_back();
  }
  const auto ranks = static_cast<std::size_t>(ranks_);
  story.known_s.assign(ranks * (static_cast<std::size_t>(phases_) + 1), kNever);
  story.told.assign(ranks, 0);
  story.untold = ranks_;
  story.hearings = {};
  story.armed_s = kNever;
  return topic.stories.emplace(number, std::move(story)).first->second;
}

// Follows the messages that leave earlier than was known so far.
void News::learn(Story& story, Visit first) {
  visits_.assign(1, first);
  while (!visits_.empty()) {
    const Visit visit = visits_.back();
    visits_.pop_back();
    double* known =
        story.known_s.data() + static_cast<std::size_t>(visit.rank) * (static_cast<std::size_t>(phases_) + 1);
    for (int phase = visit.phase; phase <= phases_ && known[phase] > visit.time_s; ++phase) {
      known[phase] = visit.time_s;
      if (phase < phases_)
        visits_.push_back(
            {(visit.rank + (1 << phase)) % ranks_, phase + 1, visit.time_s + hop_s(visit.rank, phase)});
      else if (!story.told[static_cast<std::size_t>(visit.rank)])
        story.hearings.push({visit.time_s, visit.rank});
    }
  }
}

void News::spread(int rank, int tag, std::uint64_t number) {
  Topic& topic = topics_[tag];
  Story& story = story_of(topic, number);
  char& told = story.told[static_cast<std::size_t>(rank)];
  if (told) return;
  told = 1;
  --story.untold;
  learn(story, {rank, 0, transport_.now()});
  arm(tag, number, story);
}

// One timer at a time for each story: for its earliest hearing.
void News::arm(int tag, std::uint64_t number, Story& story) {
  while (!story.hearings.empty() && story.told[static_cast<std::size_t>(story.hearings.top().rank)])
    story.hearings.pop();
  if (story.untold == 0) {
    Topic& topic = topics_[tag];
    finished_.push_back(std::move(story));
    topic.stories.erase(number);
    return;
  }
  if (story.hearings.empty() || story.hearings.top().time_s >= story.armed_s) return;
  story.armed_s = story.hearings.top().time_s;
  transport_.at(story.armed_s, [this, tag, number] { tell(tag, number); });
}

void News::tell(int tag, std::uint64_t number) {
  Topic& topic = topics_[tag];
  const auto found = topic.stories.find(number);
  if (found == topic.stories.end()) return;  // all have heard meanwhile
  Story& story = found->second;
  if (before(transport_.now(), story.armed_s)) return;  // an earlier timer has taken this one's place
  std::vector<int> now;
  while (!story.hearings.empty() && not_after(story.hearings.top().time_s, transport_.now())) {
    const auto rank = static_cast<std::size_t>(story.hearings.top().rank);
    story.hearings.pop();
    if (story.told[rank]) continue;
    story.told[rank] = 1;
    --story.untold;
    now.push_back(static_cast<int>(rank));
  }
  std::sort(now.begin(), now.end());
  story.armed_s = kNever;
  arm(tag, number, story);
  for (const int rank : now) topic.heard[static_cast<std::size_t>(rank)](number);
}

}  // namespace simsgd
