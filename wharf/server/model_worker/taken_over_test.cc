// Workers of wharf-model that were taken over, inside a real `wharf serve`: what those of programs try
// (server/daemon/taken_over_test.cc), while another client's model is computed as if nothing were.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cerrno>
#include <filesystem>
#include <memory>

#include "wharf/link/channel.h"
#include "wharf/link/prefixed_stream.h"
#include "wharf/server/model_worker/split_testing.h"
#include "wharf/server/testing/attacked_server.h"
#include "wharf/split/messages/messages.h"
#include "wharf/split/profiler/profiler.h"
#include "wharf/split/runtime/model.h"
#include "wharf/wire/codec.h"

namespace wharf::server {
namespace {

using ::testing::AnyOf;
using ::testing::Eq;

// A client that keeps to the rules, and wants right results from the server.
class HonestModel {
 public:
  HonestModel(const ServerProcess& server, const std::string& cache)
      : here_(*split::Model::Load(TestEngine(), ModelBytes())) {
    auto model = split::EdgeModel::Connect(kModel, server.Address(), Patient(cache, ""));
    EXPECT_TRUE(model.ok()) << ToString(model.status()) << server.Log();
    if (!model.ok()) return;
    model_ = *std::move(model);
    input_ = *split::SampleInput(TestEngine(), model_->InputType());
    bytes_.resize(model_->InputType().Bytes());
    input_->Read(bytes_);
    IsServed();
  }
  void IsServed() {
    ASSERT_NE(model_, nullptr);
    const auto outputs = model_->Run(bytes_);
    ASSERT_TRUE(outputs.ok()) << ToString(outputs.status());
    EXPECT_FALSE(model_->Report().alone);
    EXPECT_TRUE(IsWhole(*here_, input_, TensorsOf(*outputs)));
  }

 private:
  const std::shared_ptr<const split::Model> here_;
  std::unique_ptr<split::EdgeModel> model_;
  exec::TensorPtr input_;
  std::vector<std::byte> bytes_;
};

// A connection that was let in, and has a worker of wharf-model from then on.
std::unique_ptr<link::ByteStream> LetIn(const ServerProcess& server) {
  std::unique_ptr<link::ByteStream> stream = *server.Connect();
  const std::vector<std::byte> hello = wire::Encode(split::Hello{});
  std::array<std::byte, link::kFrameHeaderBytes> header;
  link::EncodeFrameHeader(
      {.kind = static_cast<uint16_t>(split::FrameKind::kHello), .head_bytes = static_cast<uint32_t>(hello.size())},
      header);
  const std::span<const std::byte> pieces[] = {header, hello};
  EXPECT_EQ(stream->Write(pieces), absl::OkStatus());
  EXPECT_EQ(link::ReadUpTo(*stream, header).value_or(0), header.size());
  const auto answer = link::DecodeFrameHeader(header, split::SplitFrameLimits());
  EXPECT_TRUE(answer.ok() && answer->kind == static_cast<uint16_t>(split::FrameKind::kWelcome));
  std::vector<std::byte> welcome(answer.ok() ? answer->head_bytes : 0);
  EXPECT_EQ(link::ReadUpTo(*stream, welcome).value_or(0), welcome.size());
  return stream;
}

class ModelTakenOverTest : public AttackedServerTest {
 protected:
  void SetUp() override {
    Serve({"--device", "soft", "--model-device", "cpu", "--memory", "256MiB"});
    if (IsSkipped()) return;
    honest_ = std::make_unique<HonestModel>(*server_, directory_.File("own"));
    sibling_ = FirstWorker();
  }
  // By one worker, until it ends, while somebody else is served: starting one that has LibTorch takes a while.
  int Try(const std::string& attack) {
    if (attacker_ == nullptr) attacker_ = std::make_unique<TakenOver>(LetIn(*server_));
    const int outcome = attacker_->Try(attack);
    if (outcome == kEnded) attacker_.reset();
    honest_->IsServed();
    return outcome;
  }

  std::unique_ptr<HonestModel> honest_;
  std::unique_ptr<TakenOver> attacker_;
  pid_t sibling_ = 0;
};
INSTANTIATE_TEST_SUITE_P(Modes, ModelTakenOverTest, ::testing::Values("strong", "weak"),
                         [](const auto& info) { return info.param; });

TEST_P(ModelTakenOverTest, DoesNothingToOtherProcesses) {
  const pid_t daemon = server_->Process().Pid();
  for (const pid_t victim : {daemon, sibling_}) {
    EXPECT_EQ(Try(fmt::format("memory-of {}", victim)), EPERM);
    EXPECT_EQ(Try(fmt::format("slow {}", victim)), EPERM);
    EXPECT_EQ(Try(fmt::format("kill {}", victim)), kEnded);
  }
  EXPECT_EQ(Try(fmt::format("tgkill {}", sibling_)), kEnded);
  EXPECT_EQ(Try(fmt::format("ptrace {}", sibling_)), kEnded);
  EXPECT_EQ(Try(fmt::format("read-memory-of {}", sibling_)), kEnded);
  EXPECT_EQ(Try(fmt::format("pidfd {}", sibling_)), kEnded);
  EXPECT_TRUE(Living(daemon));
  EXPECT_TRUE(Living(sibling_));
}

TEST_P(ModelTakenOverTest, OpensConnectsAndStartsNothing) {
  EXPECT_EQ(Try("environment"), ENOENT);
  EXPECT_EQ(Try("open"), EPERM);
  EXPECT_EQ(Try("create"), EPERM);
  EXPECT_FALSE(std::filesystem::exists("/tmp/wharf-taken-over"));
  EXPECT_EQ(Try("write-and-execute"), 0);  // oneDNN wants it
  const std::string port = server_->Address().substr(server_->Address().rfind(':') + 1);
  EXPECT_EQ(Try("connect " + port), kEnded);
  EXPECT_EQ(Try("fork"), kEnded);
  EXPECT_EQ(Try("execute"), kEnded);
  EXPECT_EQ(Try("share-memory"), kEnded);
}

TEST_P(ModelTakenOverTest, TakesNoMoreThanItsShare) {
  EXPECT_EQ(Try("make-descriptors"), EMFILE);
  EXPECT_EQ(Try("fill-memory"), ENOMEM);
  attacker_.reset();  // that one has none left
  EXPECT_EQ(Try("hide-memory"), kEnded);
  EXPECT_THAT(Try("make-threads 100000"), AnyOf(Eq(EAGAIN), Eq(kEnded)));  // root's are counted by the daemon only
}

TEST_P(ModelTakenOverTest, TellsTheDaemonNothingThatHarmsIt) {
  EXPECT_THAT(Try("say-nonsense 164"), AnyOf(Eq(0), Eq(EPIPE)));  // to the keeper of files, which hears it or hangs up
  EXPECT_EQ(Try("say-nonsense 5003"), 0);                         // 500 packets to the daemon
  EXPECT_EQ(Try("say-nonsense 300003"), kEnded);
  EXPECT_EQ(Try("flood-control 100000"), kEnded);
  EXPECT_EQ(Try("spoil-shares"), 0);
  EXPECT_TRUE(Living(server_->Process().Pid()));
  HonestModel(*server_, directory_.File("another")).IsServed();  // as others are that come now
}

}  // namespace
}  // namespace wharf::server
