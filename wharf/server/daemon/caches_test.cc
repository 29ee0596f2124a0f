// Who may have whose compiled kernels, tried on real server processes: by clients with certificates of their own, and
// by whoever can write into the directory.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <cstring>
#include <filesystem>
#include <set>

#include "wharf/server/testing/testing.h"

namespace wharf::server {
namespace {

namespace fs = std::filesystem;
using device::CudaError;
using offload::FrameKind;
using offload::RawClient;
using offload::Welcome;

constexpr uint64_t kPage = 4096;

// Kernel NAME stores VALUE at the address that it is given.
std::string Kernel(const std::string& name, int value) {
  return ".version 7.5\n.target sm_75\n.address_size 64\n.visible .entry " + name +
         "(.param .u64 out)\n{\n.reg .b64 %rd<3>;\n.reg .b32 %r<2>;\nld.param.u64 %rd1, [out];\n"
         "cvta.to.global.u64 %rd2, %rd1;\nmov.u32 %r1, " +
         std::to_string(value) + ";\nst.global.u32 [%rd2], %r1;\nret;\n}\n";
}

class CachesTest : public ::testing::Test {
 protected:
  CachesTest() {
    for (const char* name : {"server", "one", "two"}) MakeIdentity(directory_, name);
    directory_.Write("clients.crt", directory_.Read("one.crt") + directory_.Read("two.crt"));
  }

  std::vector<std::string> Options(bool certificates) const {
    std::vector<std::string> options = {"--cache-dir", directory_.File("cache")};
    if (certificates) {
      for (const std::string& more :
           {std::string("--tls-cert"), directory_.File("server.crt"), std::string("--tls-key"),
            directory_.File("server.key"), std::string("--tls-client-ca"), directory_.File("clients.crt")}) {
        options.push_back(more);
      }
    }
    return options;
  }
  // "": without a certificate.
  std::unique_ptr<RawClient> Client(const ServerProcess& server, const std::string& name = "") const {
    link::ConnectOptions options;
    if (!name.empty()) {
      options.tls.emplace();
      options.tls->ca_file = directory_.File("server.crt");
      options.tls->certificate_file = directory_.File(name + ".crt");
      options.tls->key_file = directory_.File(name + ".key");
    }
    return server.Greet({}, options);
  }
  // What the kernel has stored, or the error.
  struct Outcome {
    CudaError error = CudaError::kSuccess;
    int32_t value = 0;
    friend bool operator==(const Outcome&, const Outcome&) = default;
    friend void PrintTo(const Outcome& outcome, std::ostream* to) {
      *to << static_cast<int>(outcome.error) << ", " << outcome.value;
    }
  };
  static Outcome Run(RawClient& client, const std::string& name, int value) {
    const auto welcome = client.Next(FrameKind::kWelcome);
    if (!welcome.ok()) return {CudaError::kRemoteLost};
    return Launch(client, welcome->As<Welcome>().arena.base, name, value);
  }
  // `module`: a number that the session has not used.
  static Outcome Launch(RawClient& client, uint64_t arena, const std::string& name, int value, uint64_t module = 100) {
    const std::string text = Kernel(name, value);
    const uint64_t memory = arena + module * kPage;
    offload::MapMemory map;
    map.address = memory;
    map.size = kPage;
    client.Post(map).IgnoreError();
    offload::LoadModule load;
    load.module = module;
    const auto* const image = reinterpret_cast<const std::byte*>(text.data());
    client.Post(load, {image, image + text.size()}).IgnoreError();
    offload::DefineFunction define;
    define.function = module + 1;
    define.module = module;
    define.name = name;
    client.Post(define).IgnoreError();
    offload::Launch launch;
    launch.function = module + 1;
    launch.config.grid = {1, 1, 1};
    launch.config.block = {4, 1, 1};  // less wide ones have an object of their own
    launch.parameters.resize(sizeof(memory));
    std::memcpy(launch.parameters.data(), &memory, sizeof(memory));
    client.Post(launch).IgnoreError();
    offload::CopyToHost copy;
    copy.from.address = memory;
    copy.extent.width = sizeof(int32_t);
    const auto answered = client.Ask(copy);
    if (!answered.ok()) return {CudaError::kRemoteLost};
    if (answered->header.posted_error != CudaError::kSuccess) return {answered->header.posted_error};
    if (answered->header.error != CudaError::kSuccess) return {answered->header.error};
    Outcome outcome;
    if (answered->bulk.size() == sizeof(outcome.value)) {
      std::memcpy(&outcome.value, answered->bulk.data(), sizeof(outcome.value));
    }
    return outcome;
  }
  std::vector<fs::path> Objects() const {
    std::vector<fs::path> objects;
    std::error_code none_yet;
    for (const auto& entry : fs::directory_iterator(directory_.File("cache/kernels"), none_yet)) {
      objects.push_back(entry.path());
    }
    std::sort(objects.begin(), objects.end());
    return objects;
  }

