#include "wharf/cli/host/host.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <nlohmann/json.hpp>
#include <thread>
#include <utility>

#include "wharf/base/read_file.h"
#include "wharf/cli/host/packets.h"
#include "wharf/cli/host/report_json.h"
#include "wharf/cli/host/server_wish.h"
#include "wharf/cli/offload/find_server.h"
#include "wharf/split/planners/planner.h"

namespace wharf::cli {
namespace {

using nlohmann::json;

constexpr const char* kAlone = "device-only";

std::string TextOf(const json& answer) { return answer.dump(-1, ' ', false, json::error_handler_t::replace); }

graph::Normalization NormalizationFor(const OpenRequest& request, int64_t channels) {
  graph::Normalization normalization = graph::Normalization::Default(channels);
  if (!request.mean.empty()) normalization.mean = request.mean;
  if (!request.deviation.empty()) normalization.deviation = request.deviation;
  return normalization;
}

// The addresses to try, in their order.
absl::StatusOr<std::vector<std::string>> ServersOf(const OpenRequest& request, const std::string& token) {
  if (request.server != kAnyServer) return std::vector<std::string>{request.server};
  WHARF_ASSIGN_OR_RETURN(const std::vector<FoundServer> found, FindServers(AccessOf(request), token));
  std::vector<std::string> addresses;
  for (const FoundServer& one : found) addresses.push_back(one.address);
  return addresses;
}

// Before anybody connects.
absl::Status CheckPlanner(const std::string& name) {
  std::string known;
  for (const split::PlannerKind& kind : split::PlannerKinds()) {
    if (kind.name == name) return absl::OkStatus();
    known += fmt::format("{}{}", known.empty() ? "" : ", ", kind.name);
  }
  return InvalidArgument("no planner is called \"{}\"; there are {}", name, known);
}

absl::StatusOr<split::EdgeModelOptions> OptionsOf(const OpenRequest& request) {
  split::EdgeModelOptions options;
  const ServerAccess access = AccessOf(request);
  if (access.tls_certificate.empty() != access.tls_key.empty()) {
    return InvalidArgument("a certificate and its key go together");
  }
  WHARF_RETURN_IF_ERROR(CheckPlanner(request.planner));
  options.connecting = access.Connecting();
  options.planner = access.server.empty() ? kAlone : request.planner;
  options.token = request.token;
  if (options.token.empty() && !access.server.empty()) {
    WHARF_ASSIGN_OR_RETURN(options.token, access.Token());
  }
  options.pictures = request.pictures;
  options.normalization = [request](int64_t channels) { return NormalizationFor(request, channels); };
  options.allow_half = request.allow_half;
  options.jpeg_quality = request.jpeg_quality;
  if (request.slack_ms) options.slack = FromSeconds(*request.slack_ms / 1e3);
  options.threads = request.threads;
  if (request.cache_directory) options.cache_directory = *request.cache_directory;
  options.input_shape = request.input_shape;
  return options;
}

// Opening a model takes seconds, in which nobody looks at the socket: when the other side has gone meanwhile, the
// process ends at once. Afterwards whoever reads sees it.
class EndIfAlone {
 public:
  explicit EndIfAlone(int socket) : socket_(socket) {
    if (pipe(stop_) == 0) thread_ = std::thread([this] { Watch(); });
  }
  ~EndIfAlone() {
    if (!thread_.joinable()) return;
    close(stop_[1]);
    thread_.join();
    close(stop_[0]);
  }
  EndIfAlone(const EndIfAlone&) = delete;
  EndIfAlone& operator=(const EndIfAlone&) = delete;

 private:
  void Watch() const {
    pollfd watched[] = {{socket_, POLLRDHUP, 0}, {stop_[0], 0, 0}};
    while (poll(watched, 2, -1) < 0) {
    }
    if (watched[1].revents == 0) _exit(0);
  }

  const int socket_;
  int stop_[2] = {-1, -1};
  std::thread thread_;
};

json AsJson(const graph::Graph& graph, int value, size_t offset) {
  const graph::TensorType& type = graph.Type(value);
  return {{"name", graph.values[value].name},
          {"element", std::string(graph::Name(type.element))},
          {"shape", type.shape},
          {"offset", offset}};
}

}  // namespace

// Says what Open does, no more than a hundred times a step. Later the session's own thread goes on calling it, and
// nobody listens.
class ModelHost::Progress {
 public:
  Progress(int socket, uint64_t id) : socket_(socket), id_(id) {}
  void Say(const std::string& what, double share) {
    if (done_ || (what == what_ && share - share_ < 0.01)) return;
    what_ = what;
    share_ = share;
    const json said = {{"id", id_}, {"progress", what}, {"share", share}};
    SendPacket(socket_, TextOf(said), -1, IfFull::kDrop).IgnoreError();
  }
  void Finish() { done_ = true; }

