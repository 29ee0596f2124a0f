// A server of split inference for tests, in this process, and clients' options that fit it. Models are random networks:
// the bytes that name one are its seed and its number of operators.
#pragma once

#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "wharf/link/emulation/emulator.h"
#include "wharf/split/runtime/client.h"
#include "wharf/split/runtime/server.h"
#include "wharf/split/runtime/testing.h"

namespace wharf::split::testing {

struct ModelName {
  uint32_t seed = 1, operators = 6;
};

inline std::vector<std::byte> BytesOf(ModelName name) {
  std::vector<std::byte> bytes(sizeof(name));
  std::memcpy(bytes.data(), &name, sizeof(name));
  return bytes;
}

inline absl::StatusOr<std::shared_ptr<const Model>> LoadRandom(std::span<const std::byte> bytes) {
  ModelName name;
  if (bytes.size() != sizeof(name)) return InvalidArgument("not the name of a model");
  std::memcpy(&name, bytes.data(), sizeof(name));
  return Model::Make(exec::testing::TestEngine(),
                     exec::testing::RandomGraph::Make(name.seed, static_cast<int>(name.operators)));
}

// As if both machines took as long: much is to be gained from both.
inline absl::StatusOr<Profile> EqualMachines(const Model& model, const std::string&) {
  Profile profile = Untimed(model.Operators());
  profile.slice_cost = {{0, 0}, 1};
  for (size_t op = 1; op + 1 < profile.operators.size(); ++op) profile.operators[op].full_ms = {20, 20};
  return profile;
}

class TestServer {
 public:
  explicit TestServer(std::string directory = "") : models_(LoadRandom, std::move(directory), 1 << 20) {
    config.models = &models_;
  }

  // The client's end of a new session.
  std::unique_ptr<link::ByteStream> Dial(const link::Faults& up = {}, const link::Faults& down = {}) {
    auto [ours, theirs] = link::MemoryPair(up, down);
    absl::MutexLock lock(&mutex_);
    sessions_.push_back(std::make_unique<SplitServerSession>(std::move(theirs), config));
    return std::move(ours);
  }
  // The first session's end.
  absl::Status WaitForFirst() {
    SplitServerSession* first = nullptr;
    {
      absl::MutexLock lock(&mutex_);
      first = sessions_.front().get();
    }
    return first->Wait();
  }
  size_t SessionsSoFar() {
    absl::MutexLock lock(&mutex_);
    return sessions_.size();
  }

  ServerConfig config;

 private:
  ModelStore models_;
  absl::Mutex mutex_;
  std::vector<std::unique_ptr<SplitServerSession>> sessions_ ABSL_GUARDED_BY(mutex_);
};

inline SplitClientOptions TestOptions() {
  SplitClientOptions options;
  options.load = LoadRandom;
  options.profile = EqualMachines;
  options.planner_options.budget = 20'000;
  options.slack = std::chrono::seconds(20);
  options.first_pause = std::chrono::microseconds(100);
  return options;
}

}  // namespace wharf::split::testing
