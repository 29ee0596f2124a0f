#include "wharf/ar/messages.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "wharf/base/split_text.h"

namespace wharf::ar {
namespace {

constexpr size_t kMaxModelName = 32;
constexpr size_t kMaxServerName = 260;  // a host's name has at most 253 characters

// Whether it can be HOST:PORT or [V6]:PORT; whoever connects to it will see.
bool LooksLikeServer(const std::string& name) {
  const auto plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view(".-_:[]").find(c) != std::string_view::npos;
  };
  return name.size() <= kMaxServerName && name.find(':') != std::string::npos && !name.starts_with("unix:") &&
         std::ranges::all_of(name, plain);
}

// Every model that is named has its bit, and no bit is without one.
absl::Status CheckModels(const Hello& hello) {
  const std::vector<std::string> models = ModelNames(hello.models);
  if (models.size() > kMostModels)
    return InvalidArgument("{} tasks of its own: at most {} in a session", models.size(), kMostModels);
  for (const std::string& model : models) {
    WHARF_RETURN_IF_ERROR(CheckModelName(model));
    if (std::ranges::count(models, model) > 1) return InvalidArgument("the task {} is named twice", model);
  }
  if (hello.tasks >> kTasks != (1 << models.size()) - 1)
    return InvalidArgument("the client asks for tasks that it does not name");
  return absl::OkStatus();
}

bool Within(double value, double low, double high) { return value >= low && value <= high; }  // NaN is not

}  // namespace

absl::Status CheckModelName(std::string_view name) {
  const auto plain = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '-'; };
  const bool named = !name.empty() && name.size() <= kMaxModelName && name[0] >= 'a' && name[0] <= 'z' &&
                     std::ranges::all_of(name, plain);
  if (!named) return InvalidArgument("{:?} is no task's name: 1 to {} of a-z, 0-9, _ and -", name, kMaxModelName);
  if (std::ranges::count(kTaskNames, name) > 0)
    return InvalidArgument("the task {} is built in: give another one another name", name);
  return absl::OkStatus();
}

std::vector<std::string> ModelNames(std::string_view models) {
  if (models.empty()) return {};
  const std::vector<std::string_view> names = SplitText(models, ',');
  return {names.begin(), names.end()};
}

void SetCamera(const scene::Intrinsics& camera, Hello& hello) {
  hello.width = camera.width;
  hello.height = camera.height;
  hello.fx = camera.fx;
  hello.fy = camera.fy;
  hello.cx = camera.cx;
  hello.cy = camera.cy;
}

absl::Status CheckHello(const Hello& hello) {
  if (hello.tasks == 0) return InvalidArgument("the client asks for no task there is");
  WHARF_RETURN_IF_ERROR(CheckModels(hello));
  if (hello.depth_coding > DepthCoding::kJpeg) return InvalidArgument("an unknown coding of depth");
  if (hello.width < 16 || hello.height < 16 || hello.width > kMaxSide || hello.height > kMaxSide)
    return InvalidArgument("pictures of {} x {}: each side must be 16 to {}", hello.width, hello.height, kMaxSide);
  if (!Within(hello.frames_per_s, 1, 1000)) return InvalidArgument("a camera has 1 to 1000 frames a second");
  const bool camera = Within(hello.fx, 1, 1e6) && Within(hello.fy, 1, 1e6) && Within(hello.cx, -1e6, 1e6) &&
                      Within(hello.cy, -1e6, 1e6);
  if (!camera) return InvalidArgument("the camera's intrinsics are none");
  if (!Within(hello.sla, 0, 10)) return InvalidArgument("an accuracy drop of at most 0 to 10 can be agreed");
  if (hello.sla > 0 && std::popcount(hello.tasks) != 1)
    return InvalidArgument("an accuracy can be agreed for one task a session");
  return absl::OkStatus();
}

absl::StatusOr<std::vector<std::string>> ServersOf(const Redirect& redirect) {
  std::vector<std::string> servers;
  for (size_t begin = 0; begin <= redirect.servers.size();) {
    const size_t end = std::min(redirect.servers.find(',', begin), redirect.servers.size());
    std::string server = redirect.servers.substr(begin, end - begin);
    if (!LooksLikeServer(server)) return InvalidArgument("{:?} is no HOST:PORT that a client can be sent to", server);
    if (servers.size() == kMaxServers) return InvalidArgument("more than {} servers to go to", kMaxServers);
    servers.push_back(std::move(server));
    begin = end + 1;
  }
  return servers;
}

}  // namespace wharf::ar
