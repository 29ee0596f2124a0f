#include "wharf/pipeline/membership/etcd_client.h"

#include <charconv>
#include <nlohmann/json.hpp>

#include "absl/strings/escaping.h"
#include "wharf/base/json/parse_json.h"

namespace wharf::pipeline {
namespace {

using nlohmann::json;

constexpr Nanoseconds kTimeout = std::chrono::seconds(3);  // of one call

std::string Base64(const std::string& text) { return absl::Base64Escape(text); }

// The first key behind all that begin with the prefix.
std::string EndOf(std::string prefix) {
  ++prefix.back();
  return prefix;
}

// Its own answers are a few objects deep.
constexpr JsonLimits kLimits{.bytes = kMaxHttpResponse, .depth = 16};

absl::StatusOr<json> Parse(const std::string& text) {
  absl::StatusOr<json> parsed = ParseJson(text, "an answer", kLimits);
  if (!parsed.ok() || !parsed->is_object()) return DataLoss("etcd answers something that is no JSON object");
  return parsed;
}

absl::StatusOr<json> Parse(const absl::StatusOr<std::string>& response) {
  WHARF_RETURN_IF_ERROR(response.status());
  return Parse(*response);
}

// Of an integer that is written as a string, as 64-bit ones are; 0 is left out.
absl::StatusOr<int64_t> Integer(const json& object, const char* field) {
  const auto found = object.find(field);
  if (found == object.end()) return 0;
  if (!found->is_string()) return DataLoss("etcd answers a {} that is no integer", field);
  const auto& text = found->get_ref<const std::string&>();
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size())
    return DataLoss("etcd answers \"{}\" as {}", text, field);
  return value;
}

absl::StatusOr<std::string> Decoded(const json& object, const char* field) {
  const auto found = object.find(field);
  if (found == object.end()) return std::string();  // empty ones are left out
  std::string decoded;
  if (!found->is_string() || !absl::Base64Unescape(found->get_ref<const std::string&>(), &decoded)) {
    return DataLoss("etcd answers a {} that is not base64", field);
  }
  return decoded;
}

// One JSON object a line: whether it tells of an event, or that the watch ended; both are reasons to look again.
absl::StatusOr<bool> IsEvent(const std::string& line) {
  WHARF_ASSIGN_OR_RETURN(const json message, Parse(line));
  if (message.contains("error")) return Unavailable("etcd ends the watch: {}", message["error"].dump().substr(0, 200));
  const auto result = message.find("result");
  if (result == message.end() || !result->is_object()) return DataLoss("etcd sends a watch no result");
  return result->contains("events") || result->contains("canceled");
}

}  // namespace

absl::Status Check(const EtcdAccess& access) {
  if (access.certificate_file.empty() != access.key_file.empty()) {
    return InvalidArgument("--etcd-cert and --etcd-key go together");
  }
  if (access.user.empty() != access.password.empty()) {
    return InvalidArgument("--etcd-user and --etcd-password-file go together");
  }
  const bool encrypted = access.endpoint.starts_with("https://");
  if (!encrypted && !(access.ca_file.empty() && access.certificate_file.empty())) {
    return InvalidArgument("--etcd-ca, --etcd-cert and --etcd-key need an --etcd that begins with https://");
  }
  const bool local = access.endpoint.starts_with("http://127.") || access.endpoint.starts_with("http://localhost:");
  if (!encrypted && !local && !access.user.empty()) {
    return InvalidArgument("the password would travel in the clear: give an --etcd that begins with https://");
  }
  return absl::OkStatus();
}

EtcdClient::EtcdClient(EtcdAccess access)
    : access_([&] {
        if (access.endpoint.find("://") == std::string::npos) access.endpoint = "http://" + access.endpoint;
        return std::move(access);
      }()),
      http_(PrepareHttp(access_.endpoint, access_.ca_file, access_.certificate_file, access_.key_file)) {}

absl::StatusOr<HttpAccess> EtcdClient::Http(const std::string& token) const {
  WHARF_ASSIGN_OR_RETURN(HttpAccess http, http_);
  http.authorization = token;
  return http;
}

absl::StatusOr<std::string> EtcdClient::Token() const {
  if (access_.user.empty()) return std::string();
  {
    absl::MutexLock lock(&mutex_);
    if (!token_.empty()) return token_;
  }
  const json request{{"name", access_.user}, {"password", access_.password}};
  WHARF_ASSIGN_OR_RETURN(const HttpAccess http, Http(""));
  const auto response = HttpPost(access_.endpoint + "/v3/auth/authenticate", request.dump(), kTimeout, http);
  if (absl::IsUnavailable(response.status())) return response.status();
  if (!response.ok()) return Unauthenticated("etcd does not let {} in: {}", access_.user, Message(response.status()));
  WHARF_ASSIGN_OR_RETURN(const json answer, Parse(*response));
  const auto token = answer.find("token");
  if (token == answer.end() || !token->is_string()) return DataLoss("etcd answers a password without a token");
  absl::MutexLock lock(&mutex_);
  return token_ = token->get<std::string>();
}

