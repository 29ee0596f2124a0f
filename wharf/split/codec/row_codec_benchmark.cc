// What encoding and decoding take, beside copying the same bytes: 1 MiB of what a rectified convolution makes, and an
// image of 3 x 512 x 512.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>

#include "wharf/split/codec/row_codec.h"

namespace wharf::split {
namespace {

using graph::ElementType;
using graph::TensorType;

struct Rows {
  TensorType type;
  std::vector<std::byte> bytes;
};

// Half of them zeros, the others as a normal distribution has them.
Rows Activations() {
  Rows rows{{ElementType::kFloat, {1, 64, 64, 64}}, {}};
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  std::vector<float> numbers(rows.type.Elements());
  for (float& number : numbers) number = std::max(0.0f, normal(random));
  rows.bytes.resize(rows.type.Bytes());
  std::memcpy(rows.bytes.data(), numbers.data(), rows.bytes.size());
  return rows;
}

// Soft shades with a camera's noise of 2.
Rows Picture() {
  constexpr int kSide = 512;
  Rows rows{{ElementType::kUint8, {1, 3, kSide, kSide}}, {}};
  std::mt19937 random(1);
  std::normal_distribution<double> noise(0, 2);
  for (int i = 0; i < 3 * kSide * kSide; ++i) {
    const double x = i % kSide, y = i / kSide % kSide;
    const double shade = 128 + 60 * std::sin(x / 40) * std::cos(y / 55) + noise(random);
    rows.bytes.push_back(std::byte{static_cast<uint8_t>(std::clamp(shade, 0.0, 255.0))});
  }
  return rows;
}

void Run(benchmark::State& state, const Rows& rows, RowCodec codec, bool decode) {
  const std::vector<std::byte> coded = EncodeRows(rows.type, codec, rows.bytes);
  for (auto _ : state) {
    if (decode) {
      benchmark::DoNotOptimize(DecodeRows(rows.type, codec, coded));
    } else {
      benchmark::DoNotOptimize(EncodeRows(rows.type, codec, rows.bytes));
    }
  }
  state.SetBytesProcessed(state.iterations() * rows.type.Bytes());
  state.counters["size"] = static_cast<double>(coded.size()) / static_cast<double>(rows.bytes.size());
}

void Register() {
  static const Rows activations = Activations(), picture = Picture();
  for (const bool decode : {false, true}) {
    const std::string what = decode ? "decode/" : "encode/";
    for (const auto& [name, coding] :
         {std::pair("plain", RowCoding::kPlain), std::pair("packed", RowCoding::kPacked),
          std::pair("half", RowCoding::kHalf), std::pair("packed_half", RowCoding::kPackedHalf)}) {
      benchmark::RegisterBenchmark((what + "activations/" + name).c_str(), [decode, coding = coding](auto& state) {
        Run(state, activations, {coding, 0}, decode);
      });
    }
    for (const auto& [name, codec] :
         {std::pair("packed", RowCodec{RowCoding::kPacked, 0}), std::pair("jpeg_90", RowCodec{RowCoding::kJpeg, 90})}) {
      benchmark::RegisterBenchmark((what + "picture/" + name).c_str(),
                                   [decode, codec = codec](auto& state) { Run(state, picture, codec, decode); });
    }
  }
}

}  // namespace
}  // namespace wharf::split

int main(int argc, char** argv) {
  wharf::split::Register();
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
