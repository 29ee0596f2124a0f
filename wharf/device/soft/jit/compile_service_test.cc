#include "wharf/device/soft/jit/compile_service.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <filesystem>
#include <thread>

#include "wharf/device/cuda_error.h"
#include "wharf/device/ptx/parser.h"
#include "wharf/device/soft/jit/compiler.h"

namespace wharf::device::soft {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

std::string KernelText(const std::string& body) {
  return ".version 7.5\n.target sm_75\n.address_size 64\n.visible .entry kernel(.param .u64 out)\n{\n"
         ".reg .b64 %rd<3>;\n.reg .b32 %r<3>;\n" +
         body + "ret;\n}\n";
}
const std::string kStores = KernelText(
    "ld.param.u64 %rd1, [out];\ncvta.to.global.u64 %rd2, %rd1;\nmov.u32 %r1, 7;\nst.global.u32 [%rd2], %r1;\n");

class CompileServiceTest : public ::testing::Test {
 protected:
  CompileServiceTest() {
    std::string pattern = (fs::temp_directory_path() / "wharf-compile-XXXXXX").string();
    folder_ = mkdtemp(pattern.data());
    int ends[2];
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    ours_ = ends[0];
    service_ =
        std::thread([this, socket = ends[1]] { EXPECT_EQ(ServeCompilations(socket, folder_), absl::OkStatus()); });
  }
  ~CompileServiceTest() override {
    if (ours_ >= 0) close(ours_);
    compiler_.reset();
    service_.join();
    fs::remove_all(folder_);
  }
  Compiler& Elsewhere() {
    if (compiler_ == nullptr) compiler_ = *Compiler::CreateElsewhere(folder_, std::exchange(ours_, -1));
    return *compiler_;
  }
  absl::Status Compile(const std::string& text, const std::string& kernel = "kernel") {
    const auto module = ptx::Parse(text);
    if (!module.ok()) return module.status();
    return Elsewhere().Compile(**module, kernel, nullptr).status();
  }
  size_t Stored() const {
    return static_cast<size_t>(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()));
  }

  std::string folder_;
  int ours_ = -1;
  std::thread service_;
  std::unique_ptr<Compiler> compiler_;
};

TEST_F(CompileServiceTest, TheOtherProcessCompilesAndStores) {
  EXPECT_EQ(Compile(kStores), absl::OkStatus());
  EXPECT_EQ(Stored(), 1u);
  // Under the name under which whoever compiles for itself looks for it.
  const auto here = *Compiler::Create(folder_);
  const auto module = *ptx::Parse(kStores);
  EXPECT_EQ(here->Compile(*module, "kernel", nullptr).status(), absl::OkStatus());
  EXPECT_EQ(Stored(), 1u);
}

TEST_F(CompileServiceTest, ChecksAreThoseOfTheClient) {
  const auto module = *ptx::Parse(kStores);
  const auto elsewhere = *Compiler::CreateElsewhere(folder_, std::exchange(ours_, -1), {.checks = check::kMemory});
  const auto checked = elsewhere->Compile(*module, "kernel", nullptr);
  ASSERT_EQ(checked.status(), absl::OkStatus());
  EXPECT_EQ((*checked)->mode, ExecutionMode::kSuspendable);
  EXPECT_NE((*checked)->sites, nullptr);
  const auto here = *Compiler::Create(folder_);
  const auto plain = here->Compile(*module, "kernel", nullptr);
  ASSERT_EQ(plain.status(), absl::OkStatus());
  EXPECT_EQ((*plain)->mode, ExecutionMode::kLoop);
  EXPECT_EQ((*plain)->sites, nullptr);
  EXPECT_EQ(Stored(), 2u);
}

TEST_F(CompileServiceTest, WhatIsStoredIsNotAskedFor) {
  EXPECT_EQ(Compile(kStores), absl::OkStatus());
  const auto nobody_answers = [this] {
    int ends[2];
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    close(ends[1]);
    return *Compiler::CreateElsewhere(folder_, ends[0]);
  }();
  EXPECT_EQ(nobody_answers->Compile(**ptx::Parse(kStores), "kernel", nullptr).status(), absl::OkStatus());
}

TEST_F(CompileServiceTest, SaysWhatIsWrongAsTheCompilerDoes) {
  const absl::Status why = Compile(KernelText("tcgen05.alloc.sync.aligned.b32 %r1, %r2;\n"));
  EXPECT_EQ(CudaErrorOf(why), CudaError::kUnsupportedPtx) << why;
  EXPECT_THAT(std::string(Message(why)), HasSubstr("is not supported"));
  EXPECT_EQ(Compile(kStores), absl::OkStatus()) << "and goes on";
}

TEST_F(CompileServiceTest, ACompilerThatHasEndedIsAnErrorOfTheKernel) {
  int ends[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
  std::thread dies([socket = ends[1]] {
    char first = 0;
    EXPECT_EQ(read(socket, &first, 1), 1);
    close(socket);
  });
  const auto compiler = *Compiler::CreateElsewhere("", ends[0]);
  for (int i = 0; i < 2; ++i) {
    const absl::Status why = compiler->Compile(**ptx::Parse(kStores), "kernel", nullptr).status();
    EXPECT_EQ(CudaErrorOf(why), CudaError::kInvalidPtx) << why;
    EXPECT_THAT(std::string(Message(why)), HasSubstr("the process that compiles kernels has ended"));
  }
  dies.join();
}

// What a worker in a stranger's hands may send: nothing of it is stored, and the service ends or says what is wrong.
TEST_F(CompileServiceTest, NoRequestStoresWhatWasNotCompiled) {
  const auto ask = [this](uint64_t text_bytes, uint64_t kernel_bytes, const std::string& rest) {
    const uint64_t head[] = {text_bytes, kernel_bytes, 0, 0};  // for blocks of any shape
    EXPECT_EQ(write(ours_, head, sizeof(head)), static_cast<ssize_t>(sizeof(head)));
    EXPECT_EQ(write(ours_, rest.data(), rest.size()), static_cast<ssize_t>(rest.size()));
  };
  struct {
    int32_t error = 0;
    uint64_t bytes = 0;
  } reply;
  ask(5, 6, "wharfkernel");  // no PTX
  ASSERT_EQ(recv(ours_, &reply, sizeof(reply), MSG_WAITALL), static_cast<ssize_t>(sizeof(reply)));
  EXPECT_NE(reply.error, 0);
  std::string why(reply.bytes, '\0');
  ASSERT_EQ(recv(ours_, why.data(), why.size(), MSG_WAITALL), static_cast<ssize_t>(why.size()));
  ask(~uint64_t{0}, 6, "");  // no request
  EXPECT_EQ(recv(ours_, &reply, sizeof(reply), MSG_WAITALL), 0);
  EXPECT_EQ(Stored(), 0u);
}

}  // namespace
}  // namespace wharf::device::soft
