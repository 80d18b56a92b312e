// Who is answered: a page of ours, open on this machine. A name that an attacker's server resolves to
// 127.0.0.1 (DNS rebinding) shows in Host, and another site's page in Origin.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace simsgd::live {

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

}  // namespace simsgd::live
