// Session: a model that device and server compute together.
//
//   WHARF_ASSIGN_OR_RETURN(const auto session, SplitClient::Open(onnx, dial, options));
//   WHARF_ASSIGN_OR_RETURN(const auto outputs, session->Run(input));
//
// Before each inference it chooses the plan for the link's rate as it is now. When the link stalls or breaks, the
// device finishes alone from what it has, and the session connects again in the background.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "wharf/link/byte_stream.h"
#include "wharf/link/estimator.h"
#include "wharf/split/runtime/server_connection.h"
#include "wharf/split/simulation/encoded_plans.h"

namespace wharf::split {

// How long a model's operators take on both machines; `server_machine` is what the server says of itself.
using ProfileOf = std::function<absl::StatusOr<Profile>(const Model& model, const std::string& server_machine)>;

struct SplitClientOptions {
  ModelLoader load;                  // OnnxLoader(engine)
  std::string planner = "intra-dp";  // a PlannerKind's name; device-only needs no server
  PlannerOptions planner_options;
  std::vector<Plan> plans;  // instead of the planner's: made elsewhere for this model
  Objective objective;      // by which plans are made and chosen
  // How rows may travel: plans choose. At least one.
  std::vector<Encoding> encodings = {Encoding()};
  // An input like those to come: what encoding is worth is measured on it. Null: floats from 0 to 1, random bytes.
  std::function<absl::StatusOr<exec::TensorPtr>(const Model& model)> sample;
  std::string token;
  ProfileOf profile;  // required unless the planner is device-only; MeasuredProfile
  // Rows that come later than the plan's end and this, or than the plan's end and a quarter of what the device alone
  // takes, if that is longer, are not waited for.
  Nanoseconds slack = std::chrono::milliseconds(100);
  std::string cache_directory;  // where plans are kept, as MeasuredProfile's; "": nowhere
  // Open returns as soon as there are plans that are made at once (layer partitions); the planner's are made by a
  // thread of the session and used when they are there. Otherwise Open makes them.
  bool plan_in_background = false;
  // Hears what the session does that may take long, and which share of it is done (less than 0: not known). Called by
  // Open's thread and by the session's, one at a time.
  std::function<void(const std::string& what, double share)> progress;
  // Hears of every connection that is made, before it is used: whoever ends the process says goodbye by it (Leave).
  // Called by Open's thread and by one of the session's.
  std::function<void(const std::shared_ptr<ServerConnection>&)> connected;
  // Pauses between attempts to connect again, doubling from the first to the last.
  Nanoseconds first_pause = std::chrono::milliseconds(50), last_pause = std::chrono::seconds(1);
  SlowDown slow_down;             // of encoding and decoding; of computing it is the loader's affair
  Clock* clock = &Clock::Real();  // must outlive the session
};

struct InferenceReport {
  uint32_t plan = 0;        // place in SplitClient::Plans()
  double bytes_per_ms = 0;  // of the link, as estimated before
  double planned_ms = 0, latency_ms = 0;
  // What it should not have taken longer than, whatever the link did: choosing the plan, the device's part of it, the
  // longest it waits, and then the device alone. Predicted, for a device as fast as it was lately; and for one as fast
  // as it was in this very inference, where that was slower.
  double predicted_bound_ms = 0, bound_ms = 0;
  // How many times as long as its profile says the device took for what it computed; 0: it has none, or did nothing.
  double device_slowness = 0;
  bool alone = false;  // all on the device, by plan or by need
  absl::Status lost;   // why the device had to finish alone; OK if it had not
};

class SplitClient {
 public:
  using Dial = std::function<absl::StatusOr<std::unique_ptr<link::ByteStream>>()>;

  // Loads the model of these bytes, connects, and plans. Fails as the loader, `dial`, ServerConnection::Open and the
  // profile do.
  static absl::StatusOr<std::unique_ptr<SplitClient>> Open(std::vector<std::byte> onnx, Dial dial,
                                                           const SplitClientOptions& options);
  ~SplitClient();

  // One inference; not from several threads at once. It takes no longer than the device's part of the plan, waiting as
  // SplitClientOptions::slack says, and then the device alone. kInvalidArgument: not the model's input; kInternal: as
  // exec::Program::Run.
  absl::StatusOr<std::vector<exec::TensorPtr>> Run(const exec::TensorPtr& input);

