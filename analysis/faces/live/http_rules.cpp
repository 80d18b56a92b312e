#include "analysis/faces/live/http_rules.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

namespace simsgd::live {

namespace {

constexpr int kUsualPort = 80;  // which browsers leave out

bool is_ours(std::string name, int port) {
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  for (const char* host : {"127.0.0.1", "localhost"})
    if (name == fmt::format("{}:{}", host, port) || (port == kUsualPort && name == host)) return true;
  return false;
}

bool is_our_origin(const std::string& origin, int port) {
  static const std::string scheme = "http://";
  return origin.starts_with(scheme) && is_ours(origin.substr(scheme.size()), port);
}

}  // namespace

std::optional<Refusal> refusal(const RequestHead& head, int port) {
  if (head.hosts.size() != 1 || !is_ours(head.hosts.front(), port))
    return Refusal{403, fmt::format("This is a server for http://127.0.0.1:{}/ alone.", port)};
  if (head.origins.size() > 1 || (!head.origins.empty() && !is_our_origin(head.origins.front(), port)))
    return Refusal{403, "Pages of other sites are not answered."};
  if (head.method == "GET" || head.method == "HEAD") return std::nullopt;
  if (head.method != "POST") return Refusal{405, "Only GET and POST are answered."};
  if (head.is_chunked || !head.has_length) return Refusal{411, "The body needs a Content-Length."};
  // A form of another site can be sent without asking, but not with this type.
  if (head.content_type != "application/json") return Refusal{415, "The body has to be application/json."};
  return std::nullopt;
}

}  // namespace simsgd::live
