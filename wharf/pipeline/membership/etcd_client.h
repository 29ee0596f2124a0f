// EtcdClient: the few calls of etcd's v3 API that membership needs, through its JSON gateway (etcd 3.4 and later), in
// which 64-bit integers are strings and keys and values are base64. Internal to the room.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "wharf/pipeline/membership/http.h"

namespace wharf::pipeline {

struct EtcdRange {
  int64_t revision = 0;                                      // of the store, when this was so
  std::vector<std::pair<std::string, std::string>> entries;  // key and value, by key
};

// Every call fails as HttpPost, and with kDataLoss if what comes back makes no sense. Thread-safe.
class EtcdClient {
 public:
  // "http://127.0.0.1:2379", "10.0.0.1:2379".
  explicit EtcdClient(std::string endpoint);

  absl::StatusOr<int64_t> GrantLease(int64_t seconds) const;
  // kNotFound: the lease is gone.
  absl::Status KeepAlive(int64_t lease) const;
  absl::Status RevokeLease(int64_t lease) const;
  absl::Status Put(const std::string& key, const std::string& value, int64_t lease) const;
  absl::StatusOr<EtcdRange> GetPrefix(const std::string& prefix) const;
  // Returns OK at the first event on a key of that prefix at or after `revision`, after `longest`, or when the stream
  // is stopped.
  absl::Status AwaitEvent(HttpStream& stream, const std::string& prefix, int64_t revision, Nanoseconds longest) const;

 private:
  const std::string endpoint_;
};

}  // namespace wharf::pipeline
