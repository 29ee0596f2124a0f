// Split sessions served by real processes: who is let in, what one client can do wrong, and that another's inferences
// come out right all the while.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <set>
#include <thread>

#include "wharf/exec/torch_engine.h"
#include "wharf/graph/onnx/onnx_text.h"
#include "wharf/link/resume/resume_testing.h"
#include "wharf/server/model_worker/split_testing.h"
#include "wharf/server/testing/testing.h"
#include "wharf/split/runtime/client.h"
#include "wharf/split/runtime/edge_model.h"
#include "wharf/split/runtime/own_profile.h"

namespace wharf::server {
namespace {

using offload::RawClient;
using split::FrameKind;
using ::testing::HasSubstr;

constexpr const char* kToken = "0123456789abcdef0123456789abcdef";

// The model with every `from` replaced by `to`, which is as long.
std::vector<std::byte> ModelWith(std::string_view from, std::string_view to) {
  std::vector<std::byte> bytes = ModelBytes();
  const auto what = std::as_bytes(std::span(from)), by = std::as_bytes(std::span(to));
  for (auto at = bytes.begin();;) {
    at = std::search(at, bytes.end(), what.begin(), what.end());
    if (at == bytes.end()) return bytes;
    at = std::copy(by.begin(), by.end(), at);
  }
}

// Every inference is computed by the server, however fast the device is.
split::SplitClientOptions ServerOnly(const std::string& token) {
  split::SplitClientOptions options;
  options.load = split::OnnxLoader(TestEngine());
  options.planner = "server-only";
  options.profile = [](const split::Model& model, const std::string& server) -> absl::StatusOr<split::Profile> {
    WHARF_RETURN_IF_ERROR(split::ParseMachineProfile(server).status());
    split::Profile profile = split::Untimed(model.Operators());
    profile.slice_cost = {0, 1};
    for (size_t op = 1; op + 1 < profile.operators.size(); ++op) profile.operators[op].full_ms = {1, 1};
    return profile;
  };
  options.token = token;
  options.slack = std::chrono::seconds(30);
  options.first_pause = std::chrono::milliseconds(1);
  return options;
}

absl::StatusOr<std::unique_ptr<split::SplitClient>> Open(const ServerProcess& server,
                                                         const split::SplitClientOptions& options,
                                                         std::vector<std::byte> bytes = ModelBytes(),
                                                         const link::ConnectOptions& connect = {}) {
  return split::SplitClient::Open(
      std::move(bytes), [&server, connect] { return server.Connect(connect); }, options);
}

// A client that does everything right, over and over.
class GoodClient {
 public:
  explicit GoodClient(const ServerProcess& server, const link::ConnectOptions& connect = {}) {
    auto session = Open(server, ServerOnly(kToken), ModelBytes(), connect);
    EXPECT_TRUE(session.ok()) << ToString(session.status());
    if (!session.ok()) return;
    session_ = *std::move(session);
    running_ = std::thread([this] { Run(); });
  }
  ~GoodClient() { Stop(); }

  // A few more inferences since now came from the server and were right, and so were all before.
  ::testing::AssertionResult GoesOn() {
    const uint64_t before = together_;
    if (!Eventually([&] { return wrong_ || together_ >= before + 5; }))
      return ::testing::AssertionFailure() << "it hangs";
    return wrong_ ? ::testing::AssertionFailure() << "a wrong result" : ::testing::AssertionSuccess();
  }
  // Inferences that the device had to finish alone.
  uint64_t FinishedAlone() const { return alone_; }
  const split::SplitClient& Session() const { return *session_; }
  void Stop() {
    stop_ = true;
    if (running_.joinable()) running_.join();
  }
  bool AllRight() const { return !wrong_; }

 private:
  void Run() {
    const split::Model& model = session_->GetModel();
    const auto input = split::SampleInput(TestEngine(), model.Graph().Type(model.Graph().inputs[0]));
    while (!stop_ && !wrong_) {
      const auto results = session_->Run(*input);
      wrong_ = !results.ok() || !IsWhole(model, *input, *results);
      ++(session_->Report().alone ? alone_ : together_);
    }
  }

