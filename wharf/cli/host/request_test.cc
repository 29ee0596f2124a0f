#include "wharf/cli/host/request.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace wharf::cli {
namespace {

using ::testing::HasSubstr;

Request Parsed(std::string_view text) {
  const auto request = ParseRequest(text);
  EXPECT_TRUE(request.ok()) << request.status();
  return request.value_or(Request());
}

void ExpectRefused(const std::string& text, const std::string& why) {
  const auto request = ParseRequest(text);
  EXPECT_EQ(request.status().code(), absl::StatusCode::kInvalidArgument) << text;
  EXPECT_THAT(std::string(Message(request.status())), HasSubstr(why)) << text;
}

TEST(HostRequest, LeavesOutWhatIsAsItIs) {
  const Request request = Parsed(R"({"id": 7, "ask": "open", "model": "/m.onnx", "slack_ms": null})");
  EXPECT_EQ(request.id, 7u);
  OpenRequest open;
  open.model = "/m.onnx";
  EXPECT_EQ(request.what, decltype(request.what)(open));
  EXPECT_EQ(Parsed(R"({"id": 8, "ask": "run"})").what, decltype(request.what)(RunRequest()));
}

TEST(HostRequest, IsWrittenAsItIsRead) {
  OpenRequest open;
  open.model = "/with \"quotes\" and ü.onnx";
  open.name = "net";
  open.server = "edge:7070";
  open.token = "0123456789abcdef";
  open.token_file = "/token";
  open.tls = open.pictures = open.allow_half = open.progress = true;
  open.tls_ca = "/ca", open.tls_pin = "sha256:00", open.tls_certificate = "/crt", open.tls_key = "/key";
  open.planner = "dsccs";
  open.input_shape = "x=1,3,8,8";
  open.jpeg_quality = 90;
  open.mean = {0.485F, 0.456F, 0.406F};
  open.deviation = {0.1F};
  open.slack_ms = 12.5;
  open.threads = 3;
  open.cache_directory = "";
  OpenArRequest ar;
  ar.server = "edge:7072", ar.token_file = "/token", ar.tls_pin = "sha256:00";
  ar.width = 640, ar.height = 480, ar.jpeg_quality = 80;
  ar.fx = 500.5, ar.fy = 501, ar.cx = 320, ar.cy = -0.5, ar.frames_per_s = 29.97;
  ar.depth = ar.odometry = true;
  ar.networks = "/ar";
  ar.sla = 0.05;
  ar.own_tasks = {{"free_space", "/free \"space\".json", true}, {"lanes", "", false}};
  OpenCalibrationRequest calibration;
  calibration.server = "edge:7072", calibration.token = "0123456789abcdef";
  calibration.task = "free_space", calibration.source = "two streets", calibration.local = true;
  calibration.videos = {"/street-0", ""};
  calibration.width = 448, calibration.height = 128, calibration.jpeg_quality = 80;
  calibration.frames_per_s = 60, calibration.strides = {1, 4}, calibration.every = 8, calibration.latency_frames = 2;
  const ArFrameRequest frame{1.25, {1.2, 0.1, -0.2, 1e-3, 0, -9.81, 0.5}};
  for (const Request& request :
       {Request{4, ar}, Request{5, frame}, Request{1, open}, Request{6, calibration}, Request{7, CalibrateRequest()},
        Request{8, CalledRequest{~uint64_t{0}, 0.25, "no"}}, Request{9, CalledRequest()},
        Request{~uint64_t{0}, RunRequest{3, PictureShape{480, 640, 1}}}, Request{2, ReportRequest()},
        Request{3, StateRequest()}}) {
    EXPECT_EQ(Parsed(RequestAsJson(request)), request) << RequestAsJson(request);
  }
}

TEST(HostRequest, RefusesWhatItCannotBe) {
  ExpectRefused("", "no JSON");
  ExpectRefused("[1]", "no object");
  ExpectRefused(R"({"id": 1, "ask": "open", "mean": [[[1]]]})", "no JSON");  // too deep
  ExpectRefused(R"({"id": 1, "ask": "open", "mean": [[1]]})", "no number");
  ExpectRefused(R"({"id": 1, "ask": "open_ar", "own_tasks": ["lanes"]})", "no task");
  ExpectRefused(R"({"id": 1, "ask": "open_ar", "own_tasks": [{"name": 3}]})", "\"name\" is no text");
  ExpectRefused(R"({"id": 1, "ask": "open_ar", "own_tasks": [{"path": ""}]})", "\"path\" is not known");
  ExpectRefused(R"({"id": 1, "ask": "open_ar", "sla": -1})", "\"sla\" is no number from 0");
  ExpectRefused(R"({"id": 1, "ask": "open_calibration", "videos": "a"})", "no list of at most 1024");
  ExpectRefused(R"({"id": 1, "ask": "open_calibration", "videos": ["a\u0000b"]})", "zero byte");
  ExpectRefused(R"({"id": 1, "ask": "open_calibration", "strides": [0]})", "\"strides\" is no number from 1");
  ExpectRefused(R"({"id": 1, "ask": "called", "loss": -0.1})", "\"loss\" is no number from 0");
  ExpectRefused(R"({"id": 1, "ask": "called", "result": 1.5})", "\"result\" is no number");
  ExpectRefused(R"({"id": 1, "ask": "frame", "imu": [1, "2"]})", "\"imu\" has what is no number");
  ExpectRefused(R"({"id": 1, "ask": "frame", "time_s": 1e999})", "");
  ExpectRefused(R"({"id": 1, "ask": "open_ar", "width": 0})", "\"width\"");
  ExpectRefused(std::string(kMaxRequestBytes + 1, ' '), "are the most");
  ExpectRefused(R"({"ask": "run"})", "\"id\" is no number");
  ExpectRefused(R"({"id": -1, "ask": "run"})", "\"id\" is no number");
  ExpectRefused(R"({"id": 1})", "not known");
  ExpectRefused(R"({"id": 1, "ask": "dance"})", "not known");
  ExpectRefused(R"({"id": 1, "ask": "run", "slots": 1})", "\"slots\" is not known");
  ExpectRefused(R"({"id": 1, "ask": "run", "slot": 64})", "\"slot\" is no number from 0 to 63");
  ExpectRefused(R"({"id": 1, "ask": "run", "slot": 18446744073709551615})", "\"slot\" is no number");
  ExpectRefused(R"({"id": 1, "ask": "run", "slot": 1.5})", "\"slot\" is no number");
  ExpectRefused(R"({"id": 1, "ask": "run", "picture": [1, 2]})", "[height, width, channels]");
  ExpectRefused(R"({"id": 1, "ask": "run", "picture": [0, 2, 3]})", "\"picture\" is no number from 1");
  ExpectRefused(R"({"id": 1, "ask": "run", "picture": [2, 2, 2]})", "1 or 3");
  ExpectRefused(R"({"id": 1, "ask": "open", "model": 3})", "\"model\" is no text");
  ExpectRefused(R"({"id": 1, "ask": "open", "model": "a\u0000b"})", "zero byte");
  ExpectRefused(R"({"id": 1, "ask": "open", "tls": 1})", "neither true nor false");
  ExpectRefused(R"({"id": 1, "ask": "open", "mean": [1, 1, 1, 1, 1]})", "at most 4 numbers");
  ExpectRefused(R"({"id": 1, "ask": "open", "mean": [1e60]})", "no number");
  ExpectRefused(R"({"id": 1, "ask": "open", "slack_ms": -1})", "\"slack_ms\" is no number");
  ExpectRefused(R"({"id": 1, "ask": "open", "jpeg_quality": 0})", "from 1 to 100");
}

}  // namespace
}  // namespace wharf::cli
