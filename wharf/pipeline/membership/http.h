// POST over HTTP by libcurl: one call, or a response that goes on. Proxies of the environment are not used. Internal to
// the room.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "wharf/base/clock.h"
#include "wharf/base/status.h"

namespace wharf::pipeline {

inline constexpr size_t kMaxHttpResponse = 16 << 20;

// The body of the response. kUnavailable: nobody answers in time; kInternal: the server says it is not well, and how;
// kResourceExhausted: a response beyond kMaxHttpResponse.
absl::StatusOr<std::string> HttpPost(const std::string& url, const std::string& body, Nanoseconds timeout);

// A response read as it comes. One thread runs, any may stop it.
class HttpStream {
 public:
  HttpStream();
  ~HttpStream();
  // Hands on what comes until `on_bytes` says false, `longest` has passed or Stop was called: OK; otherwise as
  // HttpPost.
  absl::Status Run(const std::string& url, const std::string& body, Nanoseconds longest,
                   const std::function<bool(std::string_view)>& on_bytes);
  // For good.
  void Stop();

 private:
  struct State;
  const std::unique_ptr<State> state_;
};

}  // namespace wharf::pipeline
