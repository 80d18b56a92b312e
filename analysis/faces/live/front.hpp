// The server's part that meets visitors: a process of its own, with the threads of an HTTP library, so that
// the one that simulates has none and can fork. It knows no files and no results: it asks its parent, message
// by message, and passes on what that says.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "analysis/runs/child_pool.hpp"

namespace simsgd::live {

/// What a visitor asks for; other paths do not reach the parent.
enum class Ask : char {
  page = 'p',
  report = 'r',
  controls = 'c',
  state = 's',
  point = 't',
  simulate = 'x',
  drop = 'd'
};

struct Reply {
  int status = 200;
  std::string type;  ///< "application/json; charset=utf-8"
  std::string body;
};

class Front {
 public:
  /// Listens on 127.0.0.1; port 0 is any that is free. Throws ConfigError where the port is taken, RunError.
  explicit Front(int port);
  ~Front();
  Front(const Front&) = delete;
  Front& operator=(const Front&) = delete;

  int port() const { return port_; }
  /// Can be read when a visitor asks.
  int wakes() const { return process_.answers; }
  /// Answers those that ask now. Throws RunError where the process is gone.
  void answer(const std::function<Reply(Ask ask, const std::string& body)>& answers) const;

 private:
  ChildProcess process_;
  int port_ = 0;
};

// Who is answered: a page of ours, open on this machine. A name that an attacker's server resolves to
// 127.0.0.1 (DNS rebinding) shows in Host, and another site's page in Origin.

/// The longest body that is read, bytes.
inline constexpr std::size_t kMostBody = 4096;

/// What decides of a request, as it came.
struct RequestHead {
  std::string method;
  std::vector<std::string> hosts, origins;  ///< all headers of that name
  std::string content_type;
  bool has_length = false, is_chunked = false;
};

/// A status of HTTP and a sentence.
struct Refusal {
  int status = 0;
  std::string why;
};

/// Why the request is not answered by the server at 127.0.0.1:`port`; nothing where it is.
std::optional<Refusal> refusal(const RequestHead& head, int port);

/// What the library that speaks HTTP (http_module.cpp) asks, from several threads.
struct Desk {
  std::function<std::optional<Refusal>(const RequestHead& head, int port)> refuses;
  std::function<Reply(Ask ask, const std::string& body)> answers;
  std::function<void(int port)> opens_at;  ///< 0 where the port is taken
};

}  // namespace simsgd::live
