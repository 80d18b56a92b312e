// `simsgd explore` as a program of its own, and a visitor who speaks HTTP over a plain socket.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace simsgd::test {

struct HttpAnswer {
  int status = 0;    ///< 0: no answer
  std::string head;  ///< status line and headers
  std::string body;
  nlohmann::json json() const { return nlohmann::json::parse(body); }
};

/// Workers 2, 4 and 8; each seed straggles differently.
nlohmann::json explored_study(const nlohmann::json& seeds = 2);

class Served {
 public:
  /// Starts it and reads its address. Without what draws, so that pages are small.
  explicit Served(std::vector<std::string> arguments);
  ~Served();
  Served(const Served&) = delete;
  Served& operator=(const Served&) = delete;

  int port() const { return port_; }
  /// A connection on which so much was sent; -1 where there is none.
  int connected(const std::string& text, const std::string& address = "127.0.0.1") const;
  /// Of the loopback's addresses; the text is sent as it is.
  HttpAnswer raw(const std::string& text, const std::string& address = "127.0.0.1") const;
  HttpAnswer get(const std::string& path, const std::string& headers = "") const;
  HttpAnswer post(const std::string& path, const std::string& body, const std::string& headers = "") const;
  /// Has a point simulated and waits for its end: the ticket.
  nlohmann::json simulated(const nlohmann::json& asked) const;

  /// What it wrote to standard error so far.
  std::string said() const;
  /// Ends it by a signal; its exit code.
  int end(int signal);
  /// The same where all of its processes hear the signal, as from a terminal.
  int end_all(int signal);

 private:
  int ended();

  int process_ = -1, port_ = 0;
  std::string errors_;
};

}  // namespace simsgd::test
