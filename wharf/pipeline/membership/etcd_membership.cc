#include "wharf/pipeline/membership/etcd_membership.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <thread>
#include <utility>

#include "absl/time/time.h"
#include "wharf/base/json/parse_json.h"
#include "wharf/base/log.h"
#include "wharf/base/read_file.h"
#include "wharf/pipeline/membership/etcd_client.h"

namespace wharf::pipeline {
namespace {

using nlohmann::json;

constexpr Nanoseconds kLongestWatch = std::chrono::seconds(10);  // then everything is read again, in case

// Says once that etcd is away, and once that it is back.
class Outage {
 public:
  void Note(const absl::Status& status) {
    if (status.ok() == well_) return;
    well_ = status.ok();
    if (well_) {
      Log(LogLevel::kInfo, "etcd is back");
    } else {
      Log(LogLevel::kWarning, "etcd does not answer", {{"why", Message(status)}});
    }
  }

 private:
  bool well_ = true;
};

// A flag one can wait for.
class StopSign {
 public:
  void Stop() {
    absl::MutexLock lock(&mutex_);
    stopped_ = true;
  }
  // Whether it was raised within that time.
  bool WaitFor(Nanoseconds time) {
    absl::MutexLock lock(&mutex_);
    return mutex_.AwaitWithTimeout(absl::Condition(&stopped_), absl::FromChrono(time));
  }

 private:
  absl::Mutex mutex_;
  bool stopped_ ABSL_GUARDED_BY(mutex_) = false;
};

std::string ValueOf(const Member& member) {
  return json{{"class", member.gpu_class}, {"address", member.address}, {"gpus", member.gpus}}.dump();
}

absl::StatusOr<Member> MemberOf(std::string name, const std::string& value) {
  constexpr JsonLimits kLimits{.bytes = 64 << 10, .depth = 8};
  const json parsed = ParseJson(value, "a worker", kLimits).value_or(json());
  Member member{std::move(name), "", ""};
  for (const auto& [field, text] : {std::pair("class", &member.gpu_class), std::pair("address", &member.address)}) {
    if (!parsed.is_object() || !parsed.contains(field) || !parsed[field].is_string()) {
      return InvalidArgument("worker {} has no {}", member.name, field);
    }
    *text = parsed[field].get<std::string>();
  }
  if (parsed.contains("gpus")) {
    if (!parsed["gpus"].is_number_unsigned()) return InvalidArgument("worker {} has no number of GPUs", member.name);
    member.gpus = static_cast<int>(std::min<uint64_t>(parsed["gpus"].get<uint64_t>(), 1 << 20));
  }
  WHARF_RETURN_IF_ERROR(Check(member));
  return member;
}

// Keeps a member's key in etcd until destroyed.
class LeasedKey final : public Registration {
 public:
  LeasedKey(const EtcdClient& etcd, const EtcdOptions& options, std::string key, std::string value, int64_t lease)
      : etcd_(etcd), options_(options), key_(std::move(key)), value_(std::move(value)), lease_(lease) {
    thread_ = std::thread([this] { KeepAlive(); });
  }
  ~LeasedKey() override {
    stop_.Stop();
    thread_.join();
    etcd_.RevokeLease(lease_).IgnoreError();  // otherwise it ends by itself
  }

 private:
  void KeepAlive() {
    Outage outage;
    const Nanoseconds between = std::chrono::seconds(options_.lease_seconds) / 3;
    Nanoseconds pause = between;
    while (!stop_.WaitFor(pause)) {
      absl::Status kept = etcd_.KeepAlive(lease_);
      if (kept.code() == absl::StatusCode::kNotFound) kept = Renew();
      outage.Note(kept);
      pause = kept.ok() ? between : options_.retry;
    }
  }
  absl::Status Renew() {
    WHARF_ASSIGN_OR_RETURN(lease_, etcd_.GrantLease(options_.lease_seconds));
    Log(LogLevel::kInfo, "a new lease, the old one is gone", {{"key", key_}});
    return etcd_.Put(key_, value_, lease_);
  }

  const EtcdClient& etcd_;
  const EtcdOptions& options_;
  const std::string key_, value_;
  int64_t lease_;  // the thread's, then the destructor's
  StopSign stop_;
  std::thread thread_;
};

class EtcdMembership final : public Membership {
 public:
  explicit EtcdMembership(const EtcdOptions& options)
      : options_(options),
        prefix_(fmt::format("/wharf/pipeline/{}/workers/", options.cluster)),
        etcd_(options.access) {}
  absl::Status Ready() const { return etcd_.Ready(); }
  ~EtcdMembership() override {
    stop_.Stop();
    stream_.Stop();
    if (watching_.joinable()) watching_.join();
  }

  absl::StatusOr<std::unique_ptr<Registration>> Join(const Member& member) override {
    WHARF_RETURN_IF_ERROR(Check(member));
    WHARF_ASSIGN_OR_RETURN(const int64_t lease, etcd_.GrantLease(options_.lease_seconds));
    const std::string key = prefix_ + member.name, value = ValueOf(member);
    WHARF_RETURN_IF_ERROR(etcd_.Put(key, value, lease));
    return std::make_unique<LeasedKey>(etcd_, options_, key, value, lease);
  }

  View Await(int64_t seen, Nanoseconds timeout) override {
    {
      absl::MutexLock lock(&mutex_);
      if (!watching_.joinable()) watching_ = std::thread([this] { Watch(); });  // workers only join
    }
    return board_.Await(seen, timeout);
  }

 private:
  void Watch() {
    Outage outage;
    Nanoseconds pause{0};
    while (!stop_.WaitFor(pause)) {
      const absl::Status watched = LookAndWait();
      outage.Note(watched);
      pause = watched.ok() ? Nanoseconds{0} : options_.retry;
    }
  }
  // Until there may be news.
  absl::Status LookAndWait() {
    WHARF_ASSIGN_OR_RETURN(const EtcdRange range, etcd_.GetPrefix(prefix_));
    std::vector<Member> members;
    for (const auto& [key, value] : range.entries) {
      auto member = MemberOf(key.substr(prefix_.size()), value);
      if (member.ok()) {
        members.push_back(*std::move(member));
      } else {
        Log(LogLevel::kWarning, "not a worker", {{"key", key}, {"why", Message(member.status())}});
      }
    }
    board_.Post(std::move(members));
    return etcd_.AwaitEvent(stream_, prefix_, range.revision + 1, kLongestWatch);
  }

  const EtcdOptions options_;
  const std::string prefix_;
  const EtcdClient etcd_;
  ViewBoard board_;
  StopSign stop_;
  HttpStream stream_;
  absl::Mutex mutex_;
  std::thread watching_;  // started under the mutex
};

}  // namespace

absl::StatusOr<std::unique_ptr<Membership>> MakeEtcdMembership(const EtcdOptions& options) {
  if (!Check(Member{options.cluster, "any", "any"}).ok()) {
    return InvalidArgument("a cluster cannot be called \"{}\"", options.cluster);
  }
  EtcdOptions with_password = options;
  if (!options.password_file.empty()) {
    WHARF_ASSIGN_OR_RETURN(const std::string text, ReadFile(options.password_file));
    with_password.access.password = text.substr(0, text.find_first_of("\r\n"));
  }
  WHARF_RETURN_IF_ERROR(Check(with_password.access));
  auto membership = std::make_unique<EtcdMembership>(with_password);
  WHARF_RETURN_IF_ERROR(membership->Ready());
  return membership;
}

}  // namespace wharf::pipeline