  // Of the last Run.
  const InferenceReport& Report() const { return report_; }
  // What took time in the last Run, since its beginning. Waits a moment (at most a second) for what the server says it
  // did; its clock is laid over ours by half a round trip.
  std::vector<Event> MeasuredEvents();
  // What the plan of the last Run should have looked like at the rate it was chosen for.
  std::vector<Event> PlannedEvents();

  const Model& GetModel() const { return *model_; }
  const std::vector<Plan>& Plans() const { return plans_->Plans(); }
  // Whether better ones are still being made. Thread-safe.
  bool Planning() const;
  // Waits until they are made: the next Run uses them. Thread-safe.
  void AwaitPlans();
  // What one of them should take at the link's rate before the last Run.
  double PlannedMs(uint32_t plan);
  // Whether a server is there at the moment; why not, if it is known not to come back.
  bool Connected() const;
  absl::Status GivenUp() const;

 private:
  SplitClient(std::shared_ptr<const Model> model, std::vector<std::byte> onnx, Dial dial,
              const SplitClientOptions& options);

  absl::Status Start();
  absl::Status MakePlans(Profile profile);
  absl::StatusOr<PlanningOptions> Question();
  absl::StatusOr<std::unique_ptr<EncodedPlans>> Planned(const Profile& profile, PlanningOptions planning);
  // Uses what the planning thread has made, if it has.
  void TakeBetterPlans();
  void Say(const std::string& what, double share) const;
  absl::StatusOr<exec::TensorPtr> Sample() const;
  // The plan of the device alone.
  uint32_t Alone() const { return static_cast<uint32_t>(Plans().size() - 1); }
  absl::StatusOr<std::shared_ptr<ServerConnection>> DialOnce();
  void ReconnectLoop();
  // Waits until there is none, or none that is alive: then there is none. False: the session ends, or gave up.
  bool AwaitLoss();
  // Null: there is none.
  std::shared_ptr<ServerConnection> AliveLink() const;
  // Sets the report's plan and what is expected of it.
  void Choose(bool connected);
  absl::StatusOr<const SideSteps*> StepsOf(uint32_t plan);
  // How much longer than planned rows are waited for, of a model that takes the device alone so long.
  Nanoseconds Slack(double alone_ms) const;
  // What rows really became when they were encoded.
  void LearnSizes(const Recorder& recorder);
  struct Computing {
    double ms = 0, profiled_ms = 0;
  };
  // Of the device, since the inference began, in the steps of its plan.
  Computing InSteps(const Recorder& recorder);
  double ProfiledMs(const std::vector<int>& rows_by_value) const;
  // Of all the device did in the inference.
  void LearnSpeed(const Computing& computing);
  // How long after an inference's beginning rows are waited for.
  Nanoseconds Patience();
  // Both sides' part; why the device must go on alone.
  absl::Status RunTogether(const std::shared_ptr<ServerConnection>& link, const std::shared_ptr<Recorder>& recorder,
                           RowStore& store);

  const std::shared_ptr<const Model> model_;
  const std::shared_ptr<const std::vector<std::byte>> onnx_;
  const Dial dial_;
  const SplitClientOptions options_;
  link::LinkEstimator estimator_;
  ResumeTicket ticket_;  // of whoever dials

  // Planning; of the calling thread.
  std::unique_ptr<EncodedPlans> plans_;
  Link link_;
  std::map<uint32_t, SideSteps> steps_;
  uint32_t first_plan_ = 0;  // what the server knows the first of Plans() by
  InferenceReport report_;
  std::shared_ptr<ServerConnection> last_link_;  // of the last Run
  uint64_t last_inference_ = 0;
  std::shared_ptr<Recorder> last_recorder_;

  mutable absl::Mutex mutex_;
  std::shared_ptr<ServerConnection> server_ ABSL_GUARDED_BY(mutex_);
  absl::Status given_up_ ABSL_GUARDED_BY(mutex_);
  bool planning_ ABSL_GUARDED_BY(mutex_) = false;
  std::unique_ptr<EncodedPlans> better_ ABSL_GUARDED_BY(mutex_);
  std::thread planner_;
  bool ending_ ABSL_GUARDED_BY(mutex_) = false;
  bool lost_ ABSL_GUARDED_BY(mutex_) = false;  // some connection ended: perhaps ours
  std::thread reconnecting_;
};

}  // namespace wharf::split
