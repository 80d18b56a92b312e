#include "measure/waiting.hpp"

#include <netinet/in.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <charconv>
#include <cstdint>
#include <filesystem>
#include <string>

namespace simsgd {

namespace {

constexpr double kNano = 1e-9;

// Without sockets (shared memory) nothing wakes a rank; and with them, in case of what they do not tell.
constexpr double kLookInMemoryEvery_s = 50e-6, kLookAtSocketsEvery_s = 200e-6;

// Looks between two sleeps: what MPI hears of in one, such as the end of a round, it may act upon in the
// next.
constexpr int kLooks = 3;

bool is_peer_socket(int descriptor) {
  int type = 0;
  socklen_t size = sizeof(type);
  if (getsockopt(descriptor, SOL_SOCKET, SO_TYPE, &type, &size) != 0 || type != SOCK_STREAM) return false;
  sockaddr_in peer{};
  size = sizeof(peer);
  if (getpeername(descriptor, reinterpret_cast<sockaddr*>(&peer), &size) != 0 || peer.sin_family != AF_INET)
    return false;
  constexpr std::uint32_t kLoopback = 127;  // the launcher's
  return ntohl(peer.sin_addr.s_addr) >> 24 != kLoopback;
}

timespec timespec_of(double seconds) {
  const auto whole = static_cast<time_t>(seconds);
  return {whole, static_cast<long>((seconds - static_cast<double>(whole)) / kNano)};
}

// As the kernel has it; its header cannot be included beside <sched.h>.
struct SchedulingAttributes {
  std::uint32_t size = 0, policy = 0;
  std::uint64_t flags = 0;
  std::int32_t nice = 0;
  std::uint32_t priority = 0;
  std::uint64_t runtime_ns = 0, deadline_ns = 0, period_ns = 0;
};

}  // namespace

double seconds_now() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * kNano;
}

void Waiting::look_for_sockets() {
  if (!sleeps_) return;
  sockets_.clear();
  std::error_code failure;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd", failure)) {
    const std::string name = entry.path().filename().string();
    int descriptor = -1;
    std::from_chars(name.data(), name.data() + name.size(), descriptor);
    if (descriptor >= 0 && is_peer_socket(descriptor)) sockets_.push_back({descriptor, POLLIN, 0});
  }
}

void Waiting::sleep(double most_s) const {
  if (!sleeps_ || !(most_s > 0)) return;
  if (sockets_.empty()) {
    nap(most_s);
  } else {
    // A buffer that is full now is one that MPI has more for.
    for (pollfd& socket : sockets_) socket.events = POLLOUT;
    poll(sockets_.data(), sockets_.size(), 0);
    for (pollfd& socket : sockets_)
      socket.events = static_cast<short>((socket.revents & POLLOUT) != 0 ? POLLIN : POLLIN | POLLOUT);
    const timespec most = timespec_of(most_s);
    ppoll(sockets_.data(), sockets_.size(), &most, nullptr);
  }
}

void Waiting::all(std::span<MPI_Request> requests) {
  const int count = static_cast<int>(requests.size());
  int complete = 0;
  for (int looks = 1; complete == 0; ++looks) {
    MPI_Testall(count, requests.data(), &complete, MPI_STATUSES_IGNORE);
    if (complete == 0 && sleeps_ && looks % kLooks == 0)
      sleep(sockets_.empty() ? kLookInMemoryEvery_s : kLookAtSocketsEvery_s);
  }
}

void Waiting::until(double time_s) const {
  constexpr double kWakeUp_s = 100e-6;  // a nap may end so late
  const double left_s = time_s - seconds_now();
  nap(sleeps_ ? left_s : left_s - kWakeUp_s);
  while (seconds_now() < time_s)
    if (sleeps_) sched_yield();
}

void ask_for_short_slices() {
  constexpr unsigned long kSlice_ns = 100'000;  // the least that Linux grants
  SchedulingAttributes attributes;
  attributes.size = sizeof attributes;
  if (syscall(SYS_sched_getattr, 0, &attributes, sizeof attributes, 0) != 0 || attributes.policy != 0) return;
  attributes.runtime_ns = kSlice_ns;
  syscall(SYS_sched_setattr, 0, &attributes, 0);
}

}  // namespace simsgd
