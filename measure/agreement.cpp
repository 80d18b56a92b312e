#include "measure/agreement.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <vector>

#include "measure/packing.hpp"
#include "sim/base/errors.hpp"

namespace simsgd {

namespace {

struct Place {
  int rank = 0, size = 1;
  explicit Place(MPI_Comm world) {
    MPI_Comm_rank(world, &rank);
    MPI_Comm_size(world, &size);
  }
};

/// As it travels.
struct Card {
  std::array<char, 120> program{};
  std::array<char, 368> arguments{};
  std::uint64_t program_hash = 0, does_hash = 0;
};

template <std::size_t size>
void put(std::array<char, size>& to, const std::string& text) {
  const std::size_t length = std::min(text.size(), size - 1);
  std::copy_n(text.begin(), length, to.begin());
}

std::string text_at(const Json& resolved, const std::string& pointer) {
  const Json::json_pointer there(pointer);
  return resolved.contains(there) ? resolved.at(there).dump() : "nothing";
}

}  // namespace

std::string started_apart(MPI_Comm world, const Started& own) {
  Card card;
  put(card.program, own.program);
  put(card.arguments, own.arguments);
  card.program_hash = hash_of(own.program);
  card.does_hash = hash_of(own.does);
  std::vector<Card> cards(static_cast<std::size_t>(Place(world).size));
  MPI_Allgather(&card, sizeof card, MPI_BYTE, cards.data(), sizeof card, MPI_BYTE, world);
  const Card& first = cards.front();
  for (std::size_t rank = 1; rank < cards.size(); ++rank) {
    const Card& other = cards[rank];
    if (other.program_hash != first.program_hash)
      return fmt::format("Rank {} runs {}, and rank 0 runs {}. Start the same program on all ranks.", rank,
                         other.program.data(), first.program.data());
    if (other.does_hash != first.does_hash)
      return fmt::format(
          "Rank {} was started with \"{}\", and rank 0 with \"{}\". Give all ranks the same command and options.",
          rank, other.arguments.data(), first.arguments.data());
  }
  return "";
}

void require_one_scenario(MPI_Comm world, const std::string& file, const Json& resolved) {
  const Place place(world);
  std::string text = resolved.dump();
  const std::uint64_t own = hash_of(text);
  std::vector<std::uint64_t> all(static_cast<std::size_t>(place.size));
  MPI_Allgather(&own, 1, MPI_UINT64_T, all.data(), 1, MPI_UINT64_T, world);
  if (std::all_of(all.begin(), all.end(), [&](std::uint64_t each) { return each == all.front(); })) return;
  std::uint64_t length = text.size();
  MPI_Bcast(&length, 1, MPI_UINT64_T, 0, world);
  text.resize(length);
  MPI_Bcast(text.data(), mpi_count(length), MPI_CHAR, 0, world);
  if (own == all.front()) return;
  const Json first = Json::parse(text), differences = Json::diff(first, resolved);
  if (differences.empty()) return;  // 1 and 1.0
  const auto pointer = differences.front().at("path").get<std::string>();
  throw ConfigError(
      {.file = file,
       .pointer = pointer,
       .problem = fmt::format("differs between rank 0 and rank {}", place.rank),
       .found = fmt::format("{}, but {} on rank 0", text_at(resolved, pointer), text_at(first, pointer)),
       .remedy = "Give all ranks the same scenario"});
}

int on_all_ranks(MPI_Comm world, const std::function<void()>& attempt) {
  const Place place(world);
  std::string sentence;
  int code = 0;
  try {
    attempt();
  } catch (const ConfigError& error) {
    sentence = error.what();
    if (error.errors().size() > 1)
      sentence += fmt::format("\n{} errors; nothing was run or written.", error.errors().size());
    code = 2;
  } catch (const std::exception& error) {
    sentence = error.what();
    code = 1;
  }
  const int speaks = code == 0 ? place.size : place.rank;
  int speaker = 0, worst = 0;
  MPI_Allreduce(&speaks, &speaker, 1, MPI_INT, MPI_MIN, world);
  MPI_Allreduce(&code, &worst, 1, MPI_INT, MPI_MAX, world);
  if (speaker == place.rank && code != 0) fmt::print(stderr, "{}\n", sentence);
  return worst;
}

}  // namespace simsgd
