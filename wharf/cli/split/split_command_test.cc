// wharf split and wharf serve as processes: a model on both, and what users get wrong.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "wharf/base/subprocess/subprocess.h"

namespace wharf::cli {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr const char* kModel = WHARF_TESTDATA "/tiny/model.onnx";

struct Ended {
  int exit_code = -1;
  std::string output;
};

// Standard output and error together.
Ended RunCommand(const std::string& command) {
  Ended ended;
  FILE* const pipe = popen((command + " 2>&1").c_str(), "r");
  char buffer[4096];
  for (size_t count = 0; (count = fread(buffer, 1, sizeof(buffer), pipe)) > 0;) ended.output.append(buffer, count);
  ended.exit_code = WEXITSTATUS(pclose(pipe));
  return ended;
}

Ended WharfModel(const std::string& arguments) { return RunCommand(std::string(WHARF_MODEL_BINARY " ") + arguments); }

std::string WholeFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return std::string((std::istreambuf_iterator<char>(file)), {});
}

class SplitCommand : public ::testing::Test {
 protected:
  SplitCommand() : directory_(std::filesystem::temp_directory_path() / ("wharf_split_" + std::to_string(getpid()))) {
    std::filesystem::create_directories(directory_);
    std::ofstream(Token()) << "0123456789abcdef\n";
    std::ofstream(directory_ / "wrong") << "fedcba9876543210\n";
    Start();
  }
  ~SplitCommand() override {
    server_->Signal(SIGTERM);
    EXPECT_EQ(server_->Wait(), ProcessEnd{});
    std::filesystem::remove_all(directory_);
  }

  std::string Token() const { return directory_ / "token"; }
  std::string ServerLog() const { return directory_ / "server.log"; }
  std::string Here() const { return " --device cpu --threads 1 --cache-dir " + (directory_ / "cache").string(); }
  Ended Split(const std::string& arguments) const {
    // However busy this machine is, nothing is finished alone.
    return WharfModel(std::string("split ") + kModel + " --server " + address_ + Here() +
                      " --budget 20000 --slack 100s " + arguments);
  }

