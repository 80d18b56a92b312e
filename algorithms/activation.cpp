#include "algorithms/activation.hpp"

namespace simsgd {

namespace {
// Messages of a version have all arrived long before so many others have begun.
constexpr std::size_t kRemembered = 1024;
}  // namespace

Activation::Activation(Worker& worker, int tag, Heard heard)
    : relay_(std::make_shared<Relay>(Relay{worker, tag, ceil_log2(worker.size()), std::move(heard)})),
      listens_(worker.background().hear(tag, relay_->heard)) {
  if (listens_) return;
  worker.background().serve(tag, [relay = relay_](const Message& message) {
    relay->forward(static_cast<std::uint64_t>(message.numbers[0]), static_cast<int>(message.numbers[1]) + 1);
  });
}

void Activation::announce(std::uint64_t version) {
  if (!listens_) return relay_->forward(version, 0);
  relay_->worker.background().flood(relay_->tag, version);
  relay_->heard(version);
}

// Sends the messages of `phase` and later ones, those that have not been sent.
void Activation::Relay::forward(std::uint64_t version, int phase) {
  const auto [told, first] = told_from.try_emplace(version, phases);
  for (int next = phase; next < told->second; ++next) {
    Message message;
    message.numbers = {static_cast<double>(version), static_cast<double>(next)};
    worker.background().post((worker.rank() + (1 << next)) % worker.size(), tag, std::move(message));
  }
  told->second = std::min(told->second, phase);
  if (told_from.size() > kRemembered) told_from.erase(told_from.begin());
  if (first) heard(version);
}

}  // namespace simsgd
