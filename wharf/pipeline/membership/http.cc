#include "wharf/pipeline/membership/http.h"

#include <curl/curl.h>

#include <algorithm>
#include <atomic>
#include <mutex>

namespace wharf::pipeline {
namespace {

constexpr long kConnectMs = 2000, kKeepAliveSeconds = 5, kHttpOk = 200,
               kHttpUnauthorized = 401;  // NOLINT(google-runtime-int): libcurl's type

void InitCurlOnce() {
  static std::once_flag once;
  std::call_once(once, [] { curl_global_init(CURL_GLOBAL_DEFAULT); });
}

// What arrived, and whom to tell. `receive` returns false to end the transfer.
struct Sink {
  std::function<bool(std::string_view)> receive;
};

size_t OnBytes(char* data, size_t size, size_t count, void* sink) {
  const size_t bytes = size * count;
  return static_cast<Sink*>(sink)->receive({data, bytes}) ? bytes : 0;  // 0: libcurl ends the transfer
}

class Transfer {
 public:
  Transfer(const std::string& url, const std::string& body, const HttpAccess& access, Sink& sink)
      : easy_(curl_easy_init()) {
    headers_ = curl_slist_append(nullptr, "Content-Type: application/json");
    headers_ = curl_slist_append(headers_, "Expect:");
    if (!access.authorization.empty()) {
      headers_ = curl_slist_append(headers_, ("Authorization: " + access.authorization).c_str());
    }
    curl_easy_setopt(easy_, CURLOPT_SSLVERSION, static_cast<long>(CURL_SSLVERSION_TLSv1_2));  // or later
    if (!access.ca_file.empty()) curl_easy_setopt(easy_, CURLOPT_CAINFO, access.ca_file.c_str());
    if (!access.certificate_file.empty()) {
      curl_easy_setopt(easy_, CURLOPT_SSLCERT, access.certificate_file.c_str());
      curl_easy_setopt(easy_, CURLOPT_SSLKEY, access.key_file.c_str());
    }
    curl_easy_setopt(easy_, CURLOPT_URL, url.c_str());
    curl_easy_setopt(easy_, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(easy_, CURLOPT_PROXY, "");
    curl_easy_setopt(easy_, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(easy_, CURLOPT_CONNECTTIMEOUT_MS, kConnectMs);
    curl_easy_setopt(easy_, CURLOPT_TCP_KEEPALIVE, 1L);
    curl_easy_setopt(easy_, CURLOPT_TCP_KEEPIDLE, kKeepAliveSeconds);
    curl_easy_setopt(easy_, CURLOPT_TCP_KEEPINTVL, kKeepAliveSeconds);
    curl_easy_setopt(easy_, CURLOPT_HTTPHEADER, headers_);
    curl_easy_setopt(easy_, CURLOPT_POSTFIELDSIZE, static_cast<long>(body.size()));  // NOLINT(google-runtime-int)
    curl_easy_setopt(easy_, CURLOPT_COPYPOSTFIELDS, body.c_str());
    curl_easy_setopt(easy_, CURLOPT_WRITEFUNCTION, &OnBytes);
    curl_easy_setopt(easy_, CURLOPT_WRITEDATA, &sink);
  }
  Transfer(const Transfer&) = delete;
  Transfer& operator=(const Transfer&) = delete;
  ~Transfer() {
    curl_easy_cleanup(easy_);
    curl_slist_free_all(headers_);
  }
  CURL* get() const { return easy_; }
  long Code() const {  // NOLINT(google-runtime-int)
    long code = 0;     // NOLINT(google-runtime-int)
    curl_easy_getinfo(easy_, CURLINFO_RESPONSE_CODE, &code);
    return code;
  }

 private:
  CURL* const easy_;
  curl_slist* headers_ = nullptr;
};

absl::Status CurlStatus(CURLcode code, const std::string& url) {
  if (code == CURLE_OK) return absl::OkStatus();
  return Unavailable("{}: {}", url, curl_easy_strerror(code));
}

absl::Status ResponseStatus(long code, const std::string& url, std::string_view says) {  // NOLINT(google-runtime-int)
  if (code == kHttpOk) return absl::OkStatus();
  const auto kind = code == kHttpUnauthorized ? absl::StatusCode::kUnauthenticated : absl::StatusCode::kInternal;
  return MakeStatus(kind, "{}: {} {}", url, code, says.substr(0, 200));
}

}  // namespace

absl::StatusOr<std::string> HttpPost(const std::string& url, const std::string& body, Nanoseconds timeout,
                                     const HttpAccess& access) {
  InitCurlOnce();
  std::string response;
  Sink sink{[&](std::string_view bytes) {
    if (response.size() + bytes.size() > kMaxHttpResponse) return false;
    response += bytes;
    return true;
  }};
  const Transfer transfer(url, body, access, sink);
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(timeout).count();
  curl_easy_setopt(transfer.get(), CURLOPT_TIMEOUT_MS, static_cast<long>(ms));  // NOLINT(google-runtime-int)
  const CURLcode code = curl_easy_perform(transfer.get());
  if (code == CURLE_WRITE_ERROR) return ResourceExhausted("{}: more than {} bytes", url, kMaxHttpResponse);
  WHARF_RETURN_IF_ERROR(CurlStatus(code, url));
  WHARF_RETURN_IF_ERROR(ResponseStatus(transfer.Code(), url, response));
  return response;
}

struct HttpStream::State {
  CURLM* multi = nullptr;
  std::atomic<bool> stopped = false;
};

HttpStream::HttpStream() : state_(std::make_unique<State>()) {
  InitCurlOnce();
  state_->multi = curl_multi_init();
}

HttpStream::~HttpStream() { curl_multi_cleanup(state_->multi); }

void HttpStream::Stop() {
  state_->stopped = true;
  curl_multi_wakeup(state_->multi);
}

absl::Status HttpStream::Run(const std::string& url, const std::string& body, Nanoseconds longest,
                             const HttpAccess& access, const std::function<bool(std::string_view)>& on_bytes) {
  bool enough = false;
  Sink sink{[&](std::string_view bytes) { return !(enough = !on_bytes(bytes)); }};
  const Transfer transfer(url, body, access, sink);
  curl_multi_add_handle(state_->multi, transfer.get());
  const TimePoint deadline = Clock::Real().Now() + longest;
  int running = 1;
  for (;;) {
    curl_multi_perform(state_->multi, &running);
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::Real().Now()).count();
    if (running == 0 || enough || state_->stopped || left <= 0) break;
    curl_multi_poll(state_->multi, nullptr, 0, static_cast<int>(std::min<int64_t>(left, 1000)), nullptr);
  }
  absl::Status ended;
  int queued = 0;
  if (const CURLMsg* message = curl_multi_info_read(state_->multi, &queued); message != nullptr && !enough) {
    ended = CurlStatus(message->data.result, url);
    if (ended.ok()) ended = ResponseStatus(transfer.Code(), url, "");
    if (ended.ok()) ended = Unavailable("{}: the stream ended", url);
  }
  curl_multi_remove_handle(state_->multi, transfer.get());
  return ended;
}

}  // namespace wharf::pipeline
