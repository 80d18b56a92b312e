// simsgd worker: serves another program, such as the Python package, by JSON lines on its standard input and
// output (docs/python.md). Each request runs in a child of its own, which may fail alone;
// reading the program, starting it, and composing the language of scenarios is paid for once.
#include <fmt/format.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "analysis/runner.hpp"
#include "analysis/runs/child_pool.hpp"
#include "cli/verbs.hpp"
#include "results/document.hpp"
#include "scenarios/language/schema.hpp"
#include "sim/base/errors.hpp"
#include "sim/base/fields.hpp"
#include "sim/base/interrupts.hpp"
#include "sim/base/this_program.hpp"

namespace simsgd {

namespace {

constexpr int kProtocol = 1;

/// A file without a name, which a child writes and its parent reads, or the other way round.
class Scroll {
 public:
  explicit Scroll(const char* name) : file_(memfd_create(name, MFD_CLOEXEC)) {
    if (file_ < 0) throw RunError(fmt::format("Cannot make a file in memory: {}", std::strerror(errno)));
  }
  ~Scroll() { close(file_); }
  Scroll(const Scroll&) = delete;
  Scroll& operator=(const Scroll&) = delete;

  void write(const std::string& text) const { (void)write_all(file_, text.data(), text.size()); }
  /// The child reads it, or writes it, as this file.
  void become(int file) const {
    lseek(file_, 0, SEEK_SET);
    dup2(file_, file);
  }
  std::string contents() const {
    std::string text(static_cast<std::size_t>(lseek(file_, 0, SEEK_END)), '\0');
    lseek(file_, 0, SEEK_SET);
    (void)read_all(file_, text.data(), text.size());
    return text;
  }

 private:
  int file_;
};

struct Request {
  Json id{};
  std::vector<std::string> arguments;
  std::string input, directory;
};

/// Throws ConfigError with all that is wrong.
Request request_of(const Json& line) {
  std::vector<InputError> errors;
  const auto wrong = [&](const std::string& pointer, const std::string& problem, const std::string& remedy) {
    const Json::json_pointer place(pointer);
    errors.push_back(
        {"request", pointer, problem, line.contains(place) ? line.at(place).dump() : "", remedy});
  };
  Request request;
  if (!line.is_object()) {
    wrong("", "is not an object", R"(Write one such as {"id": 1, "arguments": ["list", "algorithms"]})");
    throw ConfigError(std::move(errors));
  }
  if (line.contains("id")) request.id = line.at("id");
  for (const auto& [key, value] : line.items()) {
    const bool text = key == "input" || key == "directory";
    if (key == "arguments") {
      if (!value.is_array() || !std::ranges::all_of(value, [](const Json& word) { return word.is_string(); }))
        wrong("/arguments", "is not a list of texts", R"(Write words as on the command line, ["run", "-"])");
      else
        request.arguments = value.get<std::vector<std::string>>();
    } else if (text && !value.is_string()) {
      wrong("/" + key, "is not a text", "Write a text");
    } else if (text) {
      (key == "input" ? request.input : request.directory) = value.get<std::string>();
    } else if (key != "id") {
      wrong("/" + key, "is not a key of a request", "Use id, arguments, input, directory or interrupt");
    }
  }
  if (!line.contains("arguments"))
    wrong("", "has no arguments", R"(Add them, such as "arguments": ["run", "-"])");
  if (!errors.empty()) throw ConfigError(std::move(errors));
  return request;
}

Json errors_json(const std::vector<InputError>& errors) {
  Json all = Json::array();
  for (const InputError& error : errors)
    all.push_back({{"file", error.file},
                   {"pointer", error.pointer},
                   {"problem", error.problem},
                   {"found", error.found},
                   {"remedy", error.remedy},
                   {"text", error.text()}});
  return all;
}

/// What others write may not be UTF-8.
void answer(const Json& line) {
  const std::string text = line.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
  if (!write_all(STDOUT_FILENO, text.data(), text.size())) _exit(1);
}

/// Takes lines off what has been read.
std::optional<std::string> next_line(std::string& read_so_far) {
  const std::size_t end = read_so_far.find('\n');
  if (end == std::string::npos) return std::nullopt;
  std::string line = read_so_far.substr(0, end);
  read_so_far.erase(0, end + 1);
  return line;
}

/// False at the end of the file.
bool read_more(int file, std::string& read_so_far) {
  std::array<char, 65536> buffer;
  const ssize_t got = read(file, buffer.data(), buffer.size());
  if (got > 0) read_so_far.append(buffer.data(), static_cast<std::size_t>(got));
  return got > 0 || (got < 0 && errno == EINTR);
}

/// Starts the program afresh with these words, in this process.
[[noreturn]] void start_afresh(const std::vector<std::string>& words) {
  std::vector<char*> arguments = {const_cast<char*>("simsgd")};
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  execv(kOwnImage, arguments.data());
  fmt::print(stderr, "Cannot start the program again: {}\n", std::strerror(errno));
  _exit(1);
}

bool names_a_library(const std::vector<std::string>& words) {
  return std::ranges::any_of(words, [](const std::string& word) { return word.starts_with("--plugin"); });
}

[[noreturn]] void be_child(const Request& request, const Scroll& input, const Scroll& output,
                           const Scroll& errors, int said) {
  input.become(STDIN_FILENO);
  output.become(STDOUT_FILENO);
  dup2(said, STDERR_FILENO);
  end_at_interrupts();
  if (!request.directory.empty() && chdir(request.directory.c_str()) != 0) {
    fmt::print(stderr, "Cannot work in {}: {}\n", request.directory, std::strerror(errno));
    _exit(2);
  }
  // The language that is here already does not have what a further library adds.
  if (names_a_library(request.arguments)) start_afresh(request.arguments);
  std::vector<InputError> wrong;
  const int code = run_command_line(request.arguments, &wrong);
  if (!wrong.empty()) errors.write(errors_json(wrong).dump(-1, ' ', false, Json::error_handler_t::replace));
  std::fflush(nullptr);
  _exit(code);
}

class WorkerVerb {
 public:
  void serve() {
    std::signal(SIGINT, SIG_IGN);  // a terminal's Ctrl-C is the other program's to pass on
    std::signal(SIGPIPE, SIG_IGN);
    const RunContext context = build_context();
    answer({{"simsgd", context.version}, {"protocol", kProtocol}});
    try {
      (void)named_choices();
    } catch (const ConfigError&) {  // of a library in the environment: each request says so
    }
    for (;;) {
      while (const auto line = next_line(commands_)) take(*line);
      if (ended_ || !read_more(STDIN_FILENO, commands_)) return;
    }
  }

