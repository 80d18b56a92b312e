// The library that links the HTTP library, which is large: what visitors meet.
#include <httplib.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "analysis/faces/live/front.hpp"

namespace simsgd::live {

namespace {

constexpr const char* kText = "text/plain; charset=utf-8";
constexpr std::size_t kThreads = 32;  // browsers open connections ahead, and some visitors are slow
constexpr std::size_t kMostHead = 65536;
constexpr std::chrono::seconds kPatience{5}, kSlowestReply{60};

// The body as it is, where the library would compress for longer than it takes to send it over the loopback.
void put(httplib::Response& response, Reply reply) {
  response.status = reply.status;
  if (reply.status >= 400) return response.set_content(reply.body, reply.type.c_str());
  const auto kept = std::make_shared<const std::string>(std::move(reply.body));
  response.set_content_provider(kept->size(), reply.type,
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

void set_answers(httplib::Server& server, const Desk& desk, const int& port) {
  server.set_pre_routing_handler(
      [&desk, &port](const httplib::Request& request, httplib::Response& response) {
        const RequestHead head{request.method,
                               all_of(request, "Host"),
                               all_of(request, "Origin"),
                               request.get_header_value("Content-Type"),
                               request.has_header("Content-Length"),
                               request.has_header("Transfer-Encoding")};
        const std::optional<Refusal> refused = desk.refuses(head, port);
        if (!refused) return httplib::Server::HandlerResponse::Unhandled;
        put(response, {refused->status, kText, refused->why + "\n"});
        return httplib::Server::HandlerResponse::Handled;
      });
  const auto get = [&](const char* path, Ask ask) {
    server.Get(path, [&desk, ask](const httplib::Request& request, httplib::Response& response) {
      put(response,
          desk.answers(ask, ask == Ask::point ? request.get_param_value("ticket").substr(0, kMostBody) : ""));
    });
  };
  get("/", Ask::page);
  get("/report", Ask::report);
  get("/controls", Ask::controls);
  get("/state", Ask::state);
  get("/point", Ask::point);
  const auto post = [&](const char* path, Ask ask) {
    server.Post(path, [&desk, ask](const httplib::Request& request, httplib::Response& response) {
      put(response, desk.answers(ask, request.body));
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

extern "C" __attribute__((visibility("default"))) void simsgd_serve_http(int port, const Desk& desk) {
  BoundedServer server;
  set_limits(server);
  set_answers(server, desk, port);
  if (port == 0)
    port = server.bind_to_any_port("127.0.0.1");
  else if (!server.bind_to_port("127.0.0.1", port))
    port = 0;
  desk.opens_at(port > 0 ? port : 0);
  if (port > 0) server.listen_after_bind();
}

}  // namespace simsgd::live
