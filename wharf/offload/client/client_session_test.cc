#include "wharf/offload/client/client_session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <thread>

#include "wharf/offload/testing/scripted_server.h"

namespace wharf::offload {
namespace {

using device::CudaError;
using ::testing::HasSubstr;

constexpr CudaError kOk = CudaError::kSuccess;

// A session to a scripted server over memory.
class ClientSessionTest : public ::testing::Test {
 protected:
  void Connect(const link::Faults& to_server = {}, const link::Faults& to_client = {}) {
    auto [client, server] = link::MemoryPair(to_server, to_client);
    server_ = std::make_unique<ScriptedServer>(std::move(server));
    stream_ = std::move(client);
  }
  absl::Status Open(Mode mode = Mode::kPosted, Nanoseconds timeout = std::chrono::seconds(60)) {
    if (server_ == nullptr) Connect();
    server_->Start();
    ClientSessionOptions options;
    options.mode = mode;
    options.timeout = timeout;
    options.clock = clock_;
    options.output = [this](std::string_view text) { printed_ += text; };
    options.on_lost = [this](std::string_view reason) { lost_ = reason; };
    auto session = ClientSession::Open(std::move(stream_), options);
    if (!session.ok()) return session.status();
    session_ = *std::move(session);
    return absl::OkStatus();
  }
  // One call of the program whose body sends what `body` sends.
  template <typename Body>
  CudaError Call(CallClass call_class, Body&& body) {
    CallScope scope(7, call_class);
    return session_->Finish(scope, body());
  }
  uint64_t RoundTrips() const { return session_->Counters().blocking_round_trips; }
  std::vector<uint16_t> Kinds() {
    std::vector<uint16_t> kinds;
    for (const auto& seen : server_->Operations()) kinds.push_back(seen.kind);
    return kinds;
  }

  // From now on the session's time is one that passes while `body` runs, however long that takes.
  template <typename Body>
  void OnVirtualTime(Body&& body) {
    std::atomic<bool> over{false};
    std::thread time([&] {
      while (!over) {
        virtual_clock_.Advance(std::chrono::seconds(1));
        std::this_thread::yield();
      }
    });
    body();
    over = true;
    time.join();
  }

