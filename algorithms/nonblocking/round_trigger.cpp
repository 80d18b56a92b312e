#include "algorithms/nonblocking/round_trigger.hpp"

#include <fmt/format.h>

#include <map>

namespace simsgd {

namespace {
constexpr int kSyncTag = 0x5C00, kReportTag = 0x5C01;
}

void TriggerSettings::fields(Fields& f) {
  f.choice(
      "trigger", rule,
      {{"none", Rule::none}, {"first", Rule::first}, {"deadline", Rule::deadline}, {"kth", Rule::kth}},
      "A round ends with the first worker that finishes it (first), with the k-th (kth), at a time (deadline), or with the last worker (none: blocking)");
  f.time("deadline", deadline_s, "A round ends after this time; for \"trigger\": \"deadline\"").above(0);
  f.whole("k", k, "A round ends when this many workers have finished; for \"trigger\": \"kth\"").at_least(1);
}

void TriggerSettings::check(int workers) const {
  const auto belongs = [this](const char* key, bool given, Rule to, const char* trigger) {
    if (rule == to && !given)
      reject("trigger", fmt::format("needs \"{}\"", key), fmt::format("Add \"{}\"", key));
    if (rule != to && given)
      reject(key, fmt::format("is for \"trigger\": \"{}\" alone", trigger),
             fmt::format("Leave it out, or set \"trigger\": \"{}\"", trigger));
  };
  belongs("deadline", deadline_s.has_value(), Rule::deadline, "deadline");
  belongs("k", k.has_value(), Rule::kth, "kth");
  if (k && *k > workers)
    reject("k", fmt::format("is more than the {} workers", workers), fmt::format("Give at most {}", workers));
}

class RoundTrigger::Rank : public std::enable_shared_from_this<RoundTrigger::Rank> {
 public:
  Rank(Worker& worker, const TriggerSettings& settings) : worker_(worker), settings_(settings) {}

  // Apart from the constructor, because the handlers share this object.
  void listen() {
    using Rule = TriggerSettings::Rule;
    if (settings_.rule != Rule::first && settings_.rule != Rule::kth) return;
    activation_.emplace(worker_, kSyncTag, [rank = weak_from_this()](std::uint64_t round) {
      if (const auto self = rank.lock()) self->heard(round);
    });
    if (settings_.rule == Rule::kth && worker_.rank() == 0)
      worker_.background().serve(kReportTag, [self = shared_from_this()](const Message& message) {
        self->count(static_cast<std::uint64_t>(message.numbers[0]));
      });
  }

  Handle<Nothing> begin(std::uint64_t round) {
    round_ = round;
    if (settings_.rule == TriggerSettings::Rule::none) return {};
    if (settings_.rule == TriggerSettings::Rule::deadline)
      return worker_.background().start_timer(settings_.deadline_s.value());
    over_ = worker_.background().make_event();
    if (heard_ >= round_) worker_.background().signal(over_);
    return over_;
  }

  void finished() {
    if (heard_ >= round_) return;
    if (settings_.rule == TriggerSettings::Rule::first) {
      activation_->announce(round_);
    } else if (settings_.rule == TriggerSettings::Rule::kth) {
      if (worker_.rank() == 0) return count(round_);
      Message report;
      report.numbers = {static_cast<double>(round_)};
      worker_.background().post(0, kReportTag, std::move(report));
    }
  }

 private:
  void heard(std::uint64_t round) {
    heard_ = std::max(heard_, round);
    if (over_ && heard_ >= round_) worker_.background().signal(over_);
  }

  // Rank 0: one more has finished.
  void count(std::uint64_t round) {
    if (++reports_[round] == settings_.k.value()) activation_->announce(round);
    if (reports_[round] == worker_.size()) reports_.erase(round);
  }

  Worker& worker_;
  TriggerSettings settings_;
  std::optional<Activation> activation_;
  std::uint64_t heard_ = 0;  // rounds that are over
  std::uint64_t round_ = 0;  // that this rank is in
  Handle<Nothing> over_;     // signalled when round_ is over
  std::map<std::uint64_t, int> reports_;
};

RoundTrigger::RoundTrigger(Worker& worker, const TriggerSettings& settings)
    : rank_(std::make_shared<Rank>(worker, settings)) {
  rank_->listen();
}

Handle<Nothing> RoundTrigger::begin(std::uint64_t round) { return rank_->begin(round); }

void RoundTrigger::finished() { rank_->finished(); }

}  // namespace simsgd
