// A host in a thread, spoken to as a program in another language does. It computes alone; with a server:
// tests/e2e/python_test.py.
#include "wharf/cli/host/host.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>
#include <nlohmann/json.hpp>
#include <thread>

#include "wharf/base/read_file.h"
#include "wharf/cli/host/packets.h"
#include "wharf/graph/onnx/import.h"

namespace wharf::cli {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

constexpr const char* kFolder = WHARF_TESTDATA "/tiny/";

graph::Constant Stored(const std::string& name) {
  const auto bytes = ReadBytes(kFolder + ("test_data_set_0/" + name));
  EXPECT_TRUE(bytes.ok()) << bytes.status();
  auto constant = graph::ParseTensor(*bytes);
  EXPECT_TRUE(constant.ok()) << constant.status();
  return *std::move(constant);
}

class HostTest : public ::testing::Test {
 protected:
  HostTest() {
    int ends[2];
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
    socket_ = ends[0];
    host_ = std::thread([this, end = ends[1]] {
      served_ = ModelHost(end).Serve();
      close(end);
    });
  }
  ~HostTest() override {
    if (memory_ != nullptr) munmap(memory_, bytes_);
    EndHost();
    EXPECT_EQ(served_, absl::OkStatus());
  }

  void EndHost() {
    if (!host_.joinable()) return;
    close(socket_);
    host_.join();
  }

  void Send(const std::string& packet) { EXPECT_EQ(SendPacket(socket_, packet), absl::OkStatus()); }

  // The next answer; null if there is none. Maps the memory that comes along.
  json Receive() {
    std::string packet(1 << 20, '\0');
    iovec piece{packet.data(), packet.size()};
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
    msghdr header{};
    header.msg_iov = &piece;
    header.msg_iovlen = 1;
    header.msg_control = control;
    header.msg_controllen = sizeof(control);
    const ssize_t got = recvmsg(socket_, &header, MSG_CMSG_CLOEXEC);
    if (got <= 0) return nullptr;
    json answer = json::parse(packet.substr(0, static_cast<size_t>(got)), nullptr, false);
    if (const cmsghdr* const part = CMSG_FIRSTHDR(&header); part != nullptr) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(part), sizeof(fd));
      bytes_ = answer["opened"]["bytes"].get<size_t>();
      EXPECT_NE(ftruncate(fd, 1), 0) << "its size is sealed";
      memory_ = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
      EXPECT_NE(memory_, MAP_FAILED);
      close(fd);
    }
    return answer;
  }

  json Ask(const json& request) {
    Send(request.dump());
    return Receive();
  }
  std::string ErrorOf(const json& request, const std::string& code) {
    const json answer = Ask(request);
    EXPECT_EQ(answer.value("code", ""), code) << answer;
    return answer.value("error", "");
  }
  json OpenTiny() {
    return Ask({{"id", 1},
                {"ask", "open"},
                {"model", kFolder + std::string("model.onnx")},
                {"threads", 1},
                {"cache_directory", ""}});
  }

  std::byte* Memory() const { return static_cast<std::byte*>(memory_); }

  int socket_ = -1;
  absl::Status served_;
  std::thread host_;
  void* memory_ = nullptr;
  size_t bytes_ = 0;
};

