// Instants by small numbers, the earliest first: a heap whose nodes have four children, since it is half as
// deep as one of two, in which a number's instant can be moved.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace simsgd {

class Earliest {
 public:
  struct Entry {
    double time_s = 0;
    std::uint32_t number = 0;
  };
  bool empty() const { return heap_.empty(); }
  const Entry& front() const { return heap_.front(); }

  /// Puts it in, or moves it to this instant.
  void put(std::uint32_t number, double time_s) {
    if (number >= places_.size()) places_.resize(number + 1, kNowhere);
    if (places_[number] == kNowhere) {
      heap_.emplace_back();
      rise(heap_.size() - 1, {time_s, number});
    } else if (const std::size_t at = places_[number]; time_s < heap_[at].time_s) {
      rise(at, {time_s, number});
    } else {
      sink(at, {time_s, number});
    }
  }
  void take_front() {
    places_[heap_.front().number] = kNowhere;
    const Entry last = heap_.back();
    heap_.pop_back();
    if (!heap_.empty()) sink(0, last);
  }

 private:
  static constexpr std::uint32_t kNowhere = 0xffffffff;
  static constexpr std::size_t kChildren = 4;

  void set(std::size_t at, Entry entry) {
    heap_[at] = entry;
    places_[entry.number] = static_cast<std::uint32_t>(at);
  }
  void rise(std::size_t at, Entry entry) {
    for (std::size_t above = 0; at > 0; at = above) {
      above = (at - 1) / kChildren;
      if (heap_[above].time_s <= entry.time_s) break;
      set(at, heap_[above]);
    }
    set(at, entry);
  }
  void sink(std::size_t at, Entry entry) {
    for (std::size_t first = kChildren * at + 1; first < heap_.size(); first = kChildren * at + 1) {
      const std::size_t least = least_from(first);
      if (heap_[least].time_s >= entry.time_s) break;
      set(at, heap_[least]);
      at = least;
    }
    set(at, entry);
  }
  // Without branches, which nobody could predict.
  std::size_t least_from(std::size_t first) const {
    const auto earlier = [this](std::size_t a, std::size_t b) {
      return static_cast<std::size_t>(heap_[a].time_s < heap_[b].time_s);
    };
    if (first + kChildren <= heap_.size()) {
      const std::size_t left = first + earlier(first + 1, first),
                        right = first + 2 + earlier(first + 3, first + 2);
      return left + (right - left) * earlier(right, left);
    }
    std::size_t least = first;
    for (std::size_t child = first + 1; child < heap_.size(); ++child)
      least += (child - least) * earlier(child, least);
    return least;
  }

  std::vector<Entry> heap_;
  std::vector<std::uint32_t> places_;  // in it, by number
};

}  // namespace simsgd
