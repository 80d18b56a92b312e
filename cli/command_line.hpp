#pragma once

#include <string>
#include <vector>

namespace simsgd {

struct InputError;

/// Parses the words after the program's name, runs one verb, and turns errors into sentences; returns the
/// exit code (verbs.hpp). `errors` gets what is wrong with the input too.
int run_command_line(std::vector<std::string> words, std::vector<InputError>* errors = nullptr);

}  // namespace simsgd
