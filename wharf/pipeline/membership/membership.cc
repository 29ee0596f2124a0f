#include "wharf/pipeline/membership/membership.h"

#include <algorithm>
#include <cctype>
#include <utility>

#include "absl/time/time.h"

namespace wharf::pipeline {
namespace {

constexpr size_t kMaxField = 200;
constexpr int kMaxGpus = 64;  // as in a cluster's file

bool IsField(const std::string& text, std::string_view marks) {
  return !text.empty() && text.size() <= kMaxField && std::all_of(text.begin(), text.end(), [&](unsigned char c) {
    return std::isalnum(c) != 0 || marks.find(static_cast<char>(c)) != std::string_view::npos;
  });
}

}  // namespace

absl::Status Check(const Member& member) {
  if (!IsField(member.name, "._-:[]")) return InvalidArgument("a worker cannot be called \"{}\"", member.name);
  if (!IsField(member.gpu_class, "._-:[]")) return InvalidArgument("no class is called \"{}\"", member.gpu_class);
  if (!IsField(member.address, "._-:[]/")) return InvalidArgument("\"{}\" is no address of a worker", member.address);
  if (member.gpus < 1 || member.gpus > kMaxGpus) return InvalidArgument("a worker of {} GPUs", member.gpus);
  return absl::OkStatus();
}

void ViewBoard::Post(std::vector<Member> members) {
  std::sort(members.begin(), members.end(), [](const Member& a, const Member& b) { return a.name < b.name; });
  absl::MutexLock lock(&mutex_);
  if (view_.version > 0 && view_.members == members) return;
  ++view_.version;
  view_.members = std::move(members);
  changed_.SignalAll();
}

View ViewBoard::Await(int64_t seen, Nanoseconds timeout) const {
  const absl::Time deadline = absl::Now() + absl::FromChrono(timeout);
  absl::MutexLock lock(&mutex_);
  while (view_.version == seen) {
    if (changed_.WaitWithDeadline(&mutex_, deadline)) break;
  }
  return view_;
}

class MemoryMembership::Joined final : public Registration {
 public:
  Joined(MemoryMembership& membership, std::string name, int64_t number)
      : membership_(membership), name_(std::move(name)), number_(number) {}
  ~Joined() override { membership_.Leave(name_, number_); }

 private:
  MemoryMembership& membership_;
  const std::string name_;
  const int64_t number_;
};

absl::StatusOr<std::unique_ptr<Registration>> MemoryMembership::Join(const Member& member) {
  WHARF_RETURN_IF_ERROR(Check(member));
  absl::MutexLock lock(&mutex_);
  const int64_t number = ++registrations_;
  entries_[member.name] = {member, number};
  PostAll();
  return std::make_unique<Joined>(*this, member.name, number);
}

void MemoryMembership::Expire(const std::string& name) {
  absl::MutexLock lock(&mutex_);
  entries_.erase(name);
  PostAll();
}

void MemoryMembership::Leave(const std::string& name, int64_t registration) {
  absl::MutexLock lock(&mutex_);
  const auto entry = entries_.find(name);
  if (entry == entries_.end() || entry->second.registration != registration) return;  // another took its place
  entries_.erase(entry);
  PostAll();
}

void MemoryMembership::PostAll() {
  std::vector<Member> members;
  for (const auto& [name, entry] : entries_) members.push_back(entry.member);
  board_.Post(std::move(members));
}

}  // namespace wharf::pipeline
