#include "wharf/pipeline/membership/http.h"

#include <arpa/inet.h>
#include <curl/curl.h>
#include <netdb.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <utility>

#include "wharf/base/read_file.h"

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
    curl_easy_setopt(easy_, CURLOPT_CAPATH, nullptr);  // a directory that would be looked into
    SetBlob(CURLOPT_CAINFO_BLOB, access.trusted);
    SetBlob(CURLOPT_SSLCERT_BLOB, access.certificate);
    SetBlob(CURLOPT_SSLKEY_BLOB, access.key);
    if (!access.host.empty()) {
      hosts_ = curl_slist_append(nullptr, access.host.c_str());
      curl_easy_setopt(easy_, CURLOPT_RESOLVE, hosts_);
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
    curl_slist_free_all(hosts_);
  }
  CURL* get() const { return easy_; }
  long Code() const {  // NOLINT(google-runtime-int)
    long code = 0;     // NOLINT(google-runtime-int)
    curl_easy_getinfo(easy_, CURLINFO_RESPONSE_CODE, &code);
    return code;
  }

 private:
  void SetBlob(CURLoption option, const std::string& text) const {
    curl_blob blob{const_cast<char*>(text.data()), text.size(), CURL_BLOB_COPY};
    if (!text.empty()) curl_easy_setopt(easy_, option, &blob);
  }

  CURL* const easy_;
  curl_slist *headers_ = nullptr, *hosts_ = nullptr;
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

// The part of the URL, or "".
std::string PartOf(CURLU* url, CURLUPart part) {
  char* text = nullptr;
  if (curl_url_get(url, part, &text, CURLU_DEFAULT_PORT) != CURLUE_OK) return "";
  std::string copy(text);
  curl_free(text);
  return copy;
}

bool IsNumericHost(const std::string& host) {
  unsigned char binary[16];
  return host.starts_with('[') || inet_pton(AF_INET, host.c_str(), binary) == 1;
}

// "HOST:PORT:ADDRESS,ADDRESS", as CURLOPT_RESOLVE wants it.
absl::StatusOr<std::string> LookUp(const std::string& host, const std::string& port) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int error = getaddrinfo(host.c_str(), nullptr, &hints, &found);
  if (error != 0) return Unavailable("cannot find host {}: {}", host, gai_strerror(error));
  std::string known = host + ":" + port;
  char separator = ':';
  for (const addrinfo* entry = found; entry != nullptr; entry = entry->ai_next) {
    char number[NI_MAXHOST];
    if (getnameinfo(entry->ai_addr, entry->ai_addrlen, number, sizeof(number), nullptr, 0, NI_NUMERICHOST) != 0)
      continue;
    known += separator + std::string(number);
    separator = ',';
  }
  freeaddrinfo(found);
  return known;
}

}  // namespace

absl::StatusOr<HttpAccess> PrepareHttp(const std::string& url, const std::string& ca_file,
                                       const std::string& certificate_file, const std::string& key_file) {
  InitCurlOnce();
  const std::unique_ptr<CURLU, void (*)(CURLU*)> parsed(curl_url(), curl_url_cleanup);
  if (curl_url_set(parsed.get(), CURLUPART_URL, url.c_str(), 0) != CURLUE_OK) {
    return InvalidArgument("\"{}\" is no URL", url);
  }
  HttpAccess access;
  const std::string host = PartOf(parsed.get(), CURLUPART_HOST);
  if (!IsNumericHost(host)) {
    WHARF_ASSIGN_OR_RETURN(access.host, LookUp(host, PartOf(parsed.get(), CURLUPART_PORT)));
  }
  if (PartOf(parsed.get(), CURLUPART_SCHEME) != "https") return access;
  const char* const of_system = curl_version_info(CURLVERSION_NOW)->cainfo;
  const std::string trusted = ca_file.empty() && of_system != nullptr ? of_system : ca_file;
  for (const auto& [path, text] :
       {std::pair(&trusted, &access.trusted), std::pair(&certificate_file, &access.certificate),
        std::pair(&key_file, &access.key)}) {
    if (path->empty()) continue;
    WHARF_ASSIGN_OR_RETURN(*text, ReadFile(*path));
  }
  return access;
}

absl::StatusOr<std::string> HttpPost(const std::string& url, const std::string& body, Nanoseconds timeout,
                                     const HttpAccess& access) {
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