 private:
  void take(const std::string& text) {
    const Json line = Json::parse(text, nullptr, false);
    if (line.is_object() && line.contains("interrupt")) return;  // of a request that has ended
    try {
      run(request_of(line));
    } catch (const ConfigError& error) {
      answer({{"id", line.is_object() ? line.value("id", Json()) : Json()},
              {"exit_code", 2},
              {"output", ""},
              {"errors", errors_json(error.errors())}});
    }
  }

  void run(const Request& request) {
    const Scroll input("input"), output("output"), errors("errors");
    input.write(request.input);
    const ChildProcess child =
        fork_child(false, [&](int, int said) { be_child(request, input, output, errors, said); });
    follow(request, child);
    close(child.answers);
    const int status = wait_for(child.process);
    Json done = {{"id", request.id},
                 {"exit_code", WIFEXITED(status) ? WEXITSTATUS(status) : 1},
                 {"output", output.contents()}};
    if (const std::string wrong = errors.contents(); !wrong.empty()) done["errors"] = Json::parse(wrong);
    if (WIFSIGNALED(status)) done["died"] = "The run " + how_it_died(status);
    answer(done);
  }

  /// Passes on what the child says, until it ends; and an interrupt to the child.
  void follow(const Request& request, const ChildProcess& child) {
    std::string said;
    for (bool open = true; open;) {
      // Commands may end before the answers are read, as in a pipe of the shell; then only the reader's end
      // counts.
      std::array<pollfd, 3> files = {
          {{child.answers, POLLIN, 0}, {ended_ ? -1 : STDIN_FILENO, POLLIN, 0}, {STDOUT_FILENO, 0, 0}}};
      if (poll(files.data(), files.size(), -1) < 0) continue;
      if (files[0].revents != 0) open = read_more(child.answers, said);
      while (const auto line = next_line(said)) answer({{"id", request.id}, {"said", *line}});
      if (files[1].revents != 0) {
        ended_ = !read_more(STDIN_FILENO, commands_);
        take_interrupts(child);
      }
      if ((files[2].revents & (POLLERR | POLLHUP)) != 0) {
        kill(child.process, SIGKILL);
        _exit(0);
      }
    }
    if (!said.empty()) answer({{"id", request.id}, {"said", said}});
  }

  /// Other commands stay for later.
  void take_interrupts(const ChildProcess& child) {
    std::string others;
    while (const auto line = next_line(commands_)) {
      const Json command = Json::parse(*line, nullptr, false);
      if (command.is_object() && command.contains("interrupt"))
        kill(child.process, SIGINT);
      else
        others += *line + "\n";
    }
    commands_ = others + commands_;
  }

  std::string commands_;  // read, and not yet taken
  bool ended_ = false;    // no more will come
};

}  // namespace

void add_worker(CLI::App& app, ExitCode&) {
  CLI::App* verb =
      app.add_subcommand("worker", "Serve another program, such as the Python package, by JSON lines");
  verb->footer(
      "Requests are JSON objects on standard input, one per line; answers go to standard output (docs/python.md).\n"
      "Example:\n  echo '{\"id\": 1, \"arguments\": [\"list\", \"algorithms\", \"--json\"]}' | simsgd worker");
  verb->callback([] { WorkerVerb().serve(); });
}

}  // namespace simsgd
