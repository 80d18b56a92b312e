#include "tests/live/served.hpp"

#include <arpa/inet.h>
#include <doctest/doctest.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "tests/analysis/support.hpp"

namespace simsgd::test {

nlohmann::json explored_study(const nlohmann::json& seeds) {
  nlohmann::json study = small_study({2, 4, 8});
  study["stragglers"] = {{{"name", "exponential"}, {"mean", "1 ms"}}};
  study["seeds"] = seeds;
  return study;
}

Served::Served(std::vector<std::string> arguments) {
  errors_ = (std::filesystem::temp_directory_path() / "simsgd_served_XXXXXX").string();
  close(mkstemp(errors_.data()));
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  arguments.insert(arguments.begin(), {SIMSGD_BINARY_DIR "/simsgd", "explore"});
  process_ = fork();
  if (process_ == 0) {
    setpgid(0, 0);
    setenv("SIMSGD_WEB", "/nowhere", 1);
    dup2(ends[1], STDOUT_FILENO);
    dup2(open(errors_.c_str(), O_WRONLY | O_TRUNC), STDERR_FILENO);
    close(ends[0]);
    close(ends[1]);
    std::vector<char*> words;
    for (std::string& each : arguments) words.push_back(each.data());
    words.push_back(nullptr);
    execv(words[0], words.data());
    _exit(99);
  }
  setpgid(process_, process_);
  close(ends[1]);
  std::string address;
  for (char letter = 0; read(ends[0], &letter, 1) == 1 && letter != '\n';) address += letter;
  close(ends[0]);
  CAPTURE(said());
  REQUIRE(address.starts_with("http://127.0.0.1:"));
  REQUIRE(address.ends_with("/"));
  port_ = std::stoi(address.substr(17));
}

Served::~Served() {
  if (process_ > 0) end(SIGTERM);
  std::filesystem::remove(errors_);
}

std::string Served::said() const {
  std::ostringstream text;
  text << std::ifstream(errors_).rdbuf();
  return text.str();
}

int Served::end(int signal) {
  kill(process_, signal);
  return ended();
}

int Served::end_all(int signal) {
  kill(-process_, signal);
  return ended();
}

int Served::ended() {
  int status = 0;
  waitpid(process_, &status, 0);
  const int group = process_;
  process_ = -1;
  // Children die with it, a moment later.
  for (int i = 0; i < 200 && kill(-group, 0) == 0; ++i) usleep(10'000);
  CHECK(kill(-group, 0) != 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

int Served::connected(const std::string& text, const std::string& address) const {
  const int file = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(static_cast<std::uint16_t>(port_));
  inet_pton(AF_INET, address.c_str(), &to.sin_addr);
  if (connect(file, reinterpret_cast<const sockaddr*>(&to), sizeof to) != 0) {
    close(file);
    return -1;
  }
  send(file, text.data(), text.size(), MSG_NOSIGNAL);
  return file;
}

HttpAnswer Served::raw(const std::string& text, const std::string& address) const {
  HttpAnswer answer;
  std::string all;
  const int file = connected(text, address);
  if (file < 0) return answer;
  std::array<char, 65536> buffer;
  for (ssize_t got = 0; (got = recv(file, buffer.data(), buffer.size(), 0)) > 0;)
    all.append(buffer.data(), static_cast<std::size_t>(got));
  close(file);
  const std::size_t end = all.find("\r\n\r\n");
  if (end == std::string::npos) return answer;
  answer.head = all.substr(0, end + 2);
  answer.body = all.substr(end + 4);
  answer.status = std::stoi(all.substr(all.find(' ')));
  return answer;
}

HttpAnswer Served::get(const std::string& path, const std::string& headers) const {
  return raw("GET " + path + " HTTP/1.1\r\nHost: 127.0.0.1:" + std::to_string(port_) + "\r\n" + headers +
             "\r\n");
}

HttpAnswer Served::post(const std::string& path, const std::string& body, const std::string& headers) const {
  return raw("POST " + path + " HTTP/1.1\r\nHost: localhost:" + std::to_string(port_) +
             "\r\nOrigin: http://localhost:" + std::to_string(port_) +
             "\r\nContent-Type: application/json\r\nContent-Length: " + std::to_string(body.size()) + "\r\n" +
             headers + "\r\n" + body);
}

nlohmann::json Served::simulated(const nlohmann::json& asked) const {
  const HttpAnswer accepted = post("/points", asked.dump());
  CAPTURE(accepted.body);
  REQUIRE(accepted.status == 202);
  nlohmann::json ticket = accepted.json();
  const auto runs = [&](const std::string& state) {
    for (const nlohmann::json& each : ticket["runs"])
      if (each["state"] == state) return true;
    return false;
  };
  for (int i = 0; i < 3000 && (runs("waiting") || runs("running")); ++i) {
    usleep(10'000);
    ticket = get("/point?ticket=" + std::to_string(ticket["ticket"].get<int>())).json();
  }
  return ticket;
}

}  // namespace simsgd::test
