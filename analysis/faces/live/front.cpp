#include "analysis/faces/live/front.hpp"

#include <poll.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <string>

#include "analysis/faces/live/http_rules.hpp"
#include "sim/base/errors.hpp"

namespace simsgd::live {

namespace {

constexpr std::size_t kMostQuestion = kMostBody + 1;
constexpr int kMostAtOnce = 16;

[[noreturn]] void gone() {
  throw RunError("The process that serves the page has ended. Start explore again.");
}

}  // namespace

bool send_message(int file, const std::string& message) {
  const std::uint64_t size = message.size();
  return write_all(file, reinterpret_cast<const char*>(&size), sizeof size) &&
         write_all(file, message.data(), message.size());
}

bool receive_message(int file, std::string& message, std::size_t most) {
  std::uint64_t size = 0;
  if (!read_all(file, reinterpret_cast<char*>(&size), sizeof size) || size > most) return false;
  message.resize(size);
  return read_all(file, message.data(), message.size());
}

Front::Front(int port) {
  process_ = fork_child(true, [port](int commands, int answers) { serve(port, commands, answers); });
  std::string said;
  if (receive_message(process_.answers, said, kMostQuestion)) port_ = std::stoi(said);
  if (port_ != 0) return;
  wait_for(process_.process);
  close(process_.answers);
  close(process_.commands);
  throw ConfigError({"--port", "", "cannot be listened on at 127.0.0.1", std::to_string(port),
                     "Name a port that is free, or 0 for any"});
}

Front::~Front() {
  kill(process_.process, SIGKILL);
  wait_for(process_.process);
  close(process_.answers);
  close(process_.commands);
}

void Front::answer(const std::function<Reply(Ask ask, const std::string& body)>& answers) const {
  // Whoever asks without end must not keep points from being run.
  for (int answered = 0; answered < kMostAtOnce; ++answered) {
    pollfd file{process_.answers, POLLIN, 0};
    if (poll(&file, 1, 0) <= 0 || file.revents == 0) return;
    std::string question;
    if (!receive_message(process_.answers, question, kMostQuestion) || question.empty()) gone();
    const Reply reply = answers(static_cast<Ask>(question[0]), question.substr(1));
    // One that is gone is found here, and must not end us by a signal.
    const auto before = std::signal(SIGPIPE, SIG_IGN);
    const bool sent =
        send_message(process_.commands, std::to_string(reply.status) + "\n" + reply.type + "\n" + reply.body);
    std::signal(SIGPIPE, before);
    if (!sent) gone();
  }
}

}  // namespace simsgd::live