  std::unique_ptr<split::SplitClient> session_;
  std::atomic<bool> stop_ = false, wrong_ = false;
  std::atomic<uint64_t> together_ = 0, alone_ = 0;
  std::thread running_;
};

absl::Status GoodbyeTo(RawClient& client) {
  const auto frame = client.Next(static_cast<offload::FrameKind>(FrameKind::kGoodbye));
  return frame.ok() ? wire::StatusOf(frame->As<wire::Goodbye>()) : frame.status();
}

class SplitServing : public ::testing::Test {
 protected:
  SplitServing() { directory_.Write("token", kToken); }

  std::vector<std::string> Options(std::vector<std::string> more = {}) const {
    std::vector<std::string> options = {"--token-file",           directory_.File("token"), "--cache-dir",
                                        directory_.File("cache"), "--model-device",         "cpu"};
    options.insert(options.end(), more.begin(), more.end());
    return options;
  }
  std::vector<std::string> TlsOptions() const {
    MakeIdentity(directory_, "server");
    return Options({"--tls-cert", directory_.File("server.crt"), "--tls-key", directory_.File("server.key")});
  }
  link::ConnectOptions Tls() const {
    return {.tls = link::TlsClientOptions{
                .ca_file = directory_.File("server.crt"), .certificate_file = "", .key_file = "", .server_name = ""}};
  }
  // Connects and sends one frame by hand.
  static std::unique_ptr<RawClient> Send(const ServerProcess& server, const split::Hello& hello,
                                         const link::ConnectOptions& connect = {}, const std::string& token = "") {
    auto stream = server.Connect(connect);
    if (!stream.ok()) return nullptr;
    auto client = std::make_unique<RawClient>(*std::move(stream));
    client->SendFrame(static_cast<uint16_t>(FrameKind::kHello), 0, wire::Encode(hello)).IgnoreError();
    if (!token.empty()) client->Prove<split::SplitProtocol>(hello, token).IgnoreError();
    return client;
  }
  static std::unique_ptr<RawClient> Welcomed(const ServerProcess& server, const link::ConnectOptions& connect = {}) {
    auto client = Send(server, {}, connect, kToken);
    const auto welcome = client->Next(static_cast<offload::FrameKind>(FrameKind::kWelcome));
    EXPECT_TRUE(welcome.ok()) << ToString(welcome.status());
    return client;
  }
  static size_t FilesIn(const std::string& directory, const std::string& extension) {
    size_t count = 0;
    for (const auto& file : std::filesystem::directory_iterator(directory)) {
      count += file.path().extension() == extension ? 1 : 0;
    }
    return count;
  }

