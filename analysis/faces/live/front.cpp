#include "analysis/faces/live/front.hpp"

#include <fmt/format.h>
#include <httplib.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <memory>
#include <mutex>
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

}  // namespace

Front::Front(int port) {
  process_ = fork_child(true, [port](int commands, int answers) { serve(port, commands, answers); });
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

// What visitors meet. The only source that includes the HTTP library, which is large.

namespace {

constexpr const char* kText = "text/plain; charset=utf-8";
constexpr std::size_t kMostReply = std::size_t{1} << 28, kMostMemory = std::size_t{1} << 30;
constexpr std::size_t kThreads = 32;  // browsers open connections ahead, and some visitors are slow
constexpr std::size_t kMostHead = 65536;
constexpr std::chrono::seconds kPatience{5}, kSlowestReply{60};

// The body as it is, where the library would compress for longer than it takes to send it over the loopback.
void put(httplib::Response& response, int status, const std::string& type, std::string body) {
  response.status = status;
  if (status >= 400) return response.set_content(body, type.c_str());
  const auto kept = std::make_shared<const std::string>(std::move(body));
  response.set_content_provider(kept->size(), type,
                                [kept](std::size_t offset, std::size_t length, httplib::DataSink& sink) {
                                  return sink.write(kept->data() + offset, length);
                                });
}

std::vector<std::string> all_of(const httplib::Request& request, const char* name) {
  std::vector<std::string> values;
  const auto [begin, end] = request.headers.equal_range(name);
  for (auto each = begin; each != end; ++each) values.push_back(each->second);
  return values;
}

// A connection whose request is bounded, head and body together, in bytes and in time; so is the reply in
// time.
class BoundedStream final : public httplib::Stream {
 public:
  explicit BoundedStream(socket_t socket) : socket_(socket) {}

  bool is_readable() const override { return begin_ < end_ || wait(POLLIN, begun_ + kPatience); }
  bool is_writable() const override { return wait(POLLOUT, begun_ + kSlowestReply); }
  ssize_t read(char* to, std::size_t size) override {
    if (begin_ == end_ && !fill()) return -1;
    const std::size_t count = std::min(size, end_ - begin_);
    std::copy_n(buffer_.data() + begin_, count, to);
    begin_ += count;
    return static_cast<ssize_t>(count);
  }
  ssize_t write(const char* from, std::size_t size) override {
    return is_writable() ? send(socket_, from, size, MSG_NOSIGNAL | MSG_DONTWAIT) : -1;
  }
  void get_remote_ip_and_port(std::string& ip, int& port) const override {
    ip = "127.0.0.1";
    port = 0;
  }
  void get_local_ip_and_port(std::string& ip, int& port) const override { get_remote_ip_and_port(ip, port); }
  socket_t socket() const override { return socket_; }

 private:
  using Clock = std::chrono::steady_clock;

  bool wait(short events, Clock::time_point until) const {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(until - Clock::now()).count();
    pollfd file{socket_, events, 0};
    return left > 0 && poll(&file, 1, static_cast<int>(left)) > 0;
  }
  bool fill() {
    if (read_ >= kMostHead + kMostBody || !wait(POLLIN, begun_ + kPatience)) return false;
    const ssize_t got = recv(socket_, buffer_.data(), buffer_.size(), 0);
    if (got <= 0) return false;
    begin_ = 0;
    end_ = static_cast<std::size_t>(got);
    read_ += end_;
    return true;
  }

  socket_t socket_;
  Clock::time_point begun_ = Clock::now();
  std::array<char, 4096> buffer_{};
  std::size_t begin_ = 0, end_ = 0, read_ = 0;
};

class BoundedServer final : public httplib::Server {
 private:
  bool process_and_close_socket(socket_t socket) override {
    BoundedStream stream(socket);
    bool closed = false;
    const bool done = stream.is_readable() && process_request(stream, true, closed, nullptr);
    shutdown(socket, SHUT_RDWR);
    close(socket);
    return done;
  }
};

// One question at a time: the parent has no threads.
class Parent {
 public:
  Parent(int commands, int answers) : commands_(commands), answers_(answers) {}

  void pass_on(Ask ask, const std::string& body, httplib::Response& response) {
    std::string reply;
    {
      const std::lock_guard<std::mutex> one(mutex_);
      if (!send_message(answers_, std::string(1, static_cast<char>(ask)) + body) ||
          !receive_message(commands_, reply, kMostReply))
        _exit(1);
    }
    const std::size_t first = reply.find('\n'), second = reply.find('\n', first + 1);
    put(response, std::stoi(reply), reply.substr(first + 1, second - first - 1), reply.substr(second + 1));
  }
  void say_port(int port) { (void)send_message(answers_, std::to_string(port)); }

 private:
  std::mutex mutex_;
  int commands_, answers_;
};

void set_limits(httplib::Server& server) {
  server.set_payload_max_length(kMostBody);
  server.new_task_queue = [] { return new httplib::ThreadPool(kThreads); };
  // Not shared with another process, as the library's own options would have it.
  server.set_socket_options([](socket_t file) {
    const int yes = 1;
    setsockopt(file, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  });
  server.set_default_headers({{"Cache-Control", "no-store"},
                              {"X-Content-Type-Options", "nosniff"},
                              {"X-Frame-Options", "DENY"},
                              {"Referrer-Policy", "no-referrer"},
                              {"Cross-Origin-Resource-Policy", "same-origin"},
                              {"Cross-Origin-Opener-Policy", "same-origin"}});
}

void set_answers(httplib::Server& server, Parent& parent, const int& port) {
  server.set_pre_routing_handler([&port](const httplib::Request& request, httplib::Response& response) {
    const RequestHead head{request.method,
                           all_of(request, "Host"),
                           all_of(request, "Origin"),
                           request.get_header_value("Content-Type"),
                           request.has_header("Content-Length"),
                           request.has_header("Transfer-Encoding")};
    const std::optional<Refusal> refused = refusal(head, port);
    if (!refused) return httplib::Server::HandlerResponse::Unhandled;
    put(response, refused->status, kText, refused->why + "\n");
    return httplib::Server::HandlerResponse::Handled;
  });
  const auto get = [&](const char* path, Ask ask) {
    server.Get(path, [&parent, ask](const httplib::Request& request, httplib::Response& response) {
      parent.pass_on(ask, ask == Ask::point ? request.get_param_value("ticket").substr(0, kMostBody) : "",
                     response);
    });
  };
  get("/", Ask::page);
  get("/report", Ask::report);
  get("/controls", Ask::controls);
  get("/state", Ask::state);
  get("/point", Ask::point);
  const auto post = [&](const char* path, Ask ask) {
    server.Post(path, [&parent, ask](const httplib::Request& request, httplib::Response& response) {
      parent.pass_on(ask, request.body, response);
    });
  };
  post("/points", Ask::simulate);
  post("/drop", Ask::drop);
  server.set_error_handler([](const httplib::Request&, httplib::Response& response) {
    const bool is_long = response.status == 413, is_lost = response.status == 404;
    if (!response.body.empty()) return;
    response.set_content(is_long   ? "The body is too long.\n"
                         : is_lost ? "This page does not exist.\n"
                                   : "This request cannot be answered.\n",
                         kText);
  });
}

}  // namespace

void serve(int port, int commands, int answers) {
  // Whatever a visitor sends, the machine's memory is not theirs.
  const rlimit most{kMostMemory, kMostMemory};
  setrlimit(RLIMIT_DATA, &most);
  BoundedServer server;
  Parent parent(commands, answers);
  set_limits(server);
  set_answers(server, parent, port);
  if (port == 0)
    port = server.bind_to_any_port("127.0.0.1");
  else if (!server.bind_to_port("127.0.0.1", port))
    port = 0;
  parent.say_port(port > 0 ? port : 0);
  if (port > 0) server.listen_after_bind();
  _exit(1);
}

}  // namespace simsgd::live
