#include "wharf/pipeline/membership/etcd_client.h"

#include <charconv>
#include <nlohmann/json.hpp>

#include "absl/strings/escaping.h"

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

absl::StatusOr<json> Parse(const std::string& text) {
  json parsed = json::parse(text, nullptr, false);
  if (!parsed.is_object()) return DataLoss("etcd answers something that is no JSON object");
  return parsed;
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

absl::StatusOr<json> Call(const std::string& url, const json& request) {
  WHARF_ASSIGN_OR_RETURN(const std::string response, HttpPost(url, request.dump(), kTimeout));
  return Parse(response);
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

EtcdClient::EtcdClient(std::string endpoint)
    : endpoint_(endpoint.find("://") == std::string::npos ? "http://" + endpoint : std::move(endpoint)) {}

absl::StatusOr<int64_t> EtcdClient::GrantLease(int64_t seconds) const {
  WHARF_ASSIGN_OR_RETURN(const json answer,
                         Call(endpoint_ + "/v3/lease/grant", json{{"TTL", std::to_string(seconds)}}));
  WHARF_ASSIGN_OR_RETURN(const int64_t lease, Integer(answer, "ID"));
  if (lease == 0) return DataLoss("etcd grants a lease without a number");
  return lease;
}

absl::Status EtcdClient::KeepAlive(int64_t lease) const {
  WHARF_ASSIGN_OR_RETURN(const json answer,
                         Call(endpoint_ + "/v3/lease/keepalive", json{{"ID", std::to_string(lease)}}));
  const auto result = answer.find("result");
  if (result == answer.end() || !result->is_object()) return DataLoss("etcd answers a keep-alive without a result");
  WHARF_ASSIGN_OR_RETURN(const int64_t seconds, Integer(*result, "TTL"));
  if (seconds <= 0) return NotFound("lease {} is gone", lease);
  return absl::OkStatus();
}

absl::Status EtcdClient::RevokeLease(int64_t lease) const {
  return Call(endpoint_ + "/v3/lease/revoke", json{{"ID", std::to_string(lease)}}).status();
}

absl::Status EtcdClient::Put(const std::string& key, const std::string& value, int64_t lease) const {
  return Call(endpoint_ + "/v3/kv/put",
              json{{"key", Base64(key)}, {"value", Base64(value)}, {"lease", std::to_string(lease)}})
      .status();
}

absl::StatusOr<EtcdRange> EtcdClient::GetPrefix(const std::string& prefix) const {
  WHARF_ASSIGN_OR_RETURN(const json answer, Call(endpoint_ + "/v3/kv/range",
                                                 json{{"key", Base64(prefix)}, {"range_end", Base64(EndOf(prefix))}}));
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
  const absl::Status ended = stream.Run(endpoint_ + "/v3/watch", request.dump(), longest, [&](std::string_view bytes) {
    pending += bytes;
    for (size_t end = 0; (end = pending.find('\n')) != std::string::npos; pending.erase(0, end + 1)) {
      const auto event = IsEvent(pending.substr(0, end));
      malformed = event.status();
      if (!event.ok() || *event) return false;
    }
    if (pending.size() > kMaxHttpResponse) malformed = ResourceExhausted("etcd sends a line without an end");
    return malformed.ok();
  });
  return malformed.ok() ? ended : malformed;
}

}  // namespace wharf::pipeline