  VirtualClock virtual_clock_;
  const Clock* clock_ = &Clock::Real();
  std::string printed_, lost_;
  std::unique_ptr<ScriptedServer> server_;
  std::unique_ptr<link::ByteStream> stream_;
  std::unique_ptr<ClientSession> session_;
};

ReplyHeader WithError(CudaError error) {
  ReplyHeader header;
  header.error = error;
  return header;
}
ReplyHeader WithPostedError(CudaError error) {
  ReplyHeader header;
  header.posted_error = error;
  return header;
}
ReplyHeader WithFault(CudaError fault) {
  ReplyHeader header;
  header.fault = fault;
  return header;
}

TEST_F(ClientSessionTest, HandshakeBringsTheWelcome) {
  ASSERT_TRUE(Open().ok());
  EXPECT_EQ(session_->welcome().properties.name, "scripted");
  EXPECT_EQ(session_->welcome().memory_quota, 1u << 20);
}

TEST_F(ClientSessionTest, RefusalIsReportedInTheServersWords) {
  Connect();
  server_->Refuse({RefusalReason::kUnauthenticated, "wrong token:\nsee\x1b\xc2\x9b--token-file"});
  EXPECT_EQ(Open(), Unauthenticated("wrong token: see  --token-file")) << "its words command no terminal";
}

TEST_F(ClientSessionTest, AWelcomeThatCannotBeIsRefused) {
  Connect();
  server_->welcome().arena.granularity = 0;
  EXPECT_EQ(Open(), FailedPrecondition(
                        "the server's device memory cannot be: 1073741824 bytes at 0x10000000000 in units of 0"));
}

TEST_F(ClientSessionTest, OtherProtocolVersionIsRefusedHere) {
  Connect();
  server_->welcome().major = kProtocolMajor + 1;
  EXPECT_EQ(Open().code(), absl::StatusCode::kFailedPrecondition);
}

TEST_F(ClientSessionTest, SilentServerIsATimeout) {
  Connect();
  server_->Silence(/*dead=*/true);
  clock_ = &virtual_clock_;
  OnVirtualTime([&] { EXPECT_EQ(Open().code(), absl::StatusCode::kDeadlineExceeded); });
}

TEST_F(ClientSessionTest, PostedCallWaitsForNothing) {
  ASSERT_TRUE(Open().ok());
  server_->Silence(/*dead=*/false);  // an answer would never come
  EXPECT_EQ(Call(CallClass::kPosted, [&] { return session_->Post(RecordEvent{1, 0}); }), kOk);
  EXPECT_EQ(Call(CallClass::kLocal, [&] { return kOk; }), kOk);
  EXPECT_EQ(RoundTrips(), 0u);
  server_->WaitForOperations(1);
  EXPECT_THAT(Kinds(), ::testing::ElementsAre(RecordEvent::kNumber));
}

TEST_F(ClientSessionTest, PerCallModeCostsOneRoundTripForEveryCall) {
  ASSERT_TRUE(Open(Mode::kPerCall).ok());
  EXPECT_EQ(Call(CallClass::kLocal, [&] { return kOk; }), kOk);
  EXPECT_EQ(RoundTrips(), 1u);
  EXPECT_EQ(Call(CallClass::kPosted,
                 [&] {
                   session_->Post(LoadModule{1, true});
                   session_->Post(DefineFunction{2, 1, "k"});
                   return session_->Post(Launch{});
                 }),
            kOk);
  EXPECT_EQ(RoundTrips(), 2u);
  EXPECT_EQ(Call(CallClass::kBlocking, [&] { return session_->Ask(SynchronizeDevice{}); }), kOk);
  EXPECT_EQ(RoundTrips(), 3u);
  EXPECT_EQ(Call(CallClass::kPlumbing, [&] { return kOk; }), kOk);
  EXPECT_EQ(RoundTrips(), 3u);
  EXPECT_THAT(Kinds(), ::testing::ElementsAre(Acknowledge::kNumber, LoadModule::kNumber, DefineFunction::kNumber,
                                              Launch::kNumber, Acknowledge::kNumber, SynchronizeDevice::kNumber));
  EXPECT_EQ(Decode<Acknowledge>(server_->Operations().front().head)->function, 7u);
}

TEST_F(ClientSessionTest, CachedModeAnswersLocalCallsItself) {
  ASSERT_TRUE(Open(Mode::kCached).ok());
  EXPECT_EQ(Call(CallClass::kLocal, [&] { return kOk; }), kOk);
  EXPECT_EQ(RoundTrips(), 0u);
  EXPECT_EQ(Call(CallClass::kPosted, [&] { return session_->Post(RecordEvent{}); }), kOk);
  EXPECT_EQ(RoundTrips(), 1u);
}

TEST_F(ClientSessionTest, NestedCallsCountOnce) {
  ASSERT_TRUE(Open(Mode::kPerCall).ok());
  EXPECT_EQ(Call(CallClass::kPosted, [&] { return Call(CallClass::kLocal, [&] { return kOk; }); }), kOk);
  EXPECT_EQ(RoundTrips(), 1u);
}

TEST_F(ClientSessionTest, ErrorOfPostedWorkIsReturnedOnceByTheNextCallThatWaits) {
  ASSERT_TRUE(Open().ok());
  server_->Answer(WithPostedError(CudaError::kInvalidValue));
  EXPECT_EQ(session_->Post(Launch{}), kOk);
  EXPECT_EQ(session_->Ask(SynchronizeDevice{}), CudaError::kInvalidValue);
  EXPECT_EQ(session_->Ask(SynchronizeDevice{}), kOk);
}

TEST_F(ClientSessionTest, PerCallModeReportsThePostedErrorOfThatVeryCall) {
  ASSERT_TRUE(Open(Mode::kPerCall).ok());
  server_->Answer(WithPostedError(CudaError::kInvalidDeviceFunction));
  EXPECT_EQ(Call(CallClass::kPosted, [&] { return session_->Post(Launch{}); }), CudaError::kInvalidDeviceFunction);
}

TEST_F(ClientSessionTest, FaultIsStickyForEveryLaterCall) {
  ASSERT_TRUE(Open().ok());
  server_->Answer(WithFault(CudaError::kIllegalAddress));
  EXPECT_EQ(session_->Ask(SynchronizeDevice{}), CudaError::kIllegalAddress);
  EXPECT_EQ(session_->Ask(SynchronizeDevice{}), CudaError::kIllegalAddress);
  EXPECT_EQ(session_->Post(Launch{}), CudaError::kIllegalAddress);
  EXPECT_EQ(session_->StickyError(), CudaError::kIllegalAddress);
}

TEST_F(ClientSessionTest, NotReadyIsTheRequestsOwnAnswer) {
  ASSERT_TRUE(Open().ok());
  server_->Answer(WithError(CudaError::kNotReady));
  EXPECT_EQ(session_->Ask(QueryEvent{1}), CudaError::kNotReady);
  EXPECT_EQ(session_->Ask(QueryEvent{1}), kOk);
}

TEST_F(ClientSessionTest, ReplyFieldsAndDataArrive) {
  ASSERT_TRUE(Open().ok());
  ElapsedTime::Reply elapsed;
  EXPECT_EQ(session_->Ask(ElapsedTime{1, 2}, &elapsed), kOk);
  EXPECT_EQ(elapsed.milliseconds, 2.5f);
  std::array<std::byte, 100> data{};
  EXPECT_EQ(session_->Ask(CopyToHost{0, {4096, 0, 0}, {100, 1, 1}}, nullptr, data), kOk);
  EXPECT_THAT(data, ::testing::Each(std::byte{42}));
}

TEST_F(ClientSessionTest, SeveralRequestsUnderWayAreOneRoundTrip) {
  ASSERT_TRUE(Open().ok());
  std::array<std::byte, 8> first{}, second{};
  const std::array requests{session_->Start(CopyToHost{0, {4096, 0, 0}, {8, 1, 1}}, first),
                            session_->Start(CopyToHost{0, {4104, 0, 0}, {8, 1, 1}}, second)};
  EXPECT_EQ(session_->Wait(requests), kOk);
  EXPECT_EQ(RoundTrips(), 1u);
  EXPECT_EQ(second[7], std::byte{42});
}

TEST_F(ClientSessionTest, DetachedDataHasLandedOnceALaterRequestIsAnswered) {
  ASSERT_TRUE(Open().ok());
  std::array<std::byte, 64> data{};
  session_->Start(CopyToHost{0, {4096, 0, 0}, {64, 1, 1}}, data, /*detached=*/true);
  EXPECT_EQ(session_->Ask(SynchronizeStream{0}), kOk);
  EXPECT_THAT(data, ::testing::Each(std::byte{42}));
  EXPECT_EQ(RoundTrips(), 1u);
}

TEST_F(ClientSessionTest, ErrorOfADetachedRequestSurfacesAtTheNextWait) {
  ASSERT_TRUE(Open().ok());
  std::array<std::byte, 64> data{};
  server_->Answer(WithError(CudaError::kInvalidValue));
  session_->Start(CopyToHost{0, {4096, 0, 0}, {64, 1, 1}}, data, /*detached=*/true);
  EXPECT_EQ(session_->Ask(SynchronizeStream{0}), CudaError::kInvalidValue);
}

template <typename Op>
uint64_t HashOf(const Op& op) {
  return HashOperation(Op::kNumber, Encode(op));
}

// The same if the server predicted the request, and its answer is here before it is made.
TEST_F(ClientSessionTest, ErrorOfADetachedRequestThatWasPredictedSurfacesAtTheNextWait) {
  Connect();
  server_->welcome().features = kFeatureReplay;
  ASSERT_TRUE(Open(Mode::kReplay).ok());
  const CopyToHost copy{0, {4096, 0, 0}, {64, 1, 1}};
  std::vector<std::byte> data(64);
  ASSERT_EQ(session_->Ask(SynchronizeStream{0}), kOk);
  session_->Start(copy, data, /*detached=*/true);
  const ClientSession::RequestPtr wait = session_->Start(SynchronizeStream{0});
  session_->WaitForDetached();
  ProgramPath path;
  path.Lane(0);
  for (const uint64_t made : {HashOf(SynchronizeStream{0}), HashOf(copy), HashOf(SynchronizeStream{0})}) {
    path.Operation(made);
  }
  EXPECT_EQ(wait->path, path.Value());
  path.Operation(HashOf(copy));
  server_->Push(4, {path.Value(), 3}, WithError(CudaError::kInvalidValue));
  server_->Push(3, {wait->path, 3}, {});
  ASSERT_EQ(session_->Wait({&wait, 1}), kOk);
  session_->Start(copy, data, /*detached=*/true);
  ASSERT_EQ(session_->Counters().early_pushes, 1u);
  EXPECT_EQ(session_->Ask(QueryStream{0}), CudaError::kInvalidValue);
  EXPECT_EQ(session_->Ask(QueryEvent{1}), kOk) << "told once";
}

TEST_F(ClientSessionTest, WaitForDetachedReturnsWhenNothingIsUnderWay) {
  ASSERT_TRUE(Open().ok());
  session_->WaitForDetached();
  std::array<std::byte, 64> data{};
  session_->Start(CopyToHost{0, {4096, 0, 0}, {64, 1, 1}}, data, /*detached=*/true);
  session_->WaitForDetached();
  EXPECT_THAT(data, ::testing::Each(std::byte{42}));
}

TEST_F(ClientSessionTest, StreamIsKnownDoneUntilSomethingIsSent) {
  ASSERT_TRUE(Open().ok());
  EXPECT_FALSE(session_->IsKnownDone(3));
  const auto request = session_->Start(SynchronizeStream{3});
  EXPECT_EQ(session_->Wait({&request, 1}), kOk);
  session_->NoteDone(*request, 3);
  EXPECT_TRUE(session_->IsKnownDone(3));
  EXPECT_FALSE(session_->IsKnownDone(4));
  EXPECT_EQ(session_->Post(Launch{}), kOk);
  EXPECT_FALSE(session_->IsKnownDone(3));
}

TEST_F(ClientSessionTest, StreamIsNotKnownDoneWhileAnErrorWaits) {
  ASSERT_TRUE(Open().ok());
  std::array<std::byte, 64> data{};
  server_->Answer(WithError(CudaError::kInvalidValue));
  session_->Start(CopyToHost{3, {4096, 0, 0}, {64, 1, 1}}, data, /*detached=*/true);
  const auto request = session_->Start(SynchronizeStream{3});
  session_->WaitForDetached();
  session_->NoteDone(*request, 3);
  EXPECT_FALSE(session_->IsKnownDone(3));
  EXPECT_EQ(session_->Wait({&request, 1}), CudaError::kInvalidValue);
}

TEST_F(ClientSessionTest, TextOfKernelsIsHandedOnBeforeTheReplyThatFollowsIt) {
  ASSERT_TRUE(Open().ok());
  server_->Send(FrameKind::kOutput, Output{"hello\n"});
  EXPECT_EQ(session_->Ask(SynchronizeDevice{}), kOk);
  EXPECT_EQ(printed_, "hello\n");
}

TEST_F(ClientSessionTest, HostCallRunsAndIsReportedDone) {
  ASSERT_TRUE(Open().ok());
  std::atomic<int> runs{0};
  EXPECT_EQ(session_->PostHostCall(0, [&] { ++runs; }), kOk);
  server_->WaitForOperations(1);
  const auto request = Decode<RequestHostCall>(server_->Operations()[0].head);
  ASSERT_TRUE(request.ok());
  server_->Send(FrameKind::kHostCall, HostCall{request->call});
  server_->WaitForOperations(2);
  EXPECT_EQ(runs, 1);
  const auto seen = server_->Operations()[1];
  EXPECT_EQ(seen.kind, HostCallDone::kNumber);
  EXPECT_EQ(Decode<HostCallDone>(seen.head)->call, request->call);
}

TEST_F(ClientSessionTest, DeadServerIsLostWithinTheTimeout) {
  clock_ = &virtual_clock_;
  ASSERT_TRUE(Open().ok());
  server_->Silence(/*dead=*/true);
  OnVirtualTime([&] { EXPECT_EQ(session_->Ask(SynchronizeDevice{}), CudaError::kRemoteLost); });
  EXPECT_EQ(session_->Post(Launch{}), CudaError::kRemoteLost);
  EXPECT_THAT(lost_, HasSubstr("no sign of life"));
}

TEST_F(ClientSessionTest, BusyServerThatAnswersPingsIsNotLost) {
  ASSERT_TRUE(Open(Mode::kPosted, std::chrono::seconds(2)).ok());
  server_->Silence(/*dead=*/false);
  std::thread later([&] {
    server_->WaitForPings(5);  // one each quarter of the timeout: the answer comes after more than the timeout
    server_->AnswerHeld();
  });
  EXPECT_EQ(session_->Ask(SynchronizeDevice{}), kOk);
  later.join();
}

TEST_F(ClientSessionTest, CutConnectionEndsAWait) {
  ASSERT_TRUE(Open().ok());
  server_->Silence(/*dead=*/true);
  std::thread cutter([&] {
    server_->WaitForOperations(1);
    server_->channel().Close();
  });
  EXPECT_EQ(session_->Ask(SynchronizeDevice{}), CudaError::kRemoteLost);
  cutter.join();
  EXPECT_FALSE(lost_.empty());
}

TEST_F(ClientSessionTest, GoodbyeIsTheReasonOfTheLoss) {
  ASSERT_TRUE(Open().ok());
  server_->Silence(/*dead=*/true);
  std::thread goodbye([&] {
    server_->WaitForOperations(1);
    server_->Send(FrameKind::kGoodbye, Goodbye{"the server\nis\x7f\xc2\x9bshutting down"});
    server_->channel().Close(std::chrono::seconds(1));
  });
  EXPECT_EQ(session_->Ask(SynchronizeDevice{}), CudaError::kRemoteLost);
  goodbye.join();
  EXPECT_EQ(lost_, "the server is  shutting down") << "in one line, and no command to a terminal";
}

TEST_F(ClientSessionTest, ReplyNobodyAskedForEndsTheSession) {
  ASSERT_TRUE(Open().ok());
  server_->Silence(/*dead=*/true);
  std::thread liar([&] {
    server_->WaitForOperations(1);
    // A reply to a request that was never made.
    (void)server_->channel().Send(static_cast<uint16_t>(FrameKind::kReply), 999999, Encode(ReplyHeader{}));
  });
  EXPECT_EQ(session_->Ask(SynchronizeDevice{}), CudaError::kRemoteLost);
  liar.join();
}

TEST_F(ClientSessionTest, DataOfAnotherSizeEndsTheSession) {
  ASSERT_TRUE(Open().ok());
  std::array<std::byte, 64> data{};
  EXPECT_EQ(session_->Ask(CopyToHost{0, {4096, 0, 0}, {32, 1, 1}}, nullptr, data), CudaError::kRemoteLost);
}

TEST_F(ClientSessionTest, ServerThatReadsNothingCannotHoldASender) {
  clock_ = &virtual_clock_;
  ASSERT_TRUE(Open().ok());
  server_->Hold(true);
  const std::vector<std::byte> bulk(1 << 20);
  CudaError error = kOk;
  OnVirtualTime([&] {
    for (int i = 0; i < 64 && error == kOk; ++i) {
      error = session_->Post(CopyToDevice{0, {4096, 0, 0}, {bulk.size(), 1, 1}}, bulk);
    }
    if (error == kOk) error = session_->Ask(SynchronizeDevice{});
  });
  EXPECT_EQ(error, CudaError::kRemoteLost);
}

TEST_F(ClientSessionTest, CloseFailsLaterCallsWithoutSayingTheServerWasLost) {
  ASSERT_TRUE(Open().ok());
  session_->Close(std::chrono::seconds(1));
  EXPECT_EQ(session_->Ask(SynchronizeDevice{}), CudaError::kRemoteLost);
  EXPECT_EQ(lost_, "");
}

TEST_F(ClientSessionTest, CallsFromManyThreadsAllGetTheirAnswers) {
  ASSERT_TRUE(Open().ok());
  std::vector<std::thread> threads;
  std::atomic<int> good{0};
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int k = 0; k < 200; ++k) {
        session_->Post(RecordEvent{});
        std::array<std::byte, 16> data{};
        if (session_->Ask(CopyToHost{0, {4096, 0, 0}, {16, 1, 1}}, nullptr, data) == kOk && data[15] == std::byte{42}) {
          ++good;
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(good, 800);
}

#ifdef NDEBUG
TEST_F(ClientSessionTest, SendingBeyondACallsClassIsCounted) {
  ASSERT_TRUE(Open().ok());
  Call(CallClass::kLocal, [&] { return session_->Post(RecordEvent{}); });
  Call(CallClass::kPosted, [&] { return session_->Ask(SynchronizeDevice{}); });
  EXPECT_EQ(session_->ClassViolations(), 2u);
  Call(CallClass::kBlocking, [&] { return session_->Ask(SynchronizeDevice{}); });
  EXPECT_EQ(session_->ClassViolations(), 2u);
}
#endif

}  // namespace
}  // namespace wharf::offload
