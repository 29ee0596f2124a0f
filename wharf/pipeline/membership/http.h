// POST over HTTP by libcurl: one call, or a response that goes on. Proxies of the environment are not used. Calls open
// no file and look up no name: what they need is read before. Internal to the room.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "wharf/base/clock.h"
#include "wharf/base/status.h"

namespace wharf::pipeline {

inline constexpr size_t kMaxHttpResponse = 16 << 20;

// Who we are, whom we trust, and where they are.
struct HttpAccess {
  std::string trusted, certificate, key;  // in PEM format; "": none. The key is never logged
  std::string host;                       // what libcurl is to know of the server's name; "": it is a number
  std::string authorization;              // the header's value; "": there is none. Never logged
};
// Reads the files of that name, "" of `ca_file` being the system's CAs, and looks up the host of `url`. ErrnoStatus for
// a file, kInvalidArgument for what is no URL, kUnavailable if the name is not known.
absl::StatusOr<HttpAccess> PrepareHttp(const std::string& url, const std::string& ca_file,
                                       const std::string& certificate_file, const std::string& key_file);

// The body of the response. kUnavailable: nobody answers in time, or is not who he should be; kUnauthenticated: the
// server does not know us (401); kInternal: it says it is not well, and how; kResourceExhausted: a response beyond
// kMaxHttpResponse.
absl::StatusOr<std::string> HttpPost(const std::string& url, const std::string& body, Nanoseconds timeout,
                                     const HttpAccess& access);

// A response read as it comes. One thread runs, any may stop it.
class HttpStream {
 public:
  HttpStream();
  ~HttpStream();
  // Hands on what comes until `on_bytes` says false, `longest` has passed or Stop was called: OK; otherwise as
  // HttpPost.
  absl::Status Run(const std::string& url, const std::string& body, Nanoseconds longest, const HttpAccess& access,
                   const std::function<bool(std::string_view)>& on_bytes);
  // For good.
  void Stop();

 private:
  struct State;
  const std::unique_ptr<State> state_;
};

}  // namespace wharf::pipeline
