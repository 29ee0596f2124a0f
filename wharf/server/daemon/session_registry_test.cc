// The rules for sessions, without processes: workers are numbers.
#include "wharf/server/daemon/session_registry.h"

#include <gtest/gtest.h>

namespace wharf::server {
namespace {

class SessionRegistryTest : public ::testing::Test {
 protected:
  // A connection, given to the worker: its session's number.
  uint64_t Begin(pid_t worker) {
    const uint64_t number = sessions_.NewNumber();
    sessions_.Begin(worker, number, static_cast<uint32_t>(worker), handshakes_.Begin("192.0.2.1", HandshakeKind::kNew));
    return number;
  }
  uint64_t Open(pid_t worker) {
    const uint64_t number = Begin(worker);
    sessions_.Admit(worker);
    return number;
  }
  SessionState StateOf(pid_t worker) const { return sessions_.Find(worker)->state; }

  VirtualClock clock_;
  Handshakes handshakes_{HandshakeLimits{.new_ones = 100, .per_address = 100}};
  SessionRegistry sessions_{2, clock_};
};

TEST_F(SessionRegistryTest, AHandshakeEndsWhenItIsKnownWhatBecomesOfIt) {
  Begin(1);
  Begin(2);
  Begin(3);
  Begin(4);
  EXPECT_TRUE(sessions_.InHandshake(1));
  EXPECT_EQ(handshakes_.UnderWay(), 4);
  sessions_.Admit(1);
  sessions_.AdmitToModels(2, 20, {});
  sessions_.PassOn(3);
  EXPECT_EQ(handshakes_.UnderWay(), 1);
  EXPECT_FALSE(sessions_.InHandshake(1));
  sessions_.End(4);
  EXPECT_EQ(handshakes_.UnderWay(), 0);
  EXPECT_EQ(sessions_.Find(4), nullptr);
  EXPECT_FALSE(sessions_.End(4).has_value());
}

TEST_F(SessionRegistryTest, WhoIsTurnedAwayIsInNoHandshakeAnyMore) {
  const uint64_t number = Begin(1);
  sessions_.TurnAway(1);
  EXPECT_FALSE(sessions_.InHandshake(1));
  EXPECT_EQ(handshakes_.UnderWay(), 0u);
  EXPECT_EQ(sessions_.FindToResume(number, 2), nullptr);
  const auto last = sessions_.End(1);
  ASSERT_TRUE(last.has_value());
  EXPECT_EQ(last->state, SessionState::kTurnedAway);
  EXPECT_EQ(sessions_.Counts().closed, 0u);
}

TEST_F(SessionRegistryTest, WhatAWorkerDidNotTakeIsAnothers) {
  const uint64_t number = Begin(1);
  sessions_.Move(1, 2);
  sessions_.Move(7, 8);
  EXPECT_EQ(sessions_.Find(1), nullptr);
  EXPECT_EQ(sessions_.Find(8), nullptr);
  ASSERT_NE(sessions_.FindHandshake(number), nullptr);
  EXPECT_EQ(sessions_.FindHandshake(number)->worker, 2);
  EXPECT_FALSE(sessions_.End(1).has_value());
  EXPECT_EQ(handshakes_.UnderWay(), 1u);
  sessions_.Admit(2);
  EXPECT_EQ(sessions_.FindHandshake(number), nullptr);
}

TEST_F(SessionRegistryTest, OnlyOpenSessionsTakeRoom) {
  Begin(1);
  Begin(2);
  Begin(3);
  EXPECT_TRUE(sessions_.HasRoom());
  sessions_.Admit(1);
  sessions_.Admit(2);
  EXPECT_FALSE(sessions_.HasRoom());
  EXPECT_EQ(sessions_.End(1)->state, SessionState::kOpen);
  EXPECT_TRUE(sessions_.HasRoom());
  sessions_.End(3);  // was never let in
  EXPECT_EQ(sessions_.Counts().opened, 2u);
  EXPECT_EQ(sessions_.Counts().closed, 1u);
}

TEST_F(SessionRegistryTest, ModelsTakeOverNumberAndShare) {
  const uint64_t number = Begin(1);
  const auto key = link::ResumeKey::Make(number);
  ASSERT_TRUE(key.ok());
  sessions_.AdmitToModels(1, 10, *key);
  const Session& session = *sessions_.Find(10);
  EXPECT_EQ(session.number, number);
  EXPECT_EQ(session.worker, 10);
  EXPECT_EQ(session.share_slot, 1u);
  EXPECT_TRUE(session.runs_models);
  EXPECT_EQ(session.state, SessionState::kOpen);
  EXPECT_EQ(StateOf(1), SessionState::kPassedOn);
  EXPECT_EQ(sessions_.End(1)->share_slot, kNoShareSlot);  // ends with its connection, not with the session
  EXPECT_EQ(sessions_.Open(), 1u);
  EXPECT_EQ(sessions_.Counts().opened, 1u);
}

TEST_F(SessionRegistryTest, WhoKnowsTheSecretResumesModels) {
  const uint64_t number = Begin(1);
  const auto key = link::ResumeKey::Make(number), other = link::ResumeKey::Make(number);
  ASSERT_TRUE(key.ok() && other.ok());
  sessions_.AdmitToModels(1, 10, *key);
  const uint64_t program = Open(2);
  EXPECT_EQ(sessions_.FindModelsToResume(number, key->secret)->worker, 10);
  EXPECT_EQ(sessions_.FindModelsToResume(number, other->secret), nullptr);
  EXPECT_EQ(sessions_.FindModelsToResume(number + 100, key->secret), nullptr);
  EXPECT_EQ(sessions_.FindModelsToResume(program, key->secret), nullptr);
  EXPECT_EQ(sessions_.FindModelsToResume(program, {}), nullptr);
  sessions_.Evict(10);
  EXPECT_EQ(sessions_.FindModelsToResume(number, key->secret), nullptr);
}

TEST_F(SessionRegistryTest, ConnectionsArePassedOnToTheSessionTheyName) {
  const uint64_t number = Open(1);
  Begin(2);
  EXPECT_EQ(sessions_.FindToResume(number, 2)->worker, 1);
  EXPECT_EQ(sessions_.FindToResume(number, 1), nullptr);  // its own
  EXPECT_EQ(sessions_.FindToResume(number + 100, 2), nullptr);
  EXPECT_EQ(sessions_.FindToResume(0, 2), nullptr);
  sessions_.PassOn(2);
  EXPECT_EQ(StateOf(2), SessionState::kPassedOn);
  EXPECT_EQ(sessions_.Counts().resumed, 1u);
  EXPECT_EQ(sessions_.FindToResume(sessions_.Find(2)->number, 3), nullptr);  // it has none any more
  sessions_.Evict(1);
  EXPECT_EQ(sessions_.FindToResume(number, 3), nullptr);
}

TEST_F(SessionRegistryTest, AConnectionThatIsPassedOnDoesNotEndTheWaiting) {
  Open(1);
  Begin(2);
  sessions_.SetWaiting(1, true);
  sessions_.PassOn(2);  // its client may not know the secret
  ASSERT_NE(sessions_.LongestWaiting(), nullptr);
  sessions_.SetWaiting(1, false);
  EXPECT_EQ(sessions_.LongestWaiting(), nullptr);
}

TEST_F(SessionRegistryTest, WhoHasWaitedLongestMakesRoom) {
  Open(1);
  Open(2);
  EXPECT_EQ(sessions_.LongestWaiting(), nullptr);  // who is here gives way to nobody
  sessions_.SetWaiting(2, true);
  clock_.Advance(std::chrono::seconds(1));
  sessions_.SetWaiting(1, true);
  EXPECT_EQ(sessions_.LongestWaiting()->worker, 2);
  sessions_.SetWaiting(2, false);
  clock_.Advance(std::chrono::seconds(1));
  sessions_.SetWaiting(2, true);
  EXPECT_EQ(sessions_.LongestWaiting()->worker, 1);
  sessions_.Evict(1);
  EXPECT_TRUE(sessions_.HasRoom());
  EXPECT_EQ(StateOf(1), SessionState::kEvicted);
  EXPECT_EQ(sessions_.LongestWaiting()->worker, 2);
  sessions_.End(1);
  EXPECT_EQ(sessions_.Counts().closed, 1u);  // once
  sessions_.SetWaiting(77, true);            // of nobody
}

}  // namespace
}  // namespace wharf::server
