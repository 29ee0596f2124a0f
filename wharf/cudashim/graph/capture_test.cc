#include "wharf/cudashim/graph/capture.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace wharf::cudagraph {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr StreamId kA = 16, kB = 17, kC = 18, kLegacy = device::kDefaultStream;
constexpr EventId kEvent = 30, kOther = 31;
constexpr ThreadId kMe = 1, kYou = 2;

class CaptureTest : public ::testing::Test {
 protected:
  CudaError Begin(StreamId stream, CaptureMode mode = CaptureMode::kGlobal, bool blocking = true) {
    return captures_.Begin(stream, blocking, mode, kMe, std::make_shared<Graph>(), {}, {});
  }
  Node* Add(StreamId stream) {
    Node* node = nullptr;
    EXPECT_EQ(captures_.Add(stream, EmptyParams{}, &node), CudaError::kSuccess);
    return node;
  }
  void Fork(StreamId from, StreamId to) {
    bool captured = false;
    EXPECT_EQ(captures_.Record(from, kEvent, &captured), CudaError::kSuccess);
    EXPECT_TRUE(captured);
    captured = false;
    EXPECT_EQ(Wait(to, kEvent, &captured), CudaError::kSuccess);
    EXPECT_TRUE(captured);
  }
  CudaError Wait(StreamId stream, EventId event, bool* captured, bool recorded = true) {
    return captures_.Wait(stream, true, event, recorded, captured);
  }
  CudaError Wait(StreamId stream, EventId event) {
    bool captured = false;
    return Wait(stream, event, &captured);
  }
  std::shared_ptr<Graph> End(StreamId stream, CudaError expected = CudaError::kSuccess) {
    std::shared_ptr<Graph> graph;
    EXPECT_EQ(captures_.End(stream, kMe, &graph), expected);
    EXPECT_EQ(graph != nullptr, expected == CudaError::kSuccess);
    return graph;
  }
  CaptureStatus StatusOf(StreamId stream) {
    CaptureInfo info;
    EXPECT_EQ(captures_.Info(stream, &info), CudaError::kSuccess);
    return info.status;
  }
  static std::vector<Node*> Before(const Node* node) {
    std::vector<Node*> nodes;
    for (const Edge& edge : node->dependencies()) nodes.push_back(edge.from);
    return nodes;
  }

  Captures captures_;
};

TEST_F(CaptureTest, OneStreamIsAChain) {
  EXPECT_EQ(StatusOf(kA), CaptureStatus::kNone);
  ASSERT_EQ(Begin(kA), CudaError::kSuccess);
  EXPECT_EQ(StatusOf(kA), CaptureStatus::kActive);
  EXPECT_EQ(StatusOf(kB), CaptureStatus::kNone);
  const Node *const first = Add(kA), *const second = Add(kA);
  EXPECT_THAT(Before(first), IsEmpty());
  EXPECT_THAT(Before(second), ElementsAre(first));
  EXPECT_EQ(End(kA)->nodes().size(), 2u);
  EXPECT_EQ(StatusOf(kA), CaptureStatus::kNone);
}

TEST_F(CaptureTest, BeginsAndEndsWhereItMay) {
  EXPECT_EQ(Begin(kLegacy), kCaptureUnsupported);
  EXPECT_EQ(Begin(kA, CaptureMode{3}), CudaError::kInvalidValue);
  End(kA, kIllegalState);
  ASSERT_EQ(Begin(kA), CudaError::kSuccess);
  EXPECT_EQ(Begin(kA), kIllegalState);
  End(kB, kIllegalState);
  End(kA);
  End(kA, kIllegalState);
}

