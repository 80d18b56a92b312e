// Messages between two ranks, which both ask for them.
#pragma once

#include <vector>

#include "sim/handle.hpp"
#include "sim/learn/tensor.hpp"
#include "sim/record.hpp"

namespace simsgd {

/// What travels from one rank to another.
struct Message {
  double bytes = 0;  ///< as the workload counts them
  Traffic traffic = Traffic::control;
  Tensor values{};
  std::vector<double> numbers{};  ///< small plain data: a version, a weight
  int from = -1;                  ///< filled on arrival
};

/// Matched by (from, to, tag) in the order sent; a transfer begins when both sides have asked for it.
class Messages {
 public:
  explicit Messages(Completion& completion) : completion_(completion) {}
  virtual ~Messages() = default;

  virtual Handle<Nothing> start_send(int to, int tag, Message message) = 0;
  virtual Handle<Message> start_receive(int from, int tag) = 0;

  // Blocking.
  void send(int to, int tag, Message message) { completion_.wait(start_send(to, tag, std::move(message))); }
  Message receive(int from, int tag) {
    const Handle<Message> handle = start_receive(from, tag);
    completion_.wait(handle);
    return handle.result();
  }

 private:
  Completion& completion_;
};

}  // namespace simsgd
