// Libraries of ours that few commands need, opened when one does: what they link in turn would take half of
// every start of the program. Built beside the program; installed in ../lib/simsgd.
#pragma once

#include <string>

namespace simsgd {

/// The function `name` of the library; throws RunError where it cannot be opened.
void* function_of_own_library(const std::string& library, const char* name);

}  // namespace simsgd