TEST_F(CaptureTest, SpreadsByEventsAndJoins) {
  ASSERT_EQ(Begin(kA), CudaError::kSuccess);
  const Node* const first = Add(kA);
  Fork(kA, kB);
  EXPECT_EQ(StatusOf(kB), CaptureStatus::kActive);
  const Node *const left = Add(kA), *const right = Add(kB);
  EXPECT_THAT(Before(right), ElementsAre(first));
  Fork(kB, kA);
  EXPECT_THAT(Before(Add(kA)), ElementsAre(left, right));
  EXPECT_EQ(End(kA)->nodes().size(), 4u);
  EXPECT_EQ(StatusOf(kB), CaptureStatus::kNone);
}

TEST_F(CaptureTest, AForkThatIsNotJoinedIsAnError) {
  ASSERT_EQ(Begin(kA), CudaError::kSuccess);
  Fork(kA, kB);
  Add(kB);
  End(kA, kCaptureUnjoined);
  EXPECT_EQ(StatusOf(kB), CaptureStatus::kNone);
  ASSERT_EQ(Begin(kA), CudaError::kSuccess);  // a fork without work is none
  Add(kA);
  Fork(kA, kB);
  End(kA);
}

TEST_F(CaptureTest, EndsOnItsOwnStreamAndThread) {
  ASSERT_EQ(Begin(kA), CudaError::kSuccess);
  std::shared_ptr<Graph> graph;
  EXPECT_EQ(captures_.End(kA, kYou, &graph), kCaptureWrongThread);
  EXPECT_EQ(graph, nullptr);
  EXPECT_EQ(StatusOf(kA), CaptureStatus::kNone);  // it is over all the same
  End(kA, kIllegalState);
  ASSERT_EQ(Begin(kA), CudaError::kSuccess);
  Fork(kA, kB);
  End(kB, kCaptureUnmatched);
  EXPECT_EQ(StatusOf(kA), CaptureStatus::kInvalidated);
  End(kA, kCaptureInvalidated);
  ASSERT_EQ(Begin(kA, CaptureMode::kRelaxed), CudaError::kSuccess);
  EXPECT_EQ(captures_.End(kA, kYou, &graph), CudaError::kSuccess);
}

TEST_F(CaptureTest, TwoCapturesDoNotMerge) {
  ASSERT_EQ(Begin(kA), CudaError::kSuccess);
  ASSERT_EQ(Begin(kB), CudaError::kSuccess);
  bool captured = false;
  ASSERT_EQ(captures_.Record(kA, kEvent, &captured), CudaError::kSuccess);
  EXPECT_EQ(Wait(kB, kEvent), kCaptureMerge);
  End(kA, kCaptureInvalidated);
  End(kB, kCaptureInvalidated);
}

TEST_F(CaptureTest, WaitsForNothingOutside) {
  ASSERT_EQ(Begin(kA), CudaError::kSuccess);
  bool captured = false;
  EXPECT_EQ(Wait(kA, kEvent, &captured, /*recorded=*/false), CudaError::kSuccess);
  EXPECT_TRUE(captured);
  EXPECT_EQ(Wait(kA, kEvent, &captured), kCaptureIsolation);
  EXPECT_EQ(captures_.Add(kA, EmptyParams{}), kCaptureInvalidated);
  End(kA, kCaptureInvalidated);
}

TEST_F(CaptureTest, AnEventOfACaptureIsNothingElse) {
  ASSERT_EQ(Begin(kA), CudaError::kSuccess);
  bool captured = false;
  ASSERT_EQ(captures_.Record(kA, kEvent, &captured), CudaError::kSuccess);
  ASSERT_EQ(captures_.Record(kA, kOther, &captured), CudaError::kSuccess);
  EXPECT_EQ(captures_.ForbidEvent(kEvent), kCapturedEvent);
  EXPECT_EQ(StatusOf(kA), CaptureStatus::kInvalidated);
  EXPECT_EQ(Wait(kB, kEvent), kCaptureInvalidated);
  End(kA, kCaptureInvalidated);
  EXPECT_EQ(captures_.ForbidEvent(kEvent), kCapturedEvent);
  EXPECT_EQ(Wait(kB, kEvent), kCapturedEvent);
  // Until it is recorded again, or is gone.
  EXPECT_EQ(captures_.Record(kB, kEvent, &captured), CudaError::kSuccess);
  EXPECT_FALSE(captured);
  EXPECT_EQ(captures_.ForbidEvent(kEvent), CudaError::kSuccess);
  captures_.Forget(kOther);
  EXPECT_EQ(captures_.ForbidEvent(kOther), CudaError::kSuccess);
}