TEST_F(HostTest, ComputesInSharedMemoryWhatTheModelComputes) {
  const graph::Constant input = Stored("input_0.pb"), output = Stored("output_0.pb");
  const json opened = OpenTiny();
  ASSERT_TRUE(opened.contains("opened")) << opened;
  const json& about = opened["opened"];
  EXPECT_EQ(about["inputs"][0]["element"], "float32");
  EXPECT_EQ(about["inputs"][0]["shape"], json(input.type.shape));
  EXPECT_EQ(about["outputs"][0]["shape"], json(output.type.shape));
  ASSERT_EQ(about["input_bytes"], input.bytes->size());
  std::memcpy(Memory(), input.bytes->data(), input.bytes->size());
  for (int slot = 0; slot < about["slots"].get<int>(); ++slot) {
    const json ran = Ask({{"id", 10 + slot}, {"ask", "run"}, {"slot", slot}});
    ASSERT_TRUE(ran.contains("ran")) << ran;
    EXPECT_EQ(ran["id"], 10 + slot);
    EXPECT_EQ(ran["ran"]["alone"], true);
    EXPECT_EQ(ran["ran"]["lost"], "");
    const size_t place = about["first_slot"].get<size_t>() +
                         about["slot_bytes"].get<size_t>() * static_cast<size_t>(slot) +
                         about["outputs"][0]["offset"].get<size_t>();
    ASSERT_LE(place + output.bytes->size(), bytes_);
    const auto* const results = reinterpret_cast<const float*>(Memory() + place);
    const auto expected = output.As<float>();
    for (size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(results[i], expected[i], 1e-4) << i;
  }
  const json report = Ask({{"id", 3}, {"ask", "report"}})["report"];
  EXPECT_EQ(report["alone"], true);
  EXPECT_GT(report["device_ms"], 0);
  EXPECT_EQ(report["up_bytes"], 0);
  ASSERT_GT(report["operators"].size(), 2u);
  for (const json& one : report["operators"]) {
    EXPECT_EQ(one[1], one[2]) << one;
    EXPECT_EQ(one[3], 0) << one;
  }
  EXPECT_EQ(Ask({{"id", 4}, {"ask", "state"}})["state"]["connected"], false);
}

TEST_F(HostTest, AnswersWhatIsWrongAndGoesOn) {
  EXPECT_EQ(ErrorOf({{"id", 1}, {"ask", "run"}}, "FAILED_PRECONDITION"), "no model is open");
  EXPECT_EQ(ErrorOf({{"id", 1}, {"ask", "report"}}, "FAILED_PRECONDITION"), "no model is open");
  Send("no JSON");
  EXPECT_EQ(Receive()["code"], "INVALID_ARGUMENT");
  EXPECT_THAT(ErrorOf({{"id", 2}, {"ask", "open"}, {"model", "/no/such.onnx"}}, "NOT_FOUND"),
              HasSubstr("/no/such.onnx"));
  const json no_model = {
      {"id", 2}, {"ask", "open"}, {"model", kFolder + std::string("test_data_set_0/input_0.pb")}, {"name", "net"}};
  EXPECT_THAT(ErrorOf(no_model, "INVALID_ARGUMENT"), HasSubstr("net: "));
  const std::string path = kFolder + std::string("model.onnx");
  EXPECT_THAT(
      ErrorOf({{"id", 2}, {"ask", "open"}, {"model", path}, {"server", "unix:/no/such/socket"}, {"tls_key", "/k"}},
              "INVALID_ARGUMENT"),
      HasSubstr("go together"));
  ASSERT_TRUE(OpenTiny().contains("opened"));
  EXPECT_EQ(ErrorOf({{"id", 5}, {"ask", "open"}, {"model", path}}, "FAILED_PRECONDITION"), "a model is open already");
  EXPECT_EQ(ErrorOf({{"id", 6}, {"ask", "report"}}, "FAILED_PRECONDITION"), "nothing was computed yet");
  EXPECT_EQ(ErrorOf({{"id", 7}, {"ask", "run"}, {"slot", kOutputSlots}}, "INVALID_ARGUMENT"),
            fmt::format("there is no slot {}", kOutputSlots));
  EXPECT_THAT(ErrorOf({{"id", 8}, {"ask", "run"}, {"picture", {60'000, 60'000, 3}}}, "INVALID_ARGUMENT"),
              HasSubstr("are the most"));
  EXPECT_TRUE(Ask({{"id", 9}, {"ask", "run"}}).contains("ran"));
}

TEST_F(HostTest, HoldsNoArClientThatCannotBe) {
  const json camera = {{"id", 1}, {"ask", "open_ar"}, {"width", 64}, {"height", 48}, {"fx", 60}, {"fy", 60}};
  const auto open = [&](const json& more) {
    json request = camera;
    request.update(more);
    return request;
  };
  EXPECT_THAT(ErrorOf(open({{"depth", true}, {"sla", 0}}), "INVALID_ARGUMENT"), HasSubstr("from 1e-06 to 10"));
  for (const json& more :
       {json{{"depth", true}, {"odometry", true}, {"sla", 0.1}}, json{{"odometry", true}, {"sla", 0.1}},
        json{{"depth", true}, {"sla", 0.1}, {"own_tasks", {{{"name", "mine"}}}}}}) {
    EXPECT_EQ(ErrorOf(open(more), "INVALID_ARGUMENT"),
              "an accuracy is agreed for one task: depth or boxes, or one of the program's own");
  }
  EXPECT_THAT(ErrorOf(open({{"own_tasks", {{{"name", "../mine"}}}}}), "INVALID_ARGUMENT"), HasSubstr("../mine"));
  EXPECT_THAT(ErrorOf(open({{"own_tasks", {{{"name", "mine"}, {"calibration", "/nowhere"}}}}}), "NOT_FOUND"),
              HasSubstr("/nowhere"));
  EXPECT_EQ(ErrorOf({{"id", 2}, {"ask", "frame"}}, "FAILED_PRECONDITION"), "no AR client is open");
  EXPECT_EQ(ErrorOf({{"id", 3}, {"ask", "calibrate"}}, "FAILED_PRECONDITION"), "no calibration is open");
  EXPECT_EQ(ErrorOf({{"id", 4}, {"ask", "called"}}, "FAILED_PRECONDITION"), "no function was called");
  EXPECT_EQ(ErrorOf({{"id", 5}, {"ask", "open_calibration"}, {"task", "mine"}}, "INVALID_ARGUMENT"),
            "there are no videos to calibrate on");
  const json opened = Ask(open({{"own_tasks", {{{"name", "mine"}}}}}));
  ASSERT_TRUE(opened.contains("opened")) << opened;
  EXPECT_TRUE(opened["opened"].contains("frames"));
  EXPECT_EQ(ErrorOf({{"id", 6}, {"ask", "report"}}, "FAILED_PRECONDITION"),
            "no accuracy is agreed: there is a report for clients with sla only");
  EXPECT_EQ(ErrorOf({{"id", 7}, {"ask", "open_calibration"}, {"task", "mine"}}, "FAILED_PRECONDITION"),
            "a model is open already");
}

TEST_F(HostTest, EndsWhenAPacketIsTooLong) {
  Send(std::string(kMaxRequestBytes + 1, ' '));
  EXPECT_EQ(Receive(), nullptr);
  EndHost();
  EXPECT_EQ(std::exchange(served_, absl::OkStatus()).code(), absl::StatusCode::kDataLoss);
}

}  // namespace
}  // namespace wharf::cli