 private:
  const int socket_;
  const uint64_t id_;
  std::atomic<bool> done_ = false;
  std::string what_;
  double share_ = 0;
};

absl::Status ModelHost::Serve() {
  for (;;) {
    std::optional<std::string> packet = caller_.TakeUnserved();
    if (!packet) {
      WHARF_ASSIGN_OR_RETURN(packet, ReceivePacket(socket_, kMaxRequestBytes));
    }
    if (!packet) return absl::OkStatus();
    const absl::Status answered = AnswerTo(*packet);
    if (absl::IsUnavailable(answered)) return absl::OkStatus();
    WHARF_RETURN_IF_ERROR(answered);
  }
}

absl::Status ModelHost::AnswerTo(const std::string& packet) {
  const absl::StatusOr<Request> request = ParseRequest(packet);
  if (!request.ok()) return SayError(0, request.status());
  if (const auto* open = std::get_if<OpenRequest>(&request->what)) return Open(request->id, *open);
  if (const auto* open = std::get_if<OpenArRequest>(&request->what)) return OpenAr(request->id, *open);
  if (const auto* frame = std::get_if<ArFrameRequest>(&request->what)) return Frame(request->id, *frame);
  if (const auto* open = std::get_if<OpenCalibrationRequest>(&request->what))
    return OpenCalibration(request->id, *open);
  if (std::holds_alternative<CalibrateRequest>(request->what)) return Calibrate(request->id);
  if (std::holds_alternative<CalledRequest>(request->what)) {
    return SayError(request->id, FailedPrecondition("no function was called"));
  }
  if (ar_ != nullptr && std::holds_alternative<ReportRequest>(request->what)) return Report(request->id);
  if (model_ == nullptr) return SayError(request->id, FailedPrecondition("no model is open"));
  if (const auto* run = std::get_if<RunRequest>(&request->what)) return Run(request->id, *run);
  if (std::holds_alternative<ReportRequest>(request->what)) return Report(request->id);
  return State(request->id);
}

absl::Status ModelHost::SayError(uint64_t id, const absl::Status& error) {
  const json said = {
      {"id", id}, {"error", std::string(Message(error))}, {"code", absl::StatusCodeToString(error.code())}};
  return SendPacket(socket_, TextOf(said));
}

absl::StatusOr<std::unique_ptr<split::EdgeModel>> ModelHost::Connect(uint64_t id, const OpenRequest& request,
                                                                     std::vector<std::string>& cautions) {
  const std::string name = request.name.empty() ? request.model : request.name;
  auto onnx = ReadBytes(request.model);
  if (!onnx.ok()) return onnx.status();
  WHARF_ASSIGN_OR_RETURN(split::EdgeModelOptions options, OptionsOf(request));
  options.caution = [&cautions](const std::string& line) { cautions.push_back(line); };
  const auto progress = std::make_shared<Progress>(socket_, id);
  if (request.progress) {
    options.progress = [progress](const std::string& what, double share) { progress->Say(what, share); };
  }
  WHARF_ASSIGN_OR_RETURN(const std::vector<std::string> servers, ServersOf(request, options.token));
  for (size_t i = 0;; ++i) {
    const bool last = i + 1 == servers.size();
    auto model = split::EdgeModel::Connect(name, last ? *std::move(onnx) : *onnx, servers[i], options);
    // What is wrong with the model, or with what is asked, is so with every server.
    if (!model.ok() && !absl::IsInvalidArgument(model.status()) && !last) continue;
    progress->Finish();
    return model;
  }
}

size_t ModelHost::InputBytes() const {
  const auto bytes = static_cast<size_t>(model_->InputType().Bytes());
  return pictures_ ? std::max(bytes, kMaxPictureBytes) : bytes;
}

absl::Status ModelHost::Open(uint64_t id, const OpenRequest& request) {
  if (IsOpen()) return SayError(id, FailedPrecondition("a model is open already"));
  std::vector<std::string> cautions;
  {
    const EndIfAlone end_if_alone(socket_);
    auto model = Connect(id, request, cautions);
    if (!model.ok()) return SayError(id, model.status());
    model_ = *std::move(model);
  }
  pictures_ = request.pictures;
  const graph::Graph& graph = model_->Graph();
  std::vector<graph::TensorType> outputs;
  for (const int value : graph.outputs) outputs.push_back(graph.Type(value));
  auto tensors = SharedTensors::Make(InputBytes(), outputs, kOutputSlots);
  if (!tensors.ok()) {
    model_.reset();
    return SayError(id, tensors.status());
  }
  tensors_ = *std::move(tensors);
  json opened = {{"bytes", tensors_->Bytes()},
                 {"slots", tensors_->Slots()},
                 {"first_slot", tensors_->FirstSlot()},
                 {"slot_bytes", tensors_->SlotBytes()},
                 {"input_bytes", tensors_->Input().size()},
                 {"cautions", cautions},
                 {"inputs", json::array()},
                 {"outputs", json::array()}};
  opened["inputs"].push_back(AsJson(graph, graph.inputs[0], 0));
  for (size_t i = 0; i < outputs.size(); ++i) {
    opened["outputs"].push_back(AsJson(graph, graph.outputs[i], tensors_->OutputOffsets()[i]));
  }
  return SendPacket(socket_, TextOf({{"id", id}, {"opened", std::move(opened)}}), tensors_->Descriptor());
}

absl::Status ModelHost::OpenAr(uint64_t id, const OpenArRequest& request) {
  if (IsOpen()) return SayError(id, FailedPrecondition("a model is open already"));
  const EndIfAlone end_if_alone(socket_);
  auto opened = ArHost::Open(request, caller_);
  if (!opened.ok()) return SayError(id, opened.status());
  ar_ = *std::move(opened);
  return SendPacket(socket_, TextOf({{"id", id}, {"opened", ar_->Opened()}}), ar_->Descriptor());
}

absl::Status ModelHost::Frame(uint64_t id, const ArFrameRequest& request) {
  if (ar_ == nullptr) return SayError(id, FailedPrecondition("no AR client is open"));
  caller_.Begin(id, Caller::AfterError::kGoOn);
  const absl::StatusOr<json> framed = ar_->OnFrame(request);
  if (!framed.ok()) return SayError(id, framed.status());
  return SendPacket(socket_, TextOf({{"id", id}, {"framed", *framed}, {"dropped", caller_.TakeDropped()}}));
}

absl::Status ModelHost::OpenCalibration(uint64_t id, const OpenCalibrationRequest& request) {
  if (IsOpen()) return SayError(id, FailedPrecondition("a model is open already"));
  auto opened = ArCalibration::Open(request, caller_);
  if (!opened.ok()) return SayError(id, opened.status());
  calibration_ = *std::move(opened);
  return SendPacket(socket_, TextOf({{"id", id}, {"opened", calibration_->Opened()}}), calibration_->Descriptor());
}

absl::Status ModelHost::Calibrate(uint64_t id) {
  if (calibration_ == nullptr) return SayError(id, FailedPrecondition("no calibration is open"));
  const EndIfAlone end_if_alone(socket_);
  caller_.Begin(id, Caller::AfterError::kStop);
  const absl::StatusOr<json> calibrated = calibration_->Run();
  if (!calibrated.ok()) return SayError(id, calibrated.status());
  return SendPacket(socket_, TextOf({{"id", id}, {"calibrated", *calibrated}}));
}

absl::Status ModelHost::Compute(const RunRequest& request) {
  if (request.slot >= tensors_->Slots()) return InvalidArgument("there is no slot {}", request.slot);
  const auto& outputs = tensors_->Outputs(request.slot);
  if (!request.picture) {
    return model_->RunInto(tensors_->Input().first(static_cast<size_t>(model_->InputType().Bytes())), outputs);
  }
  const auto& [height, width, channels] = *request.picture;
  const size_t bytes = static_cast<size_t>(height) * static_cast<size_t>(width) * static_cast<size_t>(channels);
  if (bytes > tensors_->Input().size()) {
    return InvalidArgument("a picture of {} x {} x {} bytes; {} bytes are the most", height, width, channels,
                           tensors_->Input().size());
  }
  const auto* const pixels = reinterpret_cast<const uint8_t*>(tensors_->Input().data());
  const split::Image picture{width, height, channels, std::vector<uint8_t>(pixels, pixels + bytes)};
  return model_->RunInto(picture, outputs);
}

absl::Status ModelHost::Run(uint64_t id, const RunRequest& request) {
  const absl::Status computed = Compute(request);
  if (!computed.ok()) return SayError(id, computed);
  ran_ = true;
  const split::InferenceReport& report = model_->Report();
  const json ran = {{"ms", report.latency_ms},
                    {"alone", report.alone},
                    {"lost", std::string(Message(report.lost))},
                    {"connected", model_->Connected()}};
  return SendPacket(socket_, TextOf({{"id", id}, {"ran", ran}}));
}

absl::Status ModelHost::Report(uint64_t id) {
  if (ar_ != nullptr) {
    const absl::StatusOr<json> report = ar_->Report();
    return report.ok() ? SendPacket(socket_, TextOf({{"id", id}, {"report", *report}})) : SayError(id, report.status());
  }
  if (!ran_) return SayError(id, FailedPrecondition("nothing was computed yet"));
  return SendPacket(socket_, TextOf({{"id", id}, {"report", ReportAsJson(model_->Session())}}));
}

absl::Status ModelHost::State(uint64_t id) {
  const json state = {{"connected", model_->Connected()},
                      {"planning", model_->Session().Planning()},
                      {"given_up", std::string(Message(model_->Session().GivenUp()))}};
  return SendPacket(socket_, TextOf({{"id", id}, {"state", state}}));
}

}  // namespace wharf::cli