  const TemporaryDirectory directory_;
};

TEST_F(CachesTest, CompiledKernelsAreOfOneIdentity) {
  const ServerProcess server(Options(/*certificates=*/true));
  EXPECT_EQ(Run(*Client(server, "one"), "k", 7), (Outcome{CudaError::kSuccess, 7}));
  EXPECT_EQ(Objects().size(), 1u);
  EXPECT_EQ(Run(*Client(server, "one"), "k", 7), (Outcome{CudaError::kSuccess, 7}));
  EXPECT_EQ(Objects().size(), 1u) << "it has found its own";
  EXPECT_EQ(Run(*Client(server, "two"), "k", 7), (Outcome{CudaError::kSuccess, 7}));
  const std::vector<fs::path> objects = Objects();
  ASSERT_EQ(objects.size(), 2u) << "it has not found the other's";
  const std::string first = objects[0].filename(), second = objects[1].filename();
  EXPECT_NE(first.substr(0, 32), second.substr(0, 32));
  EXPECT_EQ(first.substr(32), second.substr(32));
}

TEST_F(CachesTest, WhatWasNotCompiledHereIsNotExecuted) {
  {
    const ServerProcess server(Options(/*certificates=*/true));
    EXPECT_EQ(Run(*Client(server, "one"), "k", 7), (Outcome{CudaError::kSuccess, 7}));
    const fs::path of_7 = Objects().at(0);
    EXPECT_EQ(Run(*Client(server, "one"), "k", 8), (Outcome{CudaError::kSuccess, 8}));
    const fs::path of_8 = Objects().at(0) == of_7 ? Objects().at(1) : Objects().at(0);
    // Sound code of the same kernel's, in the place of other code.
    fs::copy_file(of_8, of_7, fs::copy_options::overwrite_existing);
    EXPECT_EQ(Run(*Client(server, "one"), "k", 7), (Outcome{CudaError::kSuccess, 7}));
    // The same as another client's.
    const std::string name = of_8.filename();
    EXPECT_EQ(Run(*Client(server, "two"), "k", 7), (Outcome{CudaError::kSuccess, 7}));
    for (const fs::path& object : Objects()) {
      if (object.filename().string().substr(0, 32) == name.substr(0, 32)) continue;
      fs::copy_file(of_8, object, fs::copy_options::overwrite_existing);
    }
    EXPECT_EQ(Run(*Client(server, "two"), "k", 7), (Outcome{CudaError::kSuccess, 7}));
  }
}

TEST_F(CachesTest, AKeeperThatDiesIsReplaced) {
  ServerProcess server(Options(/*certificates=*/false));
  const pid_t daemon = server.Process().Pid();
  const auto client = Client(server);
  const auto welcome = client->Next(FrameKind::kWelcome);
  ASSERT_TRUE(welcome.ok());
  const uint64_t memory = welcome->As<Welcome>().arena.base;
  EXPECT_EQ(Launch(*client, memory, "k", 7), (Outcome{CudaError::kSuccess, 7}));
  const std::set<pid_t> before = Children(daemon, "wharf-keeper");
  ASSERT_EQ(before.size(), 1u);
  kill(*before.begin(), SIGKILL);
  ASSERT_TRUE(Eventually([&] { return Children(daemon, "wharf-keeper") != before; }));
  EXPECT_EQ(Launch(*client, memory, "other", 8, 200), (Outcome{CudaError::kSuccess, 8})) << "who has none does without";
  EXPECT_EQ(Run(*Client(server), "third", 9), (Outcome{CudaError::kSuccess, 9}));
  EXPECT_EQ(Children(daemon, "wharf-keeper").size(), 1u);
  EXPECT_EQ(Objects().size(), 2u) << "of the first and the third";
}

TEST_F(CachesTest, ACompilerThatDiesEndsNoSession) {
  ServerProcess server(Options(/*certificates=*/false));
  const pid_t daemon = server.Process().Pid();
  const auto client = Client(server), other = Client(server);
  const auto welcome = client->Next(FrameKind::kWelcome);
  ASSERT_TRUE(welcome.ok());
  const uint64_t memory = welcome->As<Welcome>().arena.base;
  EXPECT_EQ(Children(daemon, "wharf-compiler").size(), 0u) << "nobody has wanted one";
  EXPECT_EQ(Launch(*client, memory, "k", 7), (Outcome{CudaError::kSuccess, 7}));
  const std::set<pid_t> compilers = Children(daemon, "wharf-compiler");
  ASSERT_EQ(compilers.size(), 1u);
  kill(*compilers.begin(), SIGKILL);
  ASSERT_TRUE(Eventually([&] { return Children(daemon, "wharf-compiler").empty(); }));
  EXPECT_EQ(Launch(*client, memory, "new", 8, 200).error, CudaError::kInvalidPtx);
  EXPECT_EQ(Launch(*client, memory, "k", 7, 300), (Outcome{CudaError::kSuccess, 7})) << "what was compiled is there";
  EXPECT_EQ(Run(*other, "new", 8), (Outcome{CudaError::kSuccess, 8}));
}

TEST_F(CachesTest, ACompilerEndsWithItsSession) {
  ServerProcess server(Options(/*certificates=*/false));
  const pid_t daemon = server.Process().Pid();
  auto client = Client(server);
  EXPECT_EQ(Run(*client, "k", 7), (Outcome{CudaError::kSuccess, 7}));
  EXPECT_EQ(Children(daemon, "wharf-compiler").size(), 1u);
  client.reset();
  EXPECT_TRUE(Eventually([&] { return Children(daemon, "wharf-compiler").empty(); }));
  EXPECT_EQ(server.Status().at("crashes"), 0);
}

}  // namespace
}  // namespace wharf::server