  TemporaryDirectory directory_;
};

TEST_F(SplitServing, AModelIsCalledLikeOneThatIsHere) {
  const ServerProcess server(Options());
  const auto model = split::EdgeModel::Connect(kModel, server.Address(), Patient(directory_.File("own"), kToken));
  ASSERT_TRUE(model.ok()) << ToString(model.status());
  const auto here = split::Model::Load(TestEngine(), ModelBytes());
  const auto input = split::SampleInput(TestEngine(), (*model)->InputType());
  std::vector<std::byte> bytes((*model)->InputType().Bytes());
  (*input)->Read(bytes);
  const auto outputs = (*model)->Run(bytes);
  ASSERT_TRUE(outputs.ok()) << ToString(outputs.status());
  EXPECT_FALSE((*model)->Report().alone);
  EXPECT_TRUE(IsWhole(**here, *input, TensorsOf(*outputs)));
  EXPECT_EQ((*model)->Run(std::span(bytes).first(5)).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(SplitServing, APictureOfAnySizeTravelsAsBytesAndIsNormalisedByTheModel) {
  const ServerProcess server(Options());
  split::EdgeModelOptions options = Patient(directory_.File("own"), kToken);
  options.pictures = true;
  const auto model = split::EdgeModel::Connect(kModel, server.Address(), options);
  ASSERT_TRUE(model.ok()) << ToString(model.status());
  EXPECT_EQ((*model)->InputType().element, graph::ElementType::kUint8);
  split::Image picture{.width = 40, .height = 30, .channels = 1, .pixels = {}};
  for (int i = 0; i < 40 * 30; ++i) picture.pixels.push_back(static_cast<uint8_t>(i % 40 * 5 + i / 40));
  const auto outputs = (*model)->Run(picture);
  ASSERT_TRUE(outputs.ok()) << ToString(outputs.status());
  EXPECT_FALSE((*model)->Report().alone);
  // The model as it is in the file, of the picture normalised here.
  const auto here = split::Model::Load(TestEngine(), ModelBytes());
  const auto input = split::PictureTensor(TestEngine(), (*here)->Graph().Type((*here)->Graph().inputs[0]), picture,
                                          graph::Normalization::Default);
  ASSERT_TRUE(input.ok()) << ToString(input.status());
  EXPECT_TRUE(IsWhole(**here, *input, TensorsOf(*outputs)));
}

TEST_F(SplitServing, AModelSaysWhyItCannotBeCalled) {
  const ServerProcess server(Options());
  const auto connect = [&](const std::string& path, const std::string& token) {
    split::EdgeModelOptions options = Patient("", kToken);
    options.token = token;
    return split::EdgeModel::Connect(path, server.Address(), options).status();
  };
  EXPECT_EQ(connect(directory_.File("none.onnx"), kToken).code(), absl::StatusCode::kNotFound);
  directory_.Write("text.onnx", "no model");
  const absl::Status text = connect(directory_.File("text.onnx"), kToken);
  EXPECT_EQ(text.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(Message(text), HasSubstr("text.onnx: "));
  EXPECT_EQ(connect(kModel, "not this one").code(), absl::StatusCode::kUnauthenticated);
}

TEST_F(SplitServing, CountsItsSessionsAndKeepsTheirModels) {
  const ServerProcess server(Options());
  for (int i = 0; i < 2; ++i) {
    GoodClient client(server);
    EXPECT_TRUE(client.GoesOn());
    EXPECT_TRUE(server.AwaitStatus([](const nlohmann::json& status) {
      return status["sessions"].size() == 1 && status["sessions"][0]["kind"] == "split" &&
             status["sessions"][0]["device_ms"] >= 1;
    }));
  }
  EXPECT_TRUE(server.AwaitStatus([](const nlohmann::json& status) {
    return status["sessions_closed"] == 2 && status["inferences"] >= 10 && status["crashes"] == 0;
  })) << server.Log();
  EXPECT_EQ(FilesIn(directory_.File("cache/models"), ".onnx"), 1u);
  EXPECT_EQ(FilesIn(directory_.File("cache/profiles"), ".json"), 1u) << "a model is measured once";
}

TEST_F(SplitServing, RefusesWhoDoesNotKnowTheToken) {
  const ServerProcess server(Options());
  EXPECT_EQ(Open(server, ServerOnly("fedcba9876543210fedcba9876543210")).status(),
            Unauthenticated("the token is wrong: use the server's token file"));
  EXPECT_EQ(Open(server, ServerOnly("")).status(),
            Unauthenticated("the server wants a token: give --token-file FILE (or set WHARF_TOKEN_FILE)"));
  EXPECT_TRUE(server.AwaitStatus([](const nlohmann::json& status) { return status["refused"] == 2; }));
  EXPECT_TRUE(GoodClient(server).GoesOn());
}

TEST_F(SplitServing, RefusesOtherVersionsAndWhatIsNoHello) {
  const ServerProcess server(Options());
  EXPECT_EQ(GoodbyeTo(*Send(server, {.major = 9, .minor = 4})),
            FailedPrecondition("the server speaks split protocol {}.{}, the client 9.4: install the same version of "
                               "wharf on both machines",
                               split::kSplitMajor, split::kSplitMinor));
  EXPECT_EQ(GoodbyeTo(*Send(server, {.magic = 1})), InvalidArgument("this is not a split session's Hello"));
}

TEST_F(SplitServing, RefusesALongHello) {
  const ServerProcess server(Options());
  auto stream = server.Connect();
  ASSERT_TRUE(stream.ok());
  RawClient client(*std::move(stream));
  EXPECT_TRUE(client.SendFrame(static_cast<uint16_t>(FrameKind::kHello), 0, std::vector<std::byte>(9000)).ok());
  EXPECT_EQ(GoodbyeTo(client).code(), absl::StatusCode::kResourceExhausted);
}

TEST_F(SplitServing, IsFullForBothKindsOfSessions) {
  const ServerProcess server(Options({"--max-sessions", "1"}));
  GoodClient client(server);
  EXPECT_EQ(Open(server, ServerOnly(kToken)).status(),
            ResourceExhausted("the server is full: try again later, or raise its --max-sessions"));
  const auto offload = server.Greet({}, {}, kToken);
  const auto refusal = offload->Next(offload::FrameKind::kRefusal);
  ASSERT_TRUE(refusal.ok()) << ToString(refusal.status());
  EXPECT_EQ(refusal->As<offload::Refusal>().reason, offload::RefusalReason::kFull);
  EXPECT_TRUE(client.GoesOn());
}

TEST_F(SplitServing, SaysThatItCannotRunModels) {
  // Without wharf-model beside it.
  const std::string alone = directory_.File("wharf");
  std::filesystem::copy_file(WHARF_BINARY, alone);
  std::filesystem::copy_file(std::filesystem::path(WHARF_BINARY).replace_filename("wharf-worker"),
                             directory_.File("wharf-worker"));
  const ServerProcess server(Options(), "127.0.0.1:0", alone);
  EXPECT_EQ(Open(server, ServerOnly(kToken)).status(),
            FailedPrecondition("this server cannot run models: install wharf-model there"));
}

TEST_F(SplitServing, OverTls) {
  const ServerProcess server(TlsOptions());
  GoodClient client(server, Tls());
  EXPECT_TRUE(client.GoesOn());
  EXPECT_EQ(Open(server, ServerOnly("fedcba9876543210fedcba9876543210"), ModelBytes(), Tls()).status(),
            Unauthenticated("the token is wrong: use the server's token file"));
  const absl::Status plain = Open(server, ServerOnly(kToken)).status();
  EXPECT_EQ(plain.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(Message(plain)), HasSubstr("does it want --tls"));
  EXPECT_TRUE(client.GoesOn());
}

TEST_F(SplitServing, AsksForCertificates) {
  MakeIdentity(directory_, "client");
  std::vector<std::string> options = TlsOptions();
  options.insert(options.end(), {"--tls-client-ca", directory_.File("client.crt")});
  const ServerProcess server(options);
  EXPECT_FALSE(Open(server, ServerOnly(kToken), ModelBytes(), Tls()).ok());
  link::ConnectOptions known = Tls();
  known.tls->certificate_file = directory_.File("client.crt");
  known.tls->key_file = directory_.File("client.key");
  EXPECT_TRUE(GoodClient(server, known).GoesOn());
}

// What is wrong with a client's model is said to that client.
TEST_F(SplitServing, RefusesModels) {
  const ServerProcess server(Options({"--memory", "256MiB"}));
  GoodClient client(server);
  split::SplitClientOptions blind = ServerOnly(kToken);  // looks at another model than it sends
  blind.load = [](std::span<const std::byte>) { return split::Model::Load(TestEngine(), ModelBytes()); };
  std::vector<std::byte> corrupt = ModelBytes();
  corrupt.resize(corrupt.size() / 2);
  EXPECT_EQ(Open(server, blind, corrupt).status().code(), absl::StatusCode::kInvalidArgument);
  const std::vector<std::byte> unsupported = ModelWith("HardSwish", "HardSwash");
  const absl::Status there = Open(server, blind, unsupported).status();
  EXPECT_EQ(there.code(), absl::StatusCode::kUnimplemented);
  EXPECT_THAT(std::string(Message(there)), HasSubstr("HardSwash"));
  EXPECT_EQ(Open(server, ServerOnly(kToken), unsupported).status(), there) << "the client's own loader says the same";
  auto large = Welcomed(server);
  large
      ->SendFrame(static_cast<uint16_t>(FrameKind::kOpenModel), 0,
                  wire::Encode(split::OpenModel{{}, uint64_t{300} << 20}))
      .IgnoreError();
  EXPECT_EQ(GoodbyeTo(*large).code(), absl::StatusCode::kResourceExhausted);
  EXPECT_TRUE(client.GoesOn());
  EXPECT_EQ(client.FinishedAlone(), 0u);
  EXPECT_EQ(FilesIn(directory_.File("cache/models"), ".onnx"), 1u) << "what is no model is not kept";
}

// One GiB of activations, where a session may have half of that.
TEST_F(SplitServing, AModelThatNeedsTooMuchMemoryEndsItsOwnSession) {
  const ServerProcess server(Options({"--memory", "512MiB"}));
  GoodClient client(server);
  const std::vector<std::byte> large = graph::testing::Bytes(
      graph::testing::Model("large (float[1,1,1,64] x) => (float[1,4096,1024,1] y) <int64[4] shape = {1, 4096, 1024, "
                            "64}, int64[1] axis = {3}>"
                            "{ wide = Expand(x, shape) positive = Relu(wide) y = ReduceSum(positive, axis) }"));
  split::SplitClientOptions blind = ServerOnly(kToken);
  blind.load = [](std::span<const std::byte>) { return split::Model::Load(TestEngine(), ModelBytes()); };
  const absl::Status refused = Open(server, blind, large).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted) << ToString(refused);
  EXPECT_THAT(std::string(Message(refused)), HasSubstr("can't allocate memory"));
  EXPECT_TRUE(client.GoesOn());
  EXPECT_EQ(client.FinishedAlone(), 0u);
  EXPECT_EQ(server.Status()["crashes"], 0);
}

TEST_F(SplitServing, MissesAGpuThatIsNotThere) {
  Child child({WHARF_BINARY, "serve", "--listen", "127.0.0.1:0", "--device", "soft", "--model-device", "cuda:64"},
              directory_.File("output"), directory_.File("error"));
  EXPECT_EQ(child.AwaitExit(), 1);
  const std::string line = directory_.Read("error");
  EXPECT_THAT(line, HasSubstr(exec::FindTorchDevice("cuda").ok() ? "there is no GPU 64" : "say cpu, or"));
}

TEST_F(SplitServing, FindsWhereModelsRun) {
  const ServerProcess server({"--token-file", directory_.File("token"), "--model-device", "auto"});
  EXPECT_TRUE(GoodClient(server).GoesOn());
  const std::string on_gpu = "LibTorch " + exec::TorchVersion() + " on ";
  EXPECT_EQ(server.Log().find(on_gpu) != std::string::npos, exec::FindTorchDevice("cuda").ok()) << server.Log();
}

TEST_F(SplitServing, AWrongInputIsTheClientsAffair) {
  const ServerProcess server(Options());
  const auto session = Open(server, ServerOnly(kToken));
  ASSERT_TRUE(session.ok()) << ToString(session.status());
  const auto wrong = split::SampleInput(TestEngine(), {graph::ElementType::kFloat, {1, 2}});
  EXPECT_EQ((*session)->Run(*wrong).status().code(), absl::StatusCode::kInvalidArgument);
  const graph::Graph& graph = (*session)->GetModel().Graph();
  const auto input = split::SampleInput(TestEngine(), graph.Type(graph.inputs[0]));
  const auto results = (*session)->Run(*input);
  ASSERT_TRUE(results.ok()) << ToString(results.status());
  EXPECT_TRUE(IsWhole((*session)->GetModel(), *input, *results));
  EXPECT_EQ((*session)->Report().lost, absl::OkStatus());
}

// Whoever can write into the cache, it cannot give anybody another model.
TEST_F(SplitServing, ADamagedModelInTheCacheIsAskedForAgain) {
  const ServerProcess server(Options());
  { EXPECT_TRUE(GoodClient(server).GoesOn()); }
  const std::string kept = directory_.File("cache/models/") + wire::HexOf(wire::HashOf(ModelBytes())) + ".onnx";
  const std::vector<std::byte> other = ModelWith("HardSwish", "HardSwash");
  std::ofstream(kept, std::ios::binary)
      .write(reinterpret_cast<const char*>(other.data()), static_cast<std::streamsize>(other.size()));
  EXPECT_TRUE(GoodClient(server).GoesOn());
  EXPECT_EQ(std::filesystem::file_size(kept), ModelBytes().size());
  EXPECT_TRUE(server.AwaitStatus([](const nlohmann::json& status) { return status["crashes"] == 0; }));
}

TEST_F(SplitServing, GarbageAndFloodsEndOneSession) {
  for (const bool encrypted : {false, true}) {
    std::vector<std::string> options = encrypted ? TlsOptions() : Options();
    options.insert(options.end(), {"--resume-timeout", "200ms"});
    const ServerProcess server(options);
    const link::ConnectOptions connect = encrypted ? Tls() : link::ConnectOptions();
    GoodClient client(server, connect);
    {
      auto garbage = server.Connect(connect);
      ASSERT_TRUE(garbage.ok());
      const std::vector<std::byte> bytes(1000, std::byte{'x'});
      const std::span<const std::byte> piece = bytes;
      (*garbage)->Write({&piece, 1}).IgnoreError();
      EXPECT_TRUE(client.GoesOn());
    }
    const auto confused = Welcomed(server, connect);
    confused->SendFrame(999, 0, {}).IgnoreError();
    EXPECT_EQ(GoodbyeTo(*confused).code(), absl::StatusCode::kInvalidArgument);
    // Wants answers that it does not read.
    const auto flood = Welcomed(server, connect);
    flood->Hold(true);
    std::thread sending([&] {
      const std::vector<std::byte> probe(split::kProbeBytes);
      for (int i = 0; i < 2000; ++i) {
        if (!flood->SendFrame(static_cast<uint16_t>(FrameKind::kProbe), 0, {}, probe).ok()) return;
      }
    });
    EXPECT_TRUE(client.GoesOn());
    flood->Hold(false);
    flood->channel().Close();
    sending.join();
    EXPECT_TRUE(client.GoesOn());
    EXPECT_EQ(client.FinishedAlone(), 0u) << server.Log();
    EXPECT_TRUE(server.AwaitStatus(
        [](const nlohmann::json& status) { return status["crashes"] == 0 && status["sessions"].size() == 1; }));
  }
}

TEST_F(SplitServing, AKilledClientIsGone) {
  const ServerProcess server(TlsOptions());
  GoodClient client(server, Tls());
  Child victim({WHARF_MODEL_BINARY, "split", kModel, "--server", server.Address(), "--token-file",
                directory_.File("token"), "--tls-ca", directory_.File("server.crt"), "--threads", "1", "--cache-dir",
                "", "--mode", "server-only", "--count", "1000000"},
               directory_.File("victim.out"), directory_.File("victim.log"));
  ASSERT_TRUE(server.AwaitStatus([](const nlohmann::json& status) { return status["sessions"].size() == 2; }))
      << directory_.Read("victim.log");
  victim.Signal(SIGKILL);
  EXPECT_TRUE(server.AwaitStatus([](const nlohmann::json& status) {
    return status["sessions"].size() == 2 &&
           (status["sessions"][0]["waiting"] == true || status["sessions"][1]["waiting"] == true);
  })) << "it may come back";
  EXPECT_TRUE(client.GoesOn());
  EXPECT_EQ(client.FinishedAlone(), 0u);
}

// A client's connections, which can be cut.
class CutConnections {
 public:
  absl::StatusOr<std::unique_ptr<link::ByteStream>> Dial(const ServerProcess& server,
                                                         const link::ConnectOptions& connect) {
    WHARF_ASSIGN_OR_RETURN(std::shared_ptr<link::ByteStream> stream, server.Connect(connect));
    absl::MutexLock lock(&mutex_);
    last_ = stream;
    return std::make_unique<link::SharedStream>(std::move(stream));
  }
  void Cut() {
    absl::MutexLock lock(&mutex_);
    last_->Shutdown();
  }

 private:
  absl::Mutex mutex_;
  std::shared_ptr<link::ByteStream> last_ ABSL_GUARDED_BY(mutex_);
};

TEST_F(SplitServing, AClientThatComesBackFindsItsModelLoaded) {
  for (const bool encrypted : {false, true}) {
    const ServerProcess server(encrypted ? TlsOptions() : Options());
    CutConnections connections;
    const auto session = split::SplitClient::Open(
        ModelBytes(), [&] { return connections.Dial(server, encrypted ? Tls() : link::ConnectOptions()); },
        ServerOnly(kToken));
    ASSERT_TRUE(session.ok()) << ToString(session.status());
    ASSERT_TRUE(server.AwaitStatus([](const nlohmann::json& status) { return status["sessions"].size() == 1; }));
    const auto process = [&] { return server.Status()["sessions"][0]["pid"].get<pid_t>(); };
    const pid_t first = process();
    // A process that loaded it again would ask for it again, and keep it.
    std::filesystem::remove_all(directory_.File("cache/models"));
    const graph::Graph& graph = (*session)->GetModel().Graph();
    const auto input = split::SampleInput(TestEngine(), graph.Type(graph.inputs[0]));
    for (int cuts = 1; cuts <= 3; ++cuts) {
      connections.Cut();
      ASSERT_TRUE(server.AwaitStatus([&](const nlohmann::json& status) { return status["resumed"] == cuts; }));
      ASSERT_TRUE(Eventually([&] { return (*session)->Connected(); }));
      const auto results = (*session)->Run(*input);
      ASSERT_TRUE(results.ok()) << ToString(results.status());
      EXPECT_EQ((*session)->Report().lost, absl::OkStatus());
      EXPECT_TRUE(IsWhole((*session)->GetModel(), *input, *results));
      EXPECT_EQ(process(), first);
    }
    EXPECT_FALSE(std::filesystem::exists(directory_.File("cache/models"))) << "the model did not travel again";
  }
}

TEST_F(SplitServing, AClientThatMayComeBackMakesRoomForOneThatIsHere) {
  const ServerProcess server(Options({"--max-sessions", "1"}));
  { Welcomed(server)->channel().Close(); }
  ASSERT_TRUE(server.AwaitStatus([](const nlohmann::json& status) {
    return status["sessions"].size() == 1 && status["sessions"][0]["waiting"] == true;
  }));
  EXPECT_TRUE(GoodClient(server).GoesOn());
}

TEST_F(SplitServing, ASessionOutlivesItsConnectionForSoLong) {
  const ServerProcess server(Options({"--resume-timeout", "200ms"}));
  { Welcomed(server)->channel().Close(); }
  EXPECT_TRUE(server.AwaitStatus([](const nlohmann::json& status) { return status["sessions_closed"] == 1; }));
}

TEST_F(SplitServing, NobodyGoesOnWithAnothersSession) {
  const ServerProcess server(Options());
  const auto owner = Send(server, {}, {}, kToken);
  const auto welcome = owner->Next(static_cast<offload::FrameKind>(FrameKind::kWelcome));
  ASSERT_TRUE(welcome.ok()) << ToString(welcome.status());
  split::ResumeTicket guessed = welcome->As<split::Welcome>().ticket;
  EXPECT_NE(guessed.session, 0u);
  guessed.secret[15] ^= std::byte{1};
  const auto other = Send(server, {.ticket = guessed}, {}, kToken);
  const auto answer = other->Next(static_cast<offload::FrameKind>(FrameKind::kWelcome));
  ASSERT_TRUE(answer.ok()) << ToString(answer.status());
  EXPECT_NE(answer->As<split::Welcome>().ticket.session, guessed.session);
  EXPECT_TRUE(server.AwaitStatus(
      [](const nlohmann::json& status) { return status["sessions"].size() == 2 && status["resumed"] == 0; }));
}

TEST_F(SplitServing, AKilledWorkerIsReplaced) {
  for (const bool encrypted : {false, true}) {
    const ServerProcess server(encrypted ? TlsOptions() : Options());
    GoodClient client(server, encrypted ? Tls() : link::ConnectOptions());
    EXPECT_TRUE(client.GoesOn());
    for (int crashes = 1; crashes <= 2; ++crashes) {
      ASSERT_TRUE(server.AwaitStatus([](const nlohmann::json& status) { return status["sessions"].size() == 1; }));
      kill(server.Status()["sessions"][0]["pid"].get<pid_t>(), SIGKILL);
      EXPECT_TRUE(server.AwaitStatus([&](const nlohmann::json& status) { return status["crashes"] == crashes; }));
      EXPECT_TRUE(client.GoesOn()) << "after it has connected again";
    }
  }
}

// Its successor gets its client's files, too: the model is in the cache.
TEST_F(SplitServing, AClientOfASpareProcessThatDiesIsServedByAnother) {
  ServerProcess server(Options());
  const GoodClient first(server);
  const auto of_sessions = [](const nlohmann::json& status) {
    std::set<pid_t> pids;
    for (const auto& session : status["sessions"]) pids.insert(session["pid"].get<pid_t>());
    return pids;
  };
  std::set<pid_t> spare;
  ASSERT_TRUE(Eventually([&] {
    spare = Children(server.Process().Pid(), "wharf-model");
    for (const pid_t pid : of_sessions(server.Status())) spare.erase(pid);
    return spare.size() == 1;
  }));
  const pid_t victim = *spare.begin();
  kill(victim, SIGSTOP);  // it takes nothing
  std::optional<GoodClient> second;
  std::thread opening([&] { second.emplace(server); });
  EXPECT_TRUE(server.AwaitStatus([&](const nlohmann::json& status) { return of_sessions(status).contains(victim); }));
  kill(victim, SIGKILL);
  opening.join();
  EXPECT_TRUE(second->GoesOn());
  EXPECT_EQ(server.Status()["crashes"], 1);
}

TEST_F(SplitServing, DrainsAndLetsClientsGoOnAlone) {
  for (const bool encrypted : {false, true}) {
    ServerProcess server(encrypted ? TlsOptions() : Options());
    GoodClient client(server, encrypted ? Tls() : link::ConnectOptions());
    EXPECT_TRUE(client.GoesOn());
    server.Process().Signal(SIGTERM);
    EXPECT_EQ(server.Process().AwaitExit(), 0);
    EXPECT_EQ(server.Status()["crashes"], 0);
    const uint64_t before = client.FinishedAlone();
    EXPECT_TRUE(Eventually([&] { return client.FinishedAlone() >= before + 5; }));
    client.Stop();
    EXPECT_TRUE(client.AllRight());
    EXPECT_EQ(client.Session().GivenUp(), absl::OkStatus()) << "it may come back";
  }
}

}  // namespace
}  // namespace wharf::server