  std::vector<std::string> Words(const std::vector<std::string>& more) const {
    std::vector<std::string> words = {"split",   kModel,     "--server", address_,      "--token-file",
                                      Token(),   "--device", "cpu",      "--cache-dir", directory_ / "cache",
                                      "--slack", "100s"};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
  // The server keeps a session whose client may come back for an hour.
  void AwaitSessionEnd() const {
    constexpr int kPatience = 60'000;  // ms
    for (int waited = 0; WholeFile(ServerLog()).find("split session closed") == std::string::npos; ++waited) {
      ASSERT_LT(waited, kPatience) << WholeFile(ServerLog());
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }

  const std::filesystem::path directory_;
  std::string address_;

 private:
  void Start() {
    int ends[2];
    ASSERT_EQ(pipe(ends), 0);
    const std::string cache = directory_ / "cache", token = Token();
    const std::vector<std::string> words = {
        "wharf",        "serve", "--listen",    "127.0.0.1:0", "--device",       "soft", "--threads",        "1",
        "--token-file", token,   "--cache-dir", cache,         "--model-device", "cpu",  "--resume-timeout", "1h"};
    const int log = open(ServerLog().c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    auto server = Subprocess::Start({.path = WHARF_BINARY, .arguments = words, .descriptors = {0, ends[1], log}});
    close(log);
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
    close(ends[1]);
    FILE* const output = fdopen(ends[0], "r");
    char line[256] = "";
    ASSERT_NE(fgets(line, sizeof(line), output), nullptr);
    fclose(output);
    const std::string text(line, strcspn(line, "\n")), before = " on ";
    ASSERT_THAT(text, HasSubstr(before));
    address_ = text.substr(text.rfind(before) + before.size());
  }

  std::optional<Subprocess> server_;
};

TEST_F(SplitCommand, GivesWhatTheWholeModelGives) {
  for (const std::string mode : {"intra-dp", "dsccs", "server-only", "device-only"}) {
    const Ended ended = Split("--random --check --count 3 --token-file " + Token() + " --mode " + mode);
    EXPECT_EQ(ended.exit_code, 0) << ended.output;
    EXPECT_THAT(ended.output, HasSubstr("largest difference from the whole model"));
    EXPECT_THAT(ended.output, HasSubstr("0 after the device finished alone"));
  }
  EXPECT_TRUE(std::filesystem::exists(directory_ / "cache" / "models")) << "the server keeps the model";
}

// Grey shades of 64 x 48 pixels.
std::string Picture() {
  std::string pixels;
  for (int i = 0; i < 64 * 48; ++i) pixels += static_cast<char>(i % 64 * 3 + i / 64);
  return "P5 64 48 255\n" + pixels;
}

TEST_F(SplitCommand, TakesImagesInEveryEncoding) {
  const std::string image = directory_ / "image.pgm";
  std::ofstream(image) << Picture();
  const std::string rows = directory_ / "rows.json";
  std::map<std::string, double> bytes;
  for (const std::string encoding : {"f32", "u8", "packed", "f16", "jpeg", "auto"}) {
    const Ended ended = Split("--check --count 2 --mode server-only --token-file " + Token() + " --input " + image +
                              " --encoding " + encoding + " --json " + rows);
    ASSERT_EQ(ended.exit_code, 0) << ended.output;
    EXPECT_THAT(ended.output, HasSubstr("64 x 48 pixels, stretched to"));
    EXPECT_THAT(ended.output, HasSubstr("rows travelled "));
    const bool exact = encoding != "f16" && encoding != "jpeg";
    EXPECT_EQ(ended.output.find("accuracy cost of ") == std::string::npos, exact) << ended.output;
    bytes[encoding] = nlohmann::json::parse(std::ifstream(rows))[1]["uplink_bytes"];
  }
  EXPECT_EQ(bytes["f32"], 4 * bytes["u8"]);
  EXPECT_LT(bytes["packed"], bytes["u8"]);
  EXPECT_LT(bytes["jpeg"], bytes["u8"]);
  EXPECT_LE(bytes["auto"], bytes["u8"]);
}

// As numpy.save writes it.
std::string FloatArray(const std::string& shape, size_t elements) {
  const std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': " + shape + ", }\n";
  return std::string("\x93NUMPY\1\0", 8) + static_cast<char>(header.size()) + '\0' + header +
         std::string(elements * sizeof(float), '\0');
}

TEST_F(SplitCommand, TakesArraysOfTheModelsShape) {
  const std::string array = directory_ / "array.npy";
  std::ofstream(array) << FloatArray("(1, 3, 24, 32)", 2304);
  const Ended right = Split("--check --count 1 --token-file " + Token() + " --input " + array);
  EXPECT_EQ(right.exit_code, 0) << right.output;
  std::ofstream(array) << FloatArray("(1, 3, 12, 32)", 1152);
  const Ended wrong = Split("--token-file " + Token() + " --input " + array);
  EXPECT_EQ(wrong.exit_code, 1);
  EXPECT_THAT(wrong.output, HasSubstr(array + " holds float32[1,3,12,32], the model's input is float32[1,3,24,32]\n"));
}

TEST_F(SplitCommand, WritesWhatTheModelGives) {
  const auto path = [this](const char* name) { return (directory_ / name).string(); };
  const auto write = [&](const std::string& output, const std::string& more = "") {
    const Ended ended = Split("--random --count 2 --token-file " + Token() + " --output " + output + more);
    EXPECT_EQ(ended.exit_code, 0) << ended.output;
    return WholeFile(output);
  };
  const std::string array = write(path("out.npy"));
  EXPECT_TRUE(array.starts_with("\x93NUMPY"));
  const std::string archive = write(path("out.npz"));
  EXPECT_TRUE(archive.starts_with("PK\3\4"));
  EXPECT_THAT(archive, HasSubstr(array)) << "the same result in both";
  const nlohmann::json json = nlohmann::json::parse(write(path("out.json"), " --top 3"));
  ASSERT_EQ(json.size(), 1u) << "one input, however many inferences";
  EXPECT_EQ(json[0]["input"], "random");
  const auto& top = json[0]["outputs"][0]["top"];
  ASSERT_EQ(top.size(), 3u);
  EXPECT_GE(top[0]["score"], top[1]["score"]);
  const Ended wrong = Split("--output out.txt");
  EXPECT_EQ(wrong.exit_code, 2);
  EXPECT_EQ(wrong.output, "wharf: --output: out.txt: say FILE.npy, FILE.npz or FILE.json (see wharf split --help)\n");
}

TEST_F(SplitCommand, RunsOnWhateverIsInAFolderOrComesInAStream) {
  const std::string folder = directory_ / "pictures", output = directory_ / "out.json";
  std::filesystem::create_directories(folder);
  for (const char* name : {"b.pgm", "a.pgm", "c.pgm"}) std::ofstream(folder + "/" + name) << Picture();
  const auto run = [&](const std::string& command) {
    const Ended ended = Split("--check --token-file " + Token() + " --output " + output + command);
    EXPECT_EQ(ended.exit_code, 0) << ended.output;
    EXPECT_THAT(ended.output, HasSubstr("3 inferences in "));
    EXPECT_THAT(ended.output, HasSubstr(" a second"));
    return nlohmann::json::parse(WholeFile(output));
  };
  const nlohmann::json files = run(" --input " + folder);
  ASSERT_EQ(files.size(), 3u);
  EXPECT_EQ(files[0]["input"], folder + "/a.pgm");
  const std::string pieces = directory_ / "pieces";
  std::ofstream(pieces) << Picture() << Picture() << Picture();
  const nlohmann::json stream = run(" --input - < " + pieces);
  ASSERT_EQ(stream.size(), 3u);
  EXPECT_EQ(stream[2]["input"], "standard input #3");
  EXPECT_EQ(stream[2]["outputs"], files[2]["outputs"]);
  std::ofstream(folder + "/b.pgm") << Picture().substr(0, 100);
  const Ended damaged = Split("--token-file " + Token() + " --input " + folder + " --output " + output);
  EXPECT_EQ(damaged.exit_code, 1);
  EXPECT_THAT(damaged.output, HasSubstr(output + " has the results of the first 1\n"));
  EXPECT_THAT(damaged.output, HasSubstr("b.pgm: "));
  EXPECT_EQ(nlohmann::json::parse(WholeFile(output)).size(), 1u);
  std::ofstream(folder + "/a.txt") << "no picture";
  const Ended wrong = Split("--token-file " + Token() + " --input " + folder + " --output " + output);
  EXPECT_EQ(wrong.exit_code, 1);
  EXPECT_EQ(wrong.output, "wharf: " + folder + " holds pictures, and files that are none: a.txt\n");
  std::ofstream(pieces) << Picture().substr(0, 100);
  const Ended cut = Split("--token-file " + Token() + " --input - < " + pieces);
  EXPECT_EQ(cut.exit_code, 1);
  EXPECT_THAT(cut.output, HasSubstr("standard input #1 ends after 100 of 3085 bytes"));
}

// A command that a test talks to.
class Conversation {
 public:
  explicit Conversation(std::vector<std::string> words) {
    int input[2], output[2];
    EXPECT_EQ(pipe2(input, O_CLOEXEC), 0);
    EXPECT_EQ(pipe2(output, O_CLOEXEC), 0);
    words.insert(words.begin(), "wharf-model");
    auto started = Subprocess::Start(
        {.path = WHARF_MODEL_BINARY, .arguments = words, .descriptors = {input[0], output[1], output[1]}});
    EXPECT_TRUE(started.ok()) << started.status();
    command_ = *std::move(started);
    close(input[0]);
    close(output[1]);
    input_ = input[1];
    said_ = fdopen(output[0], "r");
  }
  ~Conversation() {
    fclose(said_);
    close(input_);
  }
  // Reads until it says so, or ends.
  void Await(const std::string& what) {
    char line[4096];
    while (text_.find(what) == std::string::npos && fgets(line, sizeof(line), said_) != nullptr) text_ += line;
    EXPECT_THAT(text_, HasSubstr(what));
  }
  void Say(const std::string& line) const {
    EXPECT_EQ(write(input_, line.data(), line.size()), static_cast<ssize_t>(line.size()));
  }
  void Signal(int signal) { command_->Signal(signal); }
  // Reads the rest.
  Ended End() {
    char line[4096];
    while (fgets(line, sizeof(line), said_) != nullptr) text_ += line;
    return {command_->Wait().code, text_};
  }

 private:
  std::optional<Subprocess> command_;
  int input_ = -1;
  FILE* said_ = nullptr;
  std::string text_;
};

// What it was doing when the signal came is not known: perhaps no inference, perhaps several.
TEST_F(SplitCommand, EndsInOrderWhenItIsInterrupted) {
  const std::string rows = directory_ / "rows.json";
  Conversation command(Words({"--budget", "20000", "--wait", "--duration", "1h", "--json", rows}));
  command.Await("ready\n");
  command.Say("\n");
  command.Signal(SIGINT);
  const Ended ended = command.End();
  EXPECT_EQ(ended.exit_code, 128 + SIGINT) << ended.output;
  EXPECT_THAT(ended.output, HasSubstr("wharf: interrupted after "));
  EXPECT_TRUE(nlohmann::json::parse(WholeFile(rows)).is_array()) << "what was done is written";
  AwaitSessionEnd();
}

// Planning takes minutes, and each plan less than seconds, between which it can be ended.
constexpr const char* kLargeBudget = "50000000";

TEST_F(SplitCommand, LeavesTheServerForGoodWhenItIsInterruptedBeforeTheFirstInference) {
  Conversation command(Words({"--budget", kLargeBudget, "--wait"}));
  command.Await("planning (intra-dp)");
  command.Signal(SIGINT);
  const Ended ended = command.End();
  EXPECT_EQ(ended.exit_code, 128 + SIGINT) << ended.output;
  EXPECT_THAT(ended.output, EndsWith("wharf: interrupted\n"));
  AwaitSessionEnd();
}

TEST_F(SplitCommand, PlansOnAfterTheResultsUntilItIsInterruptedOrNotAtAll) {
  Conversation command(Words({"--budget", kLargeBudget, "--count", "2"}));
  command.Await("better ones are being made");
  command.Signal(SIGINT);
  const Ended ended = command.End();
  EXPECT_EQ(ended.exit_code, 128 + SIGINT) << ended.output;
  EXPECT_THAT(ended.output, EndsWith("wharf: interrupted after 2 inferences\n"));
  Conversation other(Words({"--budget", kLargeBudget, "--count", "2", "--no-more-plans"}));
  const Ended at_once = other.End();
  EXPECT_EQ(at_once.exit_code, 0) << at_once.output;
  EXPECT_THAT(at_once.output, ::testing::Not(HasSubstr("better ones are being made")));
}

TEST_F(SplitCommand, WritesARowAnInference) {
  const std::string rows = directory_ / "rows.json";
  const Ended ended = Split("--count 3 --mode server-only --token-file " + Token() + " --json " + rows);
  ASSERT_EQ(ended.exit_code, 0) << ended.output;
  const nlohmann::json json = nlohmann::json::parse(std::ifstream(rows));
  ASSERT_EQ(json.size(), 3u);
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(json[i]["inference"], i + 1);
    EXPECT_EQ(json[i]["mode"], "server-only");
    EXPECT_EQ(json[i]["lost"], "");
    EXPECT_EQ(json[i]["alone"], false);
    EXPECT_GT(json[i]["latency_ms"], 0.0);
    EXPECT_GT(json[i]["uplink_bytes"], 0.0);
    EXPECT_GT(json[i]["messages"], 0);
    EXPECT_GT(json[i]["bound_ms"], json[i]["planned_ms"]);
  }
}

TEST_F(SplitCommand, CarriesOutWhatWharfPlanPlanned) {
  const auto path = [this](const char* name) { return (directory_ / name).string(); };
  const std::string device = path("device.json"), server = path("server.json"), plan = path("plan.json");
  for (const std::string& profile : {server + " --rounds 1", device + " --time-scale 10"}) {
    const Ended measured = WharfModel(std::string("profile ") + kModel + Here() + " --json " + profile);
    ASSERT_EQ(measured.exit_code, 0) << measured.output;
  }
  const auto make_plan = [&](const std::string& arguments) {
    return RunCommand(std::string(WHARF_BINARY " plan --model ") + kModel + " --device-profile " + device +
                      " --server-profile " + server + " --budget 20000 --no-bound --json " + plan + " " + arguments);
  };
  const std::string rows = path("rows.json"), carry_out = " --token-file " + Token() + " --plan " + plan;
  const auto made = [&] { return nlohmann::json::parse(std::ifstream(plan)); };
  // One plan, of both sides; a sweep's, of which the best for the link is taken.
  for (const std::string question : {"--planner tensor-parallel --bandwidth 10MB/s", "--planner dsccs --sweep"}) {
    const Ended planned = make_plan(question);
    ASSERT_EQ(planned.exit_code, 0) << planned.output;
    const Ended ended = Split("--random --check --count 2 --json " + rows + carry_out);
    ASSERT_EQ(ended.exit_code, 0) << ended.output;
    EXPECT_THAT(ended.output, HasSubstr("largest difference from the whole model"));
    const nlohmann::json json = nlohmann::json::parse(std::ifstream(rows));
    EXPECT_EQ(json[1]["plan_file"], plan);
    EXPECT_EQ(json[1]["mode"], made()[0]["planner"]);
    EXPECT_EQ(json[1]["lost"], "");
    EXPECT_LE(json[1]["relative_error"], 1e-4);
    const bool one = made().size() == 1;
    EXPECT_THAT(ended.output, HasSubstr(one ? "\n1 plan from " + plan + ", made by tensor-parallel for 10 MB/s\n"
                                            : "\n51 plans from " + plan + ", made by dsccs\n"));
    if (!one) continue;  // which plan of a sweep is best depends on the times measured
    EXPECT_EQ(json[1]["alone"], false);
    EXPECT_GT(json[1]["messages"], 0);
  }

  nlohmann::json wrong = made();
  wrong[0]["model_sha256"] = std::string(64, '0');
  std::ofstream(plan) << wrong;
  Ended ended = Split(carry_out);
  EXPECT_EQ(ended.exit_code, 1);
  EXPECT_THAT(ended.output, HasSubstr(plan + " does not fit: the plan is of another version of the model"));
  EXPECT_EQ(std::count(ended.output.begin(), ended.output.end(), '\n'), 1) << ended.output;
  ASSERT_EQ(make_plan("--bandwidth 10MB/s --encoding u8").exit_code, 0);
  ended = Split(carry_out);
  EXPECT_EQ(ended.exit_code, 1);
  EXPECT_EQ(ended.output, "wharf: " + plan +
                              " was made with --encoding u8: only plans made with --encoding f32 can be carried out\n");
  std::ofstream(plan) << "[{}]";
  ended = Split(carry_out);
  EXPECT_EQ(ended.exit_code, 1);
  EXPECT_THAT(ended.output, HasSubstr(plan + ": plan 0: "));
  ended = Split(carry_out + " --mode dsccs");
  EXPECT_NE(ended.exit_code, 0);
  EXPECT_THAT(ended.output, HasSubstr("excludes"));
}

TEST_F(SplitCommand, RunsForAsLongAsItIsAskedToOnceItIsAsked) {
  const Ended ended = Split("--duration 200ms --wait --check --token-file " + Token() + " < /dev/null");
  EXPECT_EQ(ended.exit_code, 0) << ended.output;
  EXPECT_THAT(ended.output, HasSubstr("ready\n"));
  EXPECT_THAT(ended.output, HasSubstr("every one returned its result"));
}

TEST_F(SplitCommand, SaysWhatIsWrong) {
  const Ended token = Split("--token-file " + (directory_ / "wrong").string());
  EXPECT_EQ(token.exit_code, 1);
  EXPECT_THAT(token.output, EndsWith("wharf: the token is wrong: use the server's token file\n"));
  const Ended nowhere = WharfModel(std::string("split ") + kModel);
  EXPECT_EQ(nowhere.exit_code, 2);
  EXPECT_THAT(nowhere.output, HasSubstr("say --server HOST:PORT (see wharf split --help)"));
  const Ended no_address = WharfModel(std::string("split ") + kModel + " --server edge" + Here());
  EXPECT_EQ(no_address.exit_code, 1);
  EXPECT_THAT(no_address.output, StartsWith("wharf: \"edge\" is not an address: write HOST:PORT"));
  const Ended nobody = WharfModel(std::string("split ") + kModel + " --server 127.0.0.1:1" + Here());
  EXPECT_EQ(nobody.exit_code, 1);
  EXPECT_THAT(nobody.output, HasSubstr("no server answers at 127.0.0.1:1"));
  const Ended input = Split("--input " + Token() + " --token-file " + Token());
  EXPECT_EQ(input.exit_code, 1);
  EXPECT_THAT(input.output, HasSubstr("(.npy, ONNX), nor"));
  for (const std::string command : {"split --mode device-only --random ", "profile "}) {
    const Ended device = WharfModel(command + kModel + " --device cuda:64");
    EXPECT_EQ(device.exit_code, 1);
    EXPECT_THAT(device.output, HasSubstr(" GPU"));
  }
}

}  // namespace
}  // namespace wharf::cli
