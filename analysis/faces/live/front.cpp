#include "analysis/faces/live/front.hpp"

#include <fmt/format.h>
#include <malloc.h>
#include <poll.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <mutex>

#include "sim/base/errors.hpp"
#include "sim/base/printable.hpp"
#include "sim/base/this_program.hpp"

namespace simsgd::live {

namespace {

constexpr std::size_t kMostQuestion = kMostBody + 1;
constexpr int kMostAtOnce = 16;

[[noreturn]] void gone() {
  throw RunError("The process that serves the page has ended. Start explore again.");
}

constexpr int kUsualPort = 80;  // which browsers leave out

bool is_ours(const std::string& host_and_port, int port) {
  const std::string name = lower_case(host_and_port);
  for (const char* host : {"127.0.0.1", "localhost"})
    if (name == fmt::format("{}:{}", host, port) || (port == kUsualPort && name == host)) return true;
  return false;
}

bool is_our_origin(const std::string& origin, int port) {
  static const std::string scheme = "http://";
  return origin.starts_with(scheme) && is_ours(origin.substr(scheme.size()), port);
}

bool send_message(int file, const std::string& message) {
  const std::uint64_t size = message.size();
  return write_all(file, reinterpret_cast<const char*>(&size), sizeof size) &&
         write_all(file, message.data(), message.size());
}

/// False at the end, and where a message is longer than `most` bytes.
bool receive_message(int file, std::string& message, std::size_t most) {
  std::uint64_t size = 0;
  if (!read_all(file, reinterpret_cast<char*>(&size), sizeof size) || size > most) return false;
  message.resize(size);
  return read_all(file, message.data(), message.size());
}

using ServeHttp = void (*)(int port, const Desk& desk);
constexpr std::size_t kMostReply = std::size_t{1} << 28, kMostMemory = std::size_t{1} << 30;

/// One question at a time: the parent has no threads.
Reply passed_on(int commands, int answers, Ask ask, const std::string& body) {
  static std::mutex mutex;
  std::string reply;
  {
    const std::lock_guard<std::mutex> one(mutex);
    if (!send_message(answers, std::string(1, static_cast<char>(ask)) + body) ||
        !receive_message(commands, reply, kMostReply))
      _exit(1);
  }
  const std::size_t first = reply.find('\n'), second = reply.find('\n', first + 1);
  return {std::stoi(reply), reply.substr(first + 1, second - first - 1), reply.substr(second + 1)};
}

/// In the process of its own: serves until it is killed.
[[noreturn]] void serve(ServeHttp serve_http, int port, int commands, int answers) {
  // Whatever a visitor sends, the machine's memory is not theirs; nor what keep_freed_memory() took ahead.
  malloc_trim(0);
  const rlimit most{kMostMemory, kMostMemory};
  setrlimit(RLIMIT_DATA, &most);
  serve_http(
      port,
      {.refuses = refusal,
       .answers = [=](Ask ask, const std::string& body) { return passed_on(commands, answers, ask, body); },
       .opens_at = [=](int opened) { (void)send_message(answers, std::to_string(opened)); }});
  _exit(1);
}

}  // namespace

Front::Front(int port) {
  const auto serve_http =
      reinterpret_cast<ServeHttp>(function_of_own_library("libsimsgd_http.so", "simsgd_serve_http"));
  process_ = fork_child(
      true, [port, serve_http](int commands, int answers) { serve(serve_http, port, commands, answers); });
  std::string said;
  if (receive_message(process_.answers, said, kMostQuestion)) port_ = std::stoi(said);
  if (port_ != 0) return;
  wait_for(process_.process);
  close(process_.answers);
  close(process_.commands);
  throw ConfigError({"--port", "", "cannot be opened at 127.0.0.1", std::to_string(port),
                     "Choose a free port, or 0 for any"});
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
    return Refusal{403, fmt::format("This server only answers http://127.0.0.1:{}/.", port)};
  if (head.origins.size() > 1 || (!head.origins.empty() && !is_our_origin(head.origins.front(), port)))
    return Refusal{403, "Requests from other sites are refused."};
  if (head.method == "GET" || head.method == "HEAD") return std::nullopt;
  if (head.method != "POST") return Refusal{405, "Only GET and POST are allowed."};
  if (head.is_chunked || !head.has_length) return Refusal{411, "The body needs a Content-Length."};
  // A form of another site can be sent without asking, but not with this type.
  if (head.content_type != "application/json") return Refusal{415, "The body must be application/json."};
  return std::nullopt;
}

}  // namespace simsgd::live
