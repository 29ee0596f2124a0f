#include "wharf/server/daemon/session_registry.h"

#include <algorithm>
#include <utility>

namespace wharf::server {

void SessionRegistry::Begin(pid_t worker, uint64_t number, uint32_t share_slot, Handshake handshake) {
  Entry& entry = entries_[worker];
  entry.session.number = number;
  entry.session.worker = worker;
  entry.session.share_slot = share_slot;
  entry.handshake = std::move(handshake);
}

std::optional<Session> SessionRegistry::End(pid_t worker) {
  const auto found = entries_.find(worker);
  if (found == entries_.end()) return std::nullopt;
  const Session session = found->second.session;
  entries_.erase(found);
  if (session.state == SessionState::kOpen) ++counts_.closed;
  return session;
}

void SessionRegistry::Move(pid_t from, pid_t to) {
  auto entry = entries_.extract(from);
  if (entry.empty()) return;
  entry.key() = entry.mapped().session.worker = to;
  entries_.insert(std::move(entry));
}

const Session* SessionRegistry::FindHandshake(uint64_t number) const {
  for (const auto& [worker, entry] : entries_) {
    if (entry.session.number == number && InHandshake(worker)) return &entry.session;
  }
  return nullptr;
}

const Session* SessionRegistry::Find(pid_t worker) const {
  const auto found = entries_.find(worker);
  return found == entries_.end() ? nullptr : &found->second.session;
}

bool SessionRegistry::InHandshake(pid_t worker) const {
  const Session* const session = Find(worker);
  return session != nullptr && session->state == SessionState::kHandshake;
}

size_t SessionRegistry::Open() const {
  return static_cast<size_t>(std::ranges::count_if(
      entries_, [](const auto& entry) { return entry.second.session.state == SessionState::kOpen; }));
}

SessionRegistry::Entry& SessionRegistry::EndHandshake(pid_t worker) {
  Entry& entry = entries_.at(worker);
  entry.handshake.End();
  return entry;
}

void SessionRegistry::Admit(pid_t worker) {
  EndHandshake(worker).session.state = SessionState::kOpen;
  ++counts_.opened;
}

void SessionRegistry::AdmitToModels(pid_t worker, pid_t model_worker, const link::ResumeKey& key) {
  Session& relaying = EndHandshake(worker).session;
  Session& session = entries_[model_worker].session;
  session = relaying;
  session.worker = model_worker;
  session.state = SessionState::kOpen;
  session.runs_models = true;
  session.resume_key = key;
  relaying.state = SessionState::kPassedOn;
  relaying.share_slot = kNoShareSlot;
  ++counts_.opened;
}

const Session* SessionRegistry::FindToResume(uint64_t number, pid_t asking) const {
  for (const auto& [worker, entry] : entries_) {
    const bool has = entry.session.state == SessionState::kOpen || entry.session.state == SessionState::kHandshake;
    if (worker != asking && has && entry.session.number == number) return &entry.session;
  }
  return nullptr;
}

const Session* SessionRegistry::FindModelsToResume(uint64_t number, const std::array<std::byte, 16>& secret) const {
  for (const auto& [worker, entry] : entries_) {
    const Session& session = entry.session;
    if (session.state == SessionState::kOpen && session.resume_key && session.number == number &&
        session.resume_key->Matches(secret)) {
      return &session;
    }
  }
  return nullptr;
}

void SessionRegistry::PassOn(pid_t worker) {
  EndHandshake(worker).session.state = SessionState::kPassedOn;
  ++counts_.resumed;
}

void SessionRegistry::TurnAway(pid_t worker) { EndHandshake(worker).session.state = SessionState::kTurnedAway; }

void SessionRegistry::SetWaiting(pid_t worker, bool waiting) {
  const auto found = entries_.find(worker);
  if (found == entries_.end()) return;
  found->second.session.waiting_since.reset();
  if (waiting) found->second.session.waiting_since = clock_.Now();
}

const Session* SessionRegistry::LongestWaiting() const {
  const Session* longest = nullptr;
  for (const auto& [worker, entry] : entries_) {
    const Session& session = entry.session;
    if (session.state != SessionState::kOpen || !session.waiting_since) continue;
    if (longest == nullptr || *session.waiting_since < *longest->waiting_since) longest = &session;
  }
  return longest;
}

void SessionRegistry::Evict(pid_t worker) {
  entries_.at(worker).session.state = SessionState::kEvicted;
  ++counts_.closed;
}

}  // namespace wharf::server
