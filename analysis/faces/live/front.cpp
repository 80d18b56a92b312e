#include "analysis/faces/live/front.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <csignal>
#include <cstdint>
#include <string>

#include "sim/base/errors.hpp"

namespace simsgd::live {

namespace {

constexpr std::size_t kMostQuestion = kMostBody + 1;
constexpr int kMostAtOnce = 16;

[[noreturn]] void gone() {
  throw RunError("The process that serves the page has ended. Start explore again.");
}

constexpr int kUsualPort = 80;  // which browsers leave out

bool is_ours(std::string name, int port) {
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  for (const char* host : {"127.0.0.1", "localhost"})
    if (name == fmt::format("{}:{}", host, port) || (port == kUsualPort && name == host)) return true;
  return false;
}

bool is_our_origin(const std::string& origin, int port) {
  static const std::string scheme = "http://";
  return origin.starts_with(scheme) && is_ours(origin.substr(scheme.size()), port);
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

std::optional<Refusal> refusal(const RequestHead& head, int port) {
  if (head.hosts.size() != 1 || !is_ours(head.hosts.front(), port))
    return Refusal{403, fmt::format("This is a server for http://127.0.0.1:{}/ alone.", port)};
  if (head.origins.size() > 1 || (!head.origins.empty() && !is_our_origin(head.origins.front(), port)))
    return Refusal{403, "Pages of other sites are not answered."};
  if (head.method == "GET" || head.method == "HEAD") return std::nullopt;
  if (head.method != "POST") return Refusal{405, "Only GET and POST are answered."};
  if (head.is_chunked || !head.has_length) return Refusal{411, "The body needs a Content-Length."};
  // A form of another site can be sent without asking, but not with this type.
  if (head.content_type != "application/json") return Refusal{415, "The body has to be application/json."};
  return std::nullopt;
}

}  // namespace simsgd::live
