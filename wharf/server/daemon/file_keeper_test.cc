// The real keeper process, and what workers in strangers' hands would try with it.
#include "wharf/server/daemon/file_keeper.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "wharf/base/sandbox/policies.h"
#include "wharf/base/stored/keeper.h"
#include "wharf/base/stored/stored_files.h"
#include "wharf/server/process/control_codec.h"
#include "wharf/server/testing/testing.h"

namespace wharf::server {
namespace {

namespace fs = std::filesystem;

std::span<const std::byte> BytesOf(const std::string& text) { return std::as_bytes(std::span(text)); }

class FileKeeperTest : public ::testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    if (GetParam()) {
      const auto isolation = FindIsolation();
      if (!isolation.ok()) GTEST_SKIP() << isolation.status();
      isolation_ = *isolation;
    }
    configure_.role = WorkerRole::kKeepsFiles;
    configure_.cache_directory = directory_.File("cache");
    configure_.memory_quota = configure_.model_cache_bytes = 1 << 20;
    auto started = WorkerProcess::Start(WHARF_BINARY, configure_, isolation_);
    ASSERT_TRUE(started.ok()) << started.status();
    process_ = *std::move(started);
  }
  void TearDown() override {
    for (const int socket : sockets_) close(socket);
    if (process_ == nullptr) return;
    process_->CloseControl();  // it ends with the daemon
    int status = 0;
    EXPECT_EQ(waitpid(process_->Pid(), &status, 0), process_->Pid());
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  }
  // The directory `name` as a worker sees it for whom files are kept so.
  std::string As(KeptFor who, const std::string& whose, const std::string& name) {
    int ends[2];
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    EXPECT_EQ(SendControl(process_->Control(), ControlKind::kKeep, KeepOrder{who, whose}, ends[1]), absl::OkStatus());
    close(ends[1]);
    sockets_.push_back(ends[0]);
    return KeeperRoot(ends[0]) + "/" + name;
  }

  const TemporaryDirectory directory_;
  Isolation isolation_ = Isolation::kNone;
  Configure configure_;
  std::unique_ptr<WorkerProcess> process_;
  std::vector<int> sockets_;
};
INSTANTIATE_TEST_SUITE_P(Isolated, FileKeeperTest, ::testing::Bool());

TEST_P(FileKeeperTest, WhoRunsKernelsReadsThemAndWhoCompilesWritesThem) {
  EXPECT_EQ(WriteStored(As(KeptFor::kCompiler, "a", "kernels"), "k.o", BytesOf("code")), absl::OkStatus());
  EXPECT_EQ(ReadStored(As(KeptFor::kKernels, "a", "kernels"), "k.o"), "code");
  EXPECT_EQ(WriteStored(As(KeptFor::kKernels, "a", "kernels"), "k.o", BytesOf("false")).code(),
            absl::StatusCode::kUnavailable);
  RemoveStored(As(KeptFor::kKernels, "a", "kernels"), "k.o");
  EXPECT_EQ(ReadStored(As(KeptFor::kKernels, "a", "kernels"), "k.o"), "code");
  EXPECT_EQ(ReadStored(As(KeptFor::kKernels, "b", "kernels"), "k.o"), std::nullopt);
}

TEST_P(FileKeeperTest, KernelsAndModelsAreForThoseWhoNeedThem) {
  EXPECT_EQ(WriteStored(As(KeptFor::kModels, "", "models"), "m.onnx", BytesOf("model")), absl::OkStatus());
  EXPECT_EQ(ReadStored(As(KeptFor::kModels, "", "models"), "m.onnx"), "model");
  EXPECT_EQ(WriteStored(As(KeptFor::kCompiler, "a", "kernels"), "k.o", BytesOf("code")), absl::OkStatus());
  for (const KeptFor who : {KeptFor::kKernels, KeptFor::kCompiler}) {
    EXPECT_EQ(ReadStored(As(who, "a", "models"), "m.onnx"), std::nullopt);
    EXPECT_FALSE(WriteStored(As(who, "a", "profiles"), "p.json", BytesOf("false")).ok());
  }
  EXPECT_FALSE(WriteStored(As(KeptFor::kModels, "a", "kernels"), "k.o", BytesOf("false")).ok());
}

TEST_P(FileKeeperTest, TheKeyIsNoFileOfAnybody) {
  EXPECT_EQ(WriteStored(As(KeptFor::kCompiler, "a", "kernels"), "k.o", BytesOf("code")), absl::OkStatus());
  ASSERT_TRUE(fs::exists(directory_.File("cache/kernels.key")));
  for (const char* name : {"kernels.key", "../kernels.key", "/kernels.key"}) {
    EXPECT_EQ(ReadStored(As(KeptFor::kCompiler, "a", "kernels"), name), std::nullopt) << name;
    EXPECT_EQ(ReadStored(As(KeptFor::kModels, "", "models"), name), std::nullopt) << name;
  }
}

TEST_P(FileKeeperTest, NoLinkLeadsOutOfTheCaches) {
  if (!GetParam() || kSanitized) GTEST_SKIP() << "only where the caches are the whole file system";
  EXPECT_EQ(WriteStored(As(KeptFor::kModels, "", "models"), "m.onnx", BytesOf("model")), absl::OkStatus());
  directory_.Write("secret", "secret");
  fs::create_symlink(directory_.File("secret"), directory_.File("cache/models/s.onnx"));
  EXPECT_EQ(ReadStored(As(KeptFor::kModels, "", "models"), "s.onnx"), std::nullopt);
}

// As many as more sessions have than a confined process may have threads.
TEST_P(FileKeeperTest, ServesHundredsAtOnce) {
  constexpr int kSockets = 300;
  std::vector<std::string> kernels;
  for (int i = 0; i < kSockets; ++i) {
    kernels.push_back(As(KeptFor::kCompiler, std::to_string(i), "kernels"));
    EXPECT_EQ(WriteStored(kernels.back(), "k.o", BytesOf(kernels.back())), absl::OkStatus());
    // Whoever stops in the middle holds up nobody.
    if (i % 10 == 0) {
      EXPECT_EQ(send(sockets_.back(), "half", 4, 0), 4);
    }
  }
  for (int i = kSockets - 1; i >= 0; --i) {
    if (i % 10 == 0) continue;
    EXPECT_EQ(ReadStored(kernels[i], "k.o"), kernels[i]);
  }
}

TEST_P(FileKeeperTest, IsConfined) {
  if (kSanitized) GTEST_SKIP() << "policies are weaker with a sanitizer";
  EXPECT_EQ(ReadStored(As(KeptFor::kModels, "", "models"), "m.onnx"), std::nullopt);  // it has begun to serve
  std::ifstream file("/proc/" + std::to_string(process_->Pid()) + "/status");
  const std::string status{std::istreambuf_iterator<char>(file), {}};
  EXPECT_NE(status.find("Seccomp:\t2"), std::string::npos) << status;
  EXPECT_NE(status.find("NoNewPrivs:\t1"), std::string::npos);
}

}  // namespace
}  // namespace wharf::server