void EtcdClient::Forget(const std::string& token) const {
  absl::MutexLock lock(&mutex_);
  if (token_ == token) token_.clear();
}

absl::StatusOr<std::string> EtcdClient::Call(const std::string& path, const std::string& request) const {
  WHARF_ASSIGN_OR_RETURN(const std::string token, Token());
  WHARF_ASSIGN_OR_RETURN(HttpAccess http, Http(token));
  auto response = HttpPost(access_.endpoint + path, request, kTimeout, http);
  if (token.empty() || !absl::IsUnauthenticated(response.status())) return response;
  Forget(token);  // it was not used for too long, or etcd has restarted
  WHARF_ASSIGN_OR_RETURN(http.authorization, Token());
  return HttpPost(access_.endpoint + path, request, kTimeout, http);
}

absl::StatusOr<int64_t> EtcdClient::GrantLease(int64_t seconds) const {
  WHARF_ASSIGN_OR_RETURN(const json answer,
                         Parse(Call("/v3/lease/grant", json{{"TTL", std::to_string(seconds)}}.dump())));
  WHARF_ASSIGN_OR_RETURN(const int64_t lease, Integer(answer, "ID"));
  if (lease == 0) return DataLoss("etcd grants a lease without a number");
  return lease;
}

absl::Status EtcdClient::KeepAlive(int64_t lease) const {
  WHARF_ASSIGN_OR_RETURN(const json answer,
                         Parse(Call("/v3/lease/keepalive", json{{"ID", std::to_string(lease)}}.dump())));
  const auto result = answer.find("result");
  if (result == answer.end() || !result->is_object()) return DataLoss("etcd answers a keep-alive without a result");
  WHARF_ASSIGN_OR_RETURN(const int64_t seconds, Integer(*result, "TTL"));
  if (seconds <= 0) return NotFound("lease {} is gone", lease);
  return absl::OkStatus();
}

absl::Status EtcdClient::RevokeLease(int64_t lease) const {
  return Parse(Call("/v3/lease/revoke", json{{"ID", std::to_string(lease)}}.dump())).status();
}

absl::Status EtcdClient::Put(const std::string& key, const std::string& value, int64_t lease) const {
  const json request = {{"key", Base64(key)}, {"value", Base64(value)}, {"lease", std::to_string(lease)}};
  return Parse(Call("/v3/kv/put", request.dump())).status();
}

absl::StatusOr<EtcdRange> EtcdClient::GetPrefix(const std::string& prefix) const {
  const json request = {{"key", Base64(prefix)}, {"range_end", Base64(EndOf(prefix))}};
  WHARF_ASSIGN_OR_RETURN(const json answer, Parse(Call("/v3/kv/range", request.dump())));
  EtcdRange range;
  if (const auto header = answer.find("header"); header != answer.end() && header->is_object()) {
    WHARF_ASSIGN_OR_RETURN(range.revision, Integer(*header, "revision"));
  }
  if (range.revision <= 0) return DataLoss("etcd answers without a revision");
  const auto entries = answer.find("kvs");
  if (entries == answer.end()) return range;
  if (!entries->is_array()) return DataLoss("etcd answers no list of keys");
  for (const json& entry : *entries) {
    if (!entry.is_object()) return DataLoss("etcd answers a key that is no object");
    WHARF_ASSIGN_OR_RETURN(std::string key, Decoded(entry, "key"));
    WHARF_ASSIGN_OR_RETURN(std::string value, Decoded(entry, "value"));
    range.entries.emplace_back(std::move(key), std::move(value));
  }
  return range;
}

absl::Status EtcdClient::AwaitEvent(HttpStream& stream, const std::string& prefix, int64_t revision,
                                    Nanoseconds longest) const {
  const json request = {
      {"create_request",
       {{"key", Base64(prefix)}, {"range_end", Base64(EndOf(prefix))}, {"start_revision", std::to_string(revision)}}}};
  std::string pending;
  absl::Status malformed;
  WHARF_ASSIGN_OR_RETURN(const std::string token, Token());
  WHARF_ASSIGN_OR_RETURN(const HttpAccess http, Http(token));
  const auto on_bytes = [&](std::string_view bytes) {
    pending += bytes;
    for (size_t end = 0; (end = pending.find('\n')) != std::string::npos; pending.erase(0, end + 1)) {
      const auto event = IsEvent(pending.substr(0, end));
      malformed = event.status();
      if (!event.ok() || *event) return false;
    }
    if (pending.size() > kMaxHttpResponse) malformed = ResourceExhausted("etcd sends a line without an end");
    return malformed.ok();
  };
  const absl::Status ended = stream.Run(access_.endpoint + "/v3/watch", request.dump(), longest, http, on_bytes);
  if (absl::IsUnauthenticated(ended)) Forget(token);
  return malformed.ok() ? ended : malformed;
}

}  // namespace wharf::pipeline
