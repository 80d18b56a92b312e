#include "measure/last_words.hpp"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

namespace simsgd {

namespace {

/// A process of this machine. Written before the handler is there, and only read by it.
struct Peer {
  int rank = 0;
  pid_t pid = 0;
};
constexpr std::size_t kMostPeers = 1024;
std::array<Peer, kMostPeers> peers;
std::size_t peer_count = 0;
int* somebody_spoke = nullptr;  // of all ranks of this machine

/// A sentence that is put together without allocating: a handler may not.
class Sentence {
 public:
  Sentence& operator+=(std::string_view text) {
    const std::size_t count = std::min(text.size(), text_.size() - size_);
    std::memcpy(text_.data() + size_, text.data(), count);
    size_ += count;
    return *this;
  }
  Sentence& operator+=(int number) {
    std::array<char, 12> digits{};
    std::size_t at = digits.size();
    do {
      digits[--at] = static_cast<char>('0' + number % 10);
      number /= 10;
    } while (number > 0);
    return *this += std::string_view(digits.data() + at, digits.size() - at);
  }
  void say() const { [[maybe_unused]] const auto ignored = write(STDERR_FILENO, text_.data(), size_); }

 private:
  std::array<char, 512> text_{};
  std::size_t size_ = 0;
};

bool is_gone(const Peer& peer) { return kill(peer.pid, 0) != 0 && errno == ESRCH; }

// The first to have looked speaks. Nobody ends before somebody speaks, so what it has seen is who has died,
// however long each takes.
void say_who_died() {
  constexpr int kMostNamed = 8;
  int gone = 0;
  Sentence sentence;
  for (std::size_t i = 0; i < peer_count; ++i) {
    if (!is_gone(peers[i]) || ++gone > kMostNamed) continue;
    sentence += gone == 1 ? "Rank " : ", rank ";
    sentence += peers[i].rank;
    sentence += " (process ";
    sentence += static_cast<int>(peers[i].pid);
    sentence += ")";
  }
  if (gone > kMostNamed) sentence += " and others";
  sentence +=
      gone == 0 ? "The run was ended by SIGTERM: it was stopped on purpose, or a rank on another machine died"
      : gone == 1 ? " has died, so the run ends here"
                  : " have died, so the run ends here";
  sentence += ". It has no result, and no file was written.\n";
  if (this_rank_speaks()) sentence.say();
}

extern "C" void end_with_last_words(int) {
  const int before = errno;
  say_who_died();
  errno = before;
  signal(SIGTERM, SIG_DFL);
  raise(SIGTERM);
}

}  // namespace

void leave_last_words(MPI_Comm world) {
  MPI_Comm machine = MPI_COMM_NULL;
  int own_rank = 0;
  MPI_Comm_rank(world, &own_rank);
  MPI_Comm_split_type(world, MPI_COMM_TYPE_SHARED, own_rank, MPI_INFO_NULL, &machine);
  int count = 0;
  MPI_Comm_size(machine, &count);
  const std::array<std::int64_t, 2> own = {own_rank, getpid()};
  std::vector<std::array<std::int64_t, 2>> all(static_cast<std::size_t>(count));
  MPI_Allgather(own.data(), 2, MPI_INT64_T, all.data(), 2, MPI_INT64_T, machine);
  // Lives as long as the process: handlers look at it.
  MPI_Win window = MPI_WIN_NULL;
  int* spoke = nullptr;
  int place = 0, unit = 0;
  MPI_Aint size = 0;
  MPI_Comm_rank(machine, &place);
  MPI_Win_allocate_shared(place == 0 ? sizeof(int) : 0, sizeof(int), MPI_INFO_NULL, machine, &spoke, &window);
  MPI_Win_shared_query(window, 0, &size, &unit, &spoke);
  if (place == 0) *spoke = 0;
  MPI_Barrier(machine);
  somebody_spoke = spoke;
  peer_count = 0;
  for (const auto& [rank, pid] : all)
    if (rank != own_rank && peer_count < kMostPeers)
      peers[peer_count++] = {static_cast<int>(rank), static_cast<pid_t>(pid)};
  struct sigaction action {};
  action.sa_handler = end_with_last_words;
  sigemptyset(&action.sa_mask);
  sigaction(SIGTERM, &action, nullptr);
}

bool this_rank_speaks() {
  return somebody_spoke == nullptr || __atomic_exchange_n(somebody_spoke, 1, __ATOMIC_ACQ_REL) == 0;
}

void no_last_words() { signal(SIGTERM, SIG_DFL); }

}  // namespace simsgd
