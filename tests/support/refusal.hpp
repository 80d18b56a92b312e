// What a call says when it refuses; nothing where it does not.
#pragma once

#include <string>

namespace simsgd::test {

template <typename Error, typename Call>
std::string refusal_of(const Call& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

}  // namespace simsgd::test
