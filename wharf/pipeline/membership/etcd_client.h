// EtcdClient: the few calls of etcd's v3 API that membership needs, through its JSON gateway (etcd 3.4 and later), in
// which 64-bit integers are strings and keys and values are base64. Internal to the room.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "wharf/pipeline/membership/etcd_access.h"
#include "wharf/pipeline/membership/http.h"

namespace wharf::pipeline {

struct EtcdRange {
  int64_t revision = 0;                                      // of the store, when this was so
  std::vector<std::pair<std::string, std::string>> entries;  // key and value, by key
};

// Every call fails as HttpPost, and with kDataLoss if what comes back makes no sense. kUnauthenticated: etcd does not
// take the user or the password. Thread-safe.
class EtcdClient {
 public:
  // Reads its files and looks up etcd's name, as PrepareHttp: no call does. If that fails, Ready says so, and every
  // call fails alike.
  explicit EtcdClient(EtcdAccess access);
  absl::Status Ready() const { return http_.status(); }

  absl::StatusOr<int64_t> GrantLease(int64_t seconds) const;
  // kNotFound: the lease is gone.
  absl::Status KeepAlive(int64_t lease) const;
  absl::Status RevokeLease(int64_t lease) const;
  absl::Status Put(const std::string& key, const std::string& value, int64_t lease) const;
  absl::StatusOr<EtcdRange> GetPrefix(const std::string& prefix) const;
  // Returns OK at the first event on a key of that prefix at or after `revision`, after `longest`, or when the stream
  // is stopped.
  absl::Status AwaitEvent(HttpStream& stream, const std::string& prefix, int64_t revision, Nanoseconds longest) const;

  // The JSON object that a call answers.
  absl::StatusOr<std::string> Call(const std::string& path, const std::string& request) const;

 private:
  absl::StatusOr<HttpAccess> Http(const std::string& token) const;
  // What etcd gives us for user and password, and takes for some minutes; "" without a user.
  absl::StatusOr<std::string> Token() const;
  void Forget(const std::string& token) const;

  const EtcdAccess access_;
  const absl::StatusOr<HttpAccess> http_;
  mutable absl::Mutex mutex_;
  mutable std::string token_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace wharf::pipeline
