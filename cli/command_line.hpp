#pragma once

namespace simsgd {

/// Parses the command line, runs one verb, and turns errors into sentences; returns the exit code
/// (verbs.hpp).
int run_command_line(int argc, char** argv);

}  // namespace simsgd
