#include "analysis/runs/slurm.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <poll.h>
#include <spawn.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>

#include "analysis/runs/spool.hpp"
#include "results/atomic_file.hpp"
#include "sim/base/errors.hpp"
#include "sim/base/printable.hpp"

namespace simsgd {

namespace fs = std::filesystem;

namespace {

double number_at(const nlohmann::json& scenario, const char* pointer, double otherwise) {
  const nlohmann::json::json_pointer at(pointer);
  return scenario.contains(at) && scenario.at(at).is_number() ? scenario.at(at).get<double>() : otherwise;
}

std::string quoted(const std::string& word) {
  std::string text = "'";
  for (const char letter : word) text += letter == '\'' ? std::string("'\\''") : std::string(1, letter);
  return text + "'";
}

/// As the value of a line "#SBATCH --output=": in quotation marks for its blanks, and with %% for a % that is
/// no pattern. Throws ConfigError for what would end the line or the quotation.
std::string as_log_pattern(const fs::path& folder, const std::string& file) {
  std::string text;
  for (const char letter : folder.string()) {
    if (static_cast<unsigned char>(letter) < ' ' || letter == '"' || letter == '\\')
      throw ConfigError(
          {"-o", "", "contains a character that a batch script cannot use in the name of its log",
           printable(folder.string()), "Choose a path without line breaks, quotation marks and backslashes"});
    text += letter == '%' ? "%%" : std::string(1, letter);
  }
  return "\"" + text + "/" + file + "\"";
}

/// "F.db.slurm".
std::filesystem::path slurm_directory(const std::filesystem::path& database) {
  return database.string() + ".slurm";
}

fs::path array_file(const fs::path& database, int number, const char* ending) {
  return slurm_directory(database) / fmt::format("array-{}{}", number, ending);
}

int last_array(const fs::path& database) {
  int number = 0;
  while (fs::exists(array_file(database, number + 1, ".json"))) ++number;
  return number;
}

OrderedJson record_of(const SlurmArray& array) {
  OrderedJson tasks = OrderedJson::array();
  for (const auto& each : array.tasks) tasks.push_back(points_text(each));
  return {{"name", array.name}, {"sweep", to_json(array.sweep)}, {"tasks", tasks}};
}

struct Pipe {
  std::array<int, 2> ends{-1, -1};
  Pipe() {
    if (pipe2(ends.data(), O_CLOEXEC) != 0) throw RunError("Cannot create a pipe to a program");
  }
  ~Pipe() {
    close(ends[0]);
    close_writer();
  }
  void close_writer() {
    if (ends[1] >= 0) close(ends[1]);
    ends[1] = -1;
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
};

/// Until both ends are closed.
void read_both(Pipe& out, Pipe& err, ProgramEnd& end) {
  std::array<pollfd, 2> open{{{out.ends[0], POLLIN, 0}, {err.ends[0], POLLIN, 0}}};
  std::array<std::string*, 2> texts{&end.out, &end.err};
  while (open[0].fd >= 0 || open[1].fd >= 0) {
    if (poll(open.data(), open.size(), -1) < 0 && errno != EINTR) return;
    for (std::size_t i = 0; i < 2; ++i) {
      if (open[i].fd < 0 || open[i].revents == 0) continue;
      std::array<char, 4096> bytes{};
      const ssize_t got = read(open[i].fd, bytes.data(), bytes.size());
      if (got > 0)
        texts[i]->append(bytes.data(), static_cast<std::size_t>(got));
      else if (got == 0 || errno != EINTR)
        open[i].fd = -1;
    }
  }
}

}  // namespace

double relative_cost(const nlohmann::json& scenario) {
  constexpr double kUnknownSteps = 1000;     // assumed: of stops by time or by a target
  constexpr double kLearnerOverTiming = 10;  // assumed: a small model's gradient over a step's simulation
  const bool learns = scenario.contains("learner") && scenario.at("learner").is_object();
  return number_at(scenario, "/cluster/workers", 1) * number_at(scenario, "/stop/steps", kUnknownSteps) *
         (learns ? kLearnerOverTiming : 1);
}

std::vector<std::vector<std::size_t>> balanced_parts(std::vector<WeightedPoint> points, int parts) {
  std::sort(points.begin(), points.end(), [](const WeightedPoint& a, const WeightedPoint& b) {
    return a.cost != b.cost ? a.cost > b.cost : a.position < b.position;
  });
  const std::size_t count = std::min(points.size(), static_cast<std::size_t>(std::max(1, parts)));
  std::vector<std::vector<std::size_t>> all(count);
  std::vector<double> load(count, 0);
  for (const WeightedPoint& point : points) {
    // Points without cost are dealt out too.
    const auto least = std::min_element(load.begin(), load.end()) - load.begin();
    all[static_cast<std::size_t>(least)].push_back(point.position);
    load[static_cast<std::size_t>(least)] += std::max(point.cost, 1e-9);
  }
  for (auto& part : all) std::sort(part.begin(), part.end());
  return all;
}

std::vector<SlurmArray> submitted_arrays(const fs::path& database) {
  std::vector<SlurmArray> arrays;
  for (int number = 1; number <= last_array(database); ++number) {
    const fs::path file = array_file(database, number, ".json");
    try {
      std::ifstream stream(file);
      const OrderedJson json = OrderedJson::parse(stream);
      SlurmArray array{json.at("name").get<std::string>(), study_from_json(json.at("sweep")), {}};
      for (const OrderedJson& task : json.at("tasks"))
        array.tasks.push_back(parse_points(task.get<std::string>()).positions);
      arrays.push_back(std::move(array));
    } catch (const std::exception& error) {
      throw RunError(
          fmt::format("{} is not a record of this version of simsgd ({})", file.string(), error.what()));
    }
  }
  return arrays;
}

std::string array_script(const SlurmArray& array, const ArrayScript& script, const fs::path& log_folder,
                         const std::string& log_file) {
  if (script.options.find_first_of("\r\n") != std::string::npos)
    throw ConfigError({"--slurm", "", "has a line break, which would be another line of the batch script",
                       printable(script.options), "Write all options on one line"});
  std::vector<std::string> words;
  for (const std::string& word : script.command) words.push_back(quoted(word));
  std::string text = fmt::format(
      "#!/bin/bash\n"
      "# Written by simsgd sweep submit. Each task runs its points and keeps them; it may be killed and requeued.\n"
      "#SBATCH --job-name={}\n#SBATCH --array=1-{}\n#SBATCH --output={}\n#SBATCH --open-mode=append\n",
      array.name, array.tasks.size(), as_log_pattern(log_folder, log_file));
  if (!script.options.empty()) text += "#SBATCH " + script.options + "\n";
  text += "\ncase \"$SLURM_ARRAY_TASK_ID\" in\n";
  for (std::size_t i = 0; i < array.tasks.size(); ++i)
    text += fmt::format("{}) points='{}' ;;\n", i + 1, points_text(array.tasks[i]));
  text += fmt::format("esac\n\nexec {} --jobs \"${{SLURM_CPUS_PER_TASK:-1}}\" --points - <<< \"$points\"\n",
                      fmt::join(words, " "));
  return text;
}

SubmittedJob submit_array(const SlurmRequest& request) {
  const int number = last_array(request.database) + 1;
  const std::string place = fs::absolute(request.database).string();
  SlurmArray array{"", request.sweep, request.tasks};
  array.name = "simsgd-" + name_key("slurm", fmt::format("{}\n{}", place, number)).substr(0, 8);
  const fs::path script = array_file(request.database, number, ".sh"),
                 record = array_file(request.database, number, ".json");
  const fs::path logs = fs::absolute(slurm_directory(request.database));
  write_file_atomically(script,
                        array_script(array, request.script, logs, fmt::format("array-{}-%a.log", number)));
  try {
    write_file_atomically(record, record_of(array).dump() + "\n");
    const ProgramEnd end = run_program({"sbatch", "--parsable", script.string()});
    if (end.code == 127)
      throw ConfigError(
          {"sbatch", "", "is not installed on this machine", "",
           "Submit on a machine with Slurm, or use `simsgd sweep run --shard`, which needs none"});
    if (end.code != 0)
      throw ConfigError({"sbatch", "", fmt::format("refused the array (exit code {})", end.code),
                         end.err.substr(0, end.err.find_last_not_of('\n') + 1),
                         "Correct --slurm \"OPTIONS\""});
    return {end.out.substr(0, end.out.find_first_of(";\n")), script};
  } catch (...) {
    std::error_code none;
    fs::remove(script, none);
    fs::remove(record, none);
    throw;
  }
}

SlurmLock::SlurmLock(const fs::path& database) : directory_(slurm_directory(database)) {
  std::error_code failed;
  fs::create_directories(directory_, failed);
  if (!failed) descriptor_ = ::open((directory_ / "lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (descriptor_ < 0)
    throw ConfigError(
        {directory_.string(), "", "cannot be written", "",
         fmt::format("Choose another place for -o ({})", failed ? failed.message() : std::strerror(errno))});
  if (locks(descriptor_, LOCK_EX, directory_ / "lock")) return;
  ::close(descriptor_);
  throw RunError(fmt::format("Another process is submitting points of {}", database.string()));
}

SlurmLock::~SlurmLock() {
  std::error_code none;
  fs::remove(directory_ / "lock", none);
  fs::remove(directory_, none);  // where nothing was submitted it is empty
  ::close(descriptor_);
}

ProgramEnd run_program(const std::vector<std::string>& arguments) {
  Pipe out, err;
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, out.ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, err.ends[1], STDERR_FILENO);
  std::vector<char*> words;
  for (const std::string& word : arguments) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  pid_t child = 0;
  const int failed = posix_spawnp(&child, words[0], &actions, nullptr, words.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  out.close_writer();
  err.close_writer();
  ProgramEnd end;
  if (failed != 0) {
    end.code = 127;
    return end;
  }
  read_both(out, err, end);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
  end.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return end;
}

std::optional<QueuedTasks> queued_tasks(const std::vector<SlurmArray>& arrays) {
  if (arrays.empty()) return QueuedTasks{};
  std::vector<std::string> names;
  for (const SlurmArray& array : arrays) names.push_back(array.name);
  const ProgramEnd end = run_program(
      {"squeue", "--noheader", "--array", "--name=" + fmt::format("{}", fmt::join(names, ",")),
       "--states=PENDING,RUNNING,SUSPENDED,CONFIGURING,REQUEUED,REQUEUE_HOLD", "--format=%j %K %T"});
  if (end.code != 0) return std::nullopt;
  QueuedTasks tasks;
  std::istringstream lines(end.out);
  std::string name, state;
  for (int task = 0; lines >> name >> task >> state;) tasks[{name, task}] = state == "RUNNING";
  return tasks;
}

}  // namespace simsgd
