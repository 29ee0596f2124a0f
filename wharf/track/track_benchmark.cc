// What each tracker, estimator and model costs at 448x128. A client has 16.7 ms a frame for all of it. CPU:
// of all threads, as OpenCV starts some of its own.
#include <benchmark/benchmark.h>

#include "wharf/track/box_tracker.h"
#include "wharf/track/depth_accuracy.h"
#include "wharf/track/depth_warp.h"
#include "wharf/track/metrics.h"
#include "wharf/track/odometry.h"
#include "wharf/track/pose_filter.h"
#include "wharf/track/street_testing.h"

namespace wharf::track {
namespace {

using scene::Pose;

constexpr int kFrameHz = 60, kSamplesAFrame = 4;
const Pose kMotion = PoseAtPlace({0.05, 0, 0.8}, 0.03);  // of some five frames

const View& Before() {
  static const View view = Render(Street(), StreetCamera(), Pose());
  return view;
}
const View& After() {
  static const View view = Render(Street(), StreetCamera(), kMotion);
  return view;
}

void Warp(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(WarpDepth(Before().depth, StreetCamera(), kMotion));
}
BENCHMARK(Warp)->Unit(benchmark::kMillisecond)->MeasureProcessCPUTime();

void WarpPicture(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(WarpImage(Before().image, Before().depth, StreetCamera(), kMotion));
}
BENCHMARK(WarpPicture)->Unit(benchmark::kMillisecond)->MeasureProcessCPUTime();

// With 1, 4 and 16 boxes.
void TrackBoxes(benchmark::State& state) {
  std::vector<scene::Box> boxes;
  for (int i = 0; i < state.range(0); ++i) {
    const auto left = static_cast<float>(20 + 25 * i);
    boxes.push_back({.left = left, .top = 50, .right = left + 30, .bottom = 80});
  }
  BoxTracker tracker;
  for (auto _ : state) {
    benchmark::DoNotOptimize(tracker.Start(Before().image, boxes));
    benchmark::DoNotOptimize(tracker.Track(After().image));
  }
}
BENCHMARK(TrackBoxes)->Arg(1)->Arg(4)->Arg(16)->Unit(benchmark::kMillisecond)->MeasureProcessCPUTime();

// A frame's four IMU samples, and every sixth frame a measurement of the stride before, which is six frames late.
void FilterAFrame(benchmark::State& state) {
  PoseFilter filter;
  filter.Start({});
  int64_t frame = 0, sample = 0;
  MotionEstimate measured;
  measured.covariance *= 1e-3;
  for (auto _ : state) {
    for (int i = 0; i < kSamplesAFrame; ++i) {
      benchmark::DoNotOptimize(
          filter.Predict({static_cast<double>(++sample) / (kFrameHz * kSamplesAFrame), {0, 0, 0}, {0, 0, 9.81}}));
    }
    if (++frame % 6 != 0) continue;
    filter.Mark(frame);
    benchmark::DoNotOptimize(filter.Update(frame - 12, frame - 6, measured));
  }
}
BENCHMARK(FilterAFrame)->Unit(benchmark::kMillisecond)->MeasureProcessCPUTime();

void TrackerDropRate(benchmark::State& state) {
  for (auto _ : state) {
    benchmark::DoNotOptimize(
        DepthTrackerDropRate(Before().image, Before().depth, After().image, StreetCamera(), kMotion, 5));
  }
}
BENCHMARK(TrackerDropRate)->Unit(benchmark::kMillisecond)->MeasureProcessCPUTime();

void ResultDrop(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(AbsRel(Before().depth, After().depth));
}
BENCHMARK(ResultDrop)->Unit(benchmark::kMillisecond)->MeasureProcessCPUTime();

// On the server.
void Odometry(benchmark::State& state) {
  for (auto _ : state) {
    benchmark::DoNotOptimize(EstimateMotion(Before().image, Before().depth, After().image, StreetCamera()));
  }
}
BENCHMARK(Odometry)->Unit(benchmark::kMillisecond)->MeasureProcessCPUTime();

}  // namespace
}  // namespace wharf::track

BENCHMARK_MAIN();
