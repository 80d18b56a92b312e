#include "algorithms/low_communication/served_workers.hpp"

#include <algorithm>

namespace simsgd {

namespace {

constexpr int kDifference = 0x616c, kModel = 0x616d;  // tags: to the server, and back

/// What a worker waits for, and what came. Shared by the main thread and the handler, which the worker keeps.
struct Answer {
  Handle<Nothing> arrived;
  ServedModel served;
};

void serve(Worker& worker, const std::function<ServedModel(const Tensor&)>& take) {
  worker.background().serve(kDifference, [take, &worker](const Message& message) {
    const ServedModel served = take(message.values);
    worker.background().post(message.from, kModel,
                             model_sized(worker, served.model, {static_cast<double>(served.taken)}));
  });
}

std::shared_ptr<Answer> listen(Worker& worker) {
  const auto answer = std::make_shared<Answer>();
  worker.background().serve(kModel, [answer, &worker](const Message& message) {
    answer->served = {message.values, static_cast<std::uint64_t>(message.numbers.at(0))};
    worker.background().signal(answer->arrived);
  });
  return answer;
}

}  // namespace

Message model_sized(const Worker& worker, Tensor values, std::vector<double> numbers) {
  Message message;
  message.bytes = worker.workload().model_bytes();
  message.traffic = Traffic::model;
  message.values = std::move(values);
  message.numbers = std::move(numbers);
  return message;
}

Message difference_of(const Worker& worker, Tensor values) {
  Message message = model_sized(worker, std::move(values));
  message.part.change = true;
  return message;
}

void run_served(Worker& worker, int inner_steps, int server,
                const std::function<ServedModel(const Tensor& difference)>& take) {
  const bool serves = worker.rank() == server;
  if (serves) serve(worker, take);
  const std::shared_ptr<Answer> answer = serves ? std::make_shared<Answer>() : listen(worker);
  Tensor start = worker.replica().parameters();
  std::uint64_t known = 0;
  while (worker.next_step()) {
    worker.replica().apply(worker.compute().gradient());
    if (worker.step() % static_cast<std::uint64_t>(inner_steps) != 0) continue;
    const Tensor gone =
        start ? linear_combination(worker.executor(), {1.0, -1.0}, {start, worker.replica().parameters()})
              : Tensor();
    if (serves) {
      answer->served = take(gone);
    } else {
      answer->arrived = worker.background().make_event();
      worker.background().post(server, kDifference, difference_of(worker, gone));
      worker.wait(answer->arrived);
    }
    const std::uint64_t taken = answer->served.taken;
    worker.record().staleness(static_cast<double>(taken - std::min(taken, known + 1)));
    known = taken;
    start = answer->served.model;
    if (start) worker.replica().set(start);
  }
}

}  // namespace simsgd