TEST_F(CaptureTest, TheLegacyStreamIsOutOfUseWhileABlockingStreamIsCaptured) {
  bool captured = false;
  ASSERT_EQ(Begin(kA, CaptureMode::kRelaxed), CudaError::kSuccess);
  CaptureInfo info;
  EXPECT_EQ(captures_.Info(kLegacy, &info), kCaptureImplicit);
  EXPECT_EQ(StatusOf(kA), CaptureStatus::kActive);
  EXPECT_EQ(captures_.Enter(kLegacy, &captured), kCaptureImplicit);
  EXPECT_EQ(StatusOf(kA), CaptureStatus::kInvalidated);
  End(kA, kCaptureInvalidated);
  ASSERT_EQ(Begin(kA, CaptureMode::kRelaxed, /*blocking=*/false), CudaError::kSuccess);
  EXPECT_EQ(captures_.Enter(kLegacy, &captured), CudaError::kSuccess);
  EXPECT_FALSE(captured);
  ASSERT_EQ(captures_.Record(kA, kEvent, &captured), CudaError::kSuccess);
  EXPECT_EQ(Wait(kLegacy, kEvent), kCaptureImplicit);
  End(kA, kCaptureInvalidated);
}

TEST_F(CaptureTest, NobodyWaitsForACapturedStream) {
  ASSERT_EQ(Begin(kA), CudaError::kSuccess);
  EXPECT_EQ(captures_.ForbidOn(kB), CudaError::kSuccess);
  EXPECT_EQ(captures_.ForbidOn(kA), kCaptureUnsupported);
  EXPECT_EQ(captures_.ForbidOn(kA), kCaptureInvalidated);
  End(kA, kCaptureInvalidated);
  ASSERT_EQ(Begin(kA, CaptureMode::kRelaxed), CudaError::kSuccess);
  EXPECT_EQ(captures_.ForbidAll(), kCaptureUnsupported);
  End(kA, kCaptureInvalidated);
  EXPECT_EQ(captures_.ForbidAll(), CudaError::kSuccess);
}

// Own mode of the thread, mode of the capture, whose capture it is, whether the call is forbidden.
TEST_F(CaptureTest, ModesSayWhoMayMakeUnsafeCalls) {
  using enum CaptureMode;
  struct Row {
    CaptureMode thread, capture;
    ThreadId who;
    bool forbidden;
  };
  for (const Row& row :
       {Row{kGlobal, kGlobal, kMe, true}, Row{kGlobal, kGlobal, kYou, true}, Row{kGlobal, kThreadLocal, kMe, true},
        Row{kGlobal, kThreadLocal, kYou, false}, Row{kGlobal, kRelaxed, kMe, false},
        Row{kThreadLocal, kGlobal, kMe, true}, Row{kThreadLocal, kGlobal, kYou, false},
        Row{kThreadLocal, kThreadLocal, kMe, true}, Row{kThreadLocal, kRelaxed, kMe, false},
        Row{kRelaxed, kGlobal, kMe, false}, Row{kRelaxed, kThreadLocal, kMe, false}}) {
    ASSERT_EQ(Begin(kA, row.capture), CudaError::kSuccess);
    EXPECT_EQ(captures_.ForbidUnsafe(row.thread, row.who), row.forbidden ? kCaptureUnsupported : CudaError::kSuccess);
    End(kA, row.forbidden ? kCaptureInvalidated : CudaError::kSuccess);
  }
}

