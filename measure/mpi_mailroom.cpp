#include "measure/mpi_mailroom.hpp"

#include <fmt/format.h>

#include "measure/exchanges.hpp"

namespace simsgd {

namespace {
// Collectives are booked from channel 1 on.
constexpr std::int32_t kMessageChannel = 0;
}  // namespace

MpiMailroom::MpiMailroom(MPI_Comm world, Executor& executor, const RunClock& clock, Ledger& ledger)
    : executor_(executor), clock_(clock), ledger_(ledger) {
  MPI_Comm_dup(world, &world_);
}

MpiMailroom::~MpiMailroom() {
  // Left behind: MPI may still read there. NOLINTNEXTLINE(bugprone-unhandled-exception-at-new)
  if (!moving_.empty()) new auto(std::move(moving_));
}

std::shared_ptr<MpiPending> MpiMailroom::send(int to, int tag, const Message& message) {
  auto pending = std::make_shared<MpiPending>();
  pending->channel = kMessageChannel;
  pending->description = fmt::format("a message to rank {} (tag {})", to, tag);
  pending->span.traffic = message.traffic;
  Moving& moving = moving_.emplace_back();
  moving.bytes = pack(executor_, message);
  moving.pending = pending;
  pending->span.start_s = clock_.now();
  pending->others_came(pending->span.start_s);  // nobody tells the sender when the receiver came
  ledger_.sent(message.traffic, static_cast<double>(moving.bytes.size()));
  MPI_Isend(moving.bytes.data(), mpi_count(moving.bytes.size()), MPI_BYTE, to, tag, world_, &moving.request);
  return pending;
}

std::shared_ptr<MpiPending> MpiMailroom::receive(int from, int tag) {
  auto pending = std::make_shared<MpiPending>();
  pending->channel = kMessageChannel;
  pending->description = fmt::format("a message from rank {} (tag {})", from, tag);
  pending->span.start_s = clock_.now();
  expected_[{from, tag}].push_back(pending);
  progress();
  return pending;
}

void MpiMailroom::progress() {
  for (auto& [sender, pendings] : expected_)
    while (!pendings.empty() && match(sender, pendings.front())) pendings.pop_front();
  std::erase_if(expected_, [](const auto& entry) { return entry.second.empty(); });
  std::erase_if(moving_, [this](Moving& moving) { return finished(moving); });
}

bool MpiMailroom::match(const Sender& sender, const std::shared_ptr<MpiPending>& pending) {
  int found = 0;
  MPI_Message message = MPI_MESSAGE_NULL;
  MPI_Status status;
  MPI_Improbe(sender.first, sender.second, world_, &found, &message, &status);
  if (found == 0) return false;
  int bytes = 0;
  MPI_Get_count(&status, MPI_BYTE, &bytes);
  Moving& moving = moving_.emplace_back();
  moving.bytes.resize(static_cast<std::size_t>(bytes));
  moving.pending = pending;
  moving.from = sender.first;
  pending->others_came(clock_.now());
  MPI_Imrecv(moving.bytes.data(), bytes, MPI_BYTE, &message, &moving.request);
  return true;
}

bool MpiMailroom::finished(Moving& moving) {
  if (!is_complete(moving.request)) return false;
  MpiPending& pending = *moving.pending;
  pending.finish(clock_.now());
  if (moving.from >= 0) {
    pending.message = unpack(executor_, moving.bytes);
    pending.message.from = moving.from;
    pending.span.traffic = pending.message.traffic;
  }
  ledger_.operation(pending.channel, pending.span);
  return true;
}

}  // namespace simsgd