TEST_F(CaptureTest, CapturesIntoAGraphThatIsThere) {
  const auto graph = std::make_shared<Graph>();
  Node* before = nullptr;
  ASSERT_EQ(graph->Add(EmptyParams{}, {}, {}, &before), CudaError::kSuccess);
  ASSERT_EQ(captures_.Begin(kA, true, CaptureMode::kGlobal, kMe, graph, std::vector<Node*>{before}, {}),
            CudaError::kSuccess);
  EXPECT_EQ(graph->Remove(before), kIllegalState);
  EXPECT_THAT(Before(Add(kA)), ElementsAre(before));
  EXPECT_EQ(End(kA), graph);
  EXPECT_EQ(graph->captures, 0);
  Graph other;
  Node* foreign = nullptr;
  ASSERT_EQ(other.Add(EmptyParams{}, {}, {}, &foreign), CudaError::kSuccess);
  EXPECT_EQ(captures_.Begin(kA, true, CaptureMode::kGlobal, kMe, graph, std::vector<Node*>{foreign}, {}),
            CudaError::kInvalidValue);
}

TEST_F(CaptureTest, DependenciesCanBeReadAndChanged) {
  EXPECT_EQ(captures_.UpdateDependencies(kA, {}, {}, true), kIllegalState);
  ASSERT_EQ(Begin(kA), CudaError::kSuccess);
  Node *const first = Add(kA), *const second = Add(kA);
  CaptureInfo info;
  ASSERT_EQ(captures_.Info(kA, &info), CudaError::kSuccess);
  EXPECT_THAT(*info.nodes, ElementsAre(second));
  EXPECT_EQ(captures_.UpdateDependencies(kA, std::vector<Node*>{first, second}, {}, false), CudaError::kSuccess);
  EXPECT_THAT(*info.nodes, ElementsAre(second, first));
  EXPECT_EQ(captures_.UpdateDependencies(kA, std::vector<Node*>{first}, {}, true), CudaError::kSuccess);
  EXPECT_THAT(*info.nodes, ElementsAre(first));
  End(kA);  // the second node is no longer waited for, which is no fork
}

TEST_F(CaptureTest, EveryCaptureHasItsNumber) {
  CaptureInfo first, second;
  ASSERT_EQ(Begin(kA), CudaError::kSuccess);
  ASSERT_EQ(captures_.Info(kA, &first), CudaError::kSuccess);
  End(kA);
  ASSERT_EQ(Begin(kA), CudaError::kSuccess);
  ASSERT_EQ(captures_.Info(kA, &second), CudaError::kSuccess);
  EXPECT_NE(first.id, second.id);
  End(kA);
}

TEST_F(CaptureTest, ABranchThatWasJoinedMayBeDestroyed) {
  ASSERT_EQ(Begin(kA), CudaError::kSuccess);
  Add(kA);
  Fork(kA, kC);
  Add(kC);
  Fork(kC, kA);
  captures_.Drop(kC);
  EXPECT_EQ(StatusOf(kC), CaptureStatus::kNone);
  Add(kA);
  EXPECT_EQ(End(kA)->nodes().size(), 3u);
}

TEST_F(CaptureTest, ADestroyedStreamInvalidatesItsCapture) {
  ASSERT_EQ(Begin(kA), CudaError::kSuccess);
  Fork(kA, kC);
  Add(kC);
  captures_.Drop(kC);
  End(kA, kCaptureInvalidated);
  ASSERT_EQ(Begin(kA), CudaError::kSuccess);
  Fork(kA, kC);
  captures_.Drop(kA);
  EXPECT_EQ(StatusOf(kC), CaptureStatus::kNone);
  bool captured = true;
  EXPECT_EQ(captures_.Enter(kA, &captured), CudaError::kSuccess);
  EXPECT_FALSE(captured);
}

}  // namespace
}  // namespace wharf::cudagraph
