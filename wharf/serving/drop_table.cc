#include "wharf/serving/drop_table.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

namespace wharf::serving {
namespace {

constexpr uint32_t kMagic = 0x54444857;  // "WHDT"
constexpr uint16_t kVersion = 1;
constexpr int kMostFrames = 1 << 20, kMostStrides = 64, kLastStride = 1024;
constexpr size_t kMostSamples = size_t{1} << 24, kMostName = 256;
constexpr double kMostBytes = 1e8, kMostDrop = 1e3;

static_assert(std::endian::native == std::endian::little);

class Writer {
 public:
  template <typename T>
  void Add(T value) {
    const auto* bytes = reinterpret_cast<const std::byte*>(&value);
    bytes_.insert(bytes_.end(), bytes, bytes + sizeof value);
  }
  void Add(const std::string& text) {
    const auto* bytes = reinterpret_cast<const std::byte*>(text.data());
    bytes_.insert(bytes_.end(), bytes, bytes + text.size());
  }
  std::vector<std::byte> Take() { return std::move(bytes_); }

 private:
  std::vector<std::byte> bytes_;
};

class Reader {
 public:
  explicit Reader(std::span<const std::byte> bytes) : bytes_(bytes) {}
  // 0 behind the end, which is remembered.
  template <typename T>
  T Take() {
    T value{};
    if (bytes_.size() < sizeof value) {
      cut_ = true;
      return value;
    }
    std::memcpy(&value, bytes_.data(), sizeof value);
    bytes_ = bytes_.subspan(sizeof value);
    return value;
  }
  std::string TakeText(size_t size) {
    if (bytes_.size() < size) {
      cut_ = true;
      return "";
    }
    const std::string text(reinterpret_cast<const char*>(bytes_.data()), size);
    bytes_ = bytes_.subspan(size);
    return text;
  }
  size_t Left() const { return bytes_.size(); }
  bool cut() const { return cut_; }

 private:
  std::span<const std::byte> bytes_;
  bool cut_ = false;
};

bool Within(double value, double least, double most) { return value >= least && value <= most; }

// All but the samples.
absl::Status CheckHeader(const DropTableData& data) {
  if (data.video.size() > kMostName) return InvalidArgument("a video's name of {} bytes", data.video.size());
  if (!Within(data.fps, 1, 1000)) return InvalidArgument("a video of {} frames a second", data.fps);
  if (data.frames < 1 || data.frames > kMostFrames) return InvalidArgument("a video of {} frames", data.frames);
  if (data.step < 1 || data.step > data.frames) return InvalidArgument("a row every {} frames", data.step);
  if (!Within(data.frame_bytes, 0, kMostBytes) || !Within(data.result_bytes, 0, kMostBytes)) {
    return InvalidArgument("frames of {} bytes, results of {}", data.frame_bytes, data.result_bytes);
  }
  if (!Within(data.client_s, 0, 10)) return InvalidArgument("a client that takes {} s for a frame", data.client_s);
  if (data.strides.empty() || data.strides.size() > kMostStrides) {
    return InvalidArgument("{} strides; it takes 1 to {}", data.strides.size(), kMostStrides);
  }
  for (size_t i = 0; i < data.strides.size(); ++i) {
    if (data.strides[i] <= (i == 0 ? 0 : data.strides[i - 1])) return InvalidArgument("strides do not rise from 1");
  }
  if (data.strides.back() > kLastStride) return InvalidArgument("a stride of {} frames", data.strides.back());
  const size_t dense = static_cast<size_t>(data.Rows()) * static_cast<size_t>(data.strides.back() + 1);
  if (dense > kMostSamples) return InvalidArgument("a table of {} samples", dense);
  return absl::OkStatus();
}

// On the line through them; what is seen is never negative.
DropSample Between(const DropSample& a, const DropSample& b, float share) {
  return {a.drop + share * (b.drop - a.drop), std::max(0.0F, a.seen + share * (b.seen - a.seen))};
}

}  // namespace

DropTable::DropTable(DropTableData data) : data_(std::move(data)) {
  const std::vector<int>& strides = data_.strides;
  dense_.reserve(static_cast<size_t>(data_.Rows()) * static_cast<size_t>(strides.back() + 1));
  for (int row = 0; row < data_.Rows(); ++row) {
    const DropSample* samples = &data_.samples[static_cast<size_t>(row) * strides.size()];
    dense_.emplace_back();  // the result itself
    size_t next = std::min<size_t>(1, strides.size() - 1);
    for (int stride = 1; stride <= strides.back(); ++stride) {
      if (stride > strides[next]) ++next;
      const size_t before = next == 0 ? 0 : next - 1;
      const int distance = std::max(1, strides[next] - strides[before]);
      dense_.push_back(Between(samples[before], samples[next],
                               static_cast<float>(stride - strides[before]) / static_cast<float>(distance)));
    }
  }
}

absl::StatusOr<DropTable> DropTable::Make(DropTableData data) {
  WHARF_RETURN_IF_ERROR(CheckHeader(data));
  const size_t expected = static_cast<size_t>(data.Rows()) * data.strides.size();
  if (data.samples.size() != expected) return InvalidArgument("{} samples, not {}", data.samples.size(), expected);
  for (const DropSample& sample : data.samples) {
    if (!Within(sample.drop, -kMostDrop, kMostDrop) || !Within(sample.seen, 0, kMostDrop)) {
      return InvalidArgument("a drop of {}, seen as {}", sample.drop, sample.seen);
    }
  }
  return DropTable(std::move(data));
}

absl::StatusOr<DropTable> DropTable::Parse(std::span<const std::byte> bytes) {
  Reader reader(bytes);
  if (reader.Take<uint32_t>() != kMagic) return InvalidArgument("not a drop table");
  const auto version = reader.Take<uint16_t>();
  if (version != kVersion) return InvalidArgument("a drop table of version {}; this reads {}", version, kVersion);
  DropTableData data;
  const auto name = reader.Take<uint16_t>();
  if (name > kMostName) return InvalidArgument("a video's name of {} bytes", name);
  data.video = reader.TakeText(name);
  data.fps = reader.Take<double>();
  const auto frames = reader.Take<uint32_t>(), step = reader.Take<uint32_t>();
  if (frames > kMostFrames || step > kMostFrames) return InvalidArgument("a video of {} frames", frames);
  data.frames = static_cast<int>(frames);
  data.step = static_cast<int>(step);
  const auto strides = reader.Take<uint16_t>();
  if (strides > kMostStrides) return InvalidArgument("{} strides", strides);
  data.frame_bytes = reader.Take<double>();
  data.result_bytes = reader.Take<double>();
  data.client_s = reader.Take<double>();
  for (int i = 0; i < strides; ++i) data.strides.push_back(reader.Take<uint16_t>());
  if (reader.cut()) return InvalidArgument("the drop table is cut off in its header");
  WHARF_RETURN_IF_ERROR(CheckHeader(data));
  const size_t samples = static_cast<size_t>(data.Rows()) * data.strides.size();
  if (reader.Left() != samples * 2 * sizeof(float)) {
    return InvalidArgument("{} bytes of samples, not {}", reader.Left(), samples * 2 * sizeof(float));
  }
  data.samples.reserve(samples);
  for (size_t i = 0; i < samples; ++i) {
    const auto drop = reader.Take<float>();
    data.samples.push_back({drop, reader.Take<float>()});
  }
  return Make(std::move(data));
}

std::vector<std::byte> DropTable::Bytes() const {
  Writer writer;
  writer.Add(kMagic);
  writer.Add(kVersion);
  writer.Add(static_cast<uint16_t>(data_.video.size()));
  writer.Add(data_.video);
  writer.Add(data_.fps);
  writer.Add(static_cast<uint32_t>(data_.frames));
  writer.Add(static_cast<uint32_t>(data_.step));
  writer.Add(static_cast<uint16_t>(data_.strides.size()));
  for (const double value : {data_.frame_bytes, data_.result_bytes, data_.client_s}) writer.Add(value);
  for (const int stride : data_.strides) writer.Add(static_cast<uint16_t>(stride));
  for (const DropSample& sample : data_.samples) {
    writer.Add(sample.drop);
    writer.Add(sample.seen);
  }
  return writer.Take();
}

DropSample DropTable::At(FrameId source, int64_t stride) const {
  const int64_t last = data_.strides.back();
  const DropSample* row = &dense_[static_cast<size_t>(source / data_.step * (last + 1))];
  if (stride <= last) return row[stride];
  const float times = static_cast<float>(stride) / static_cast<float>(last);
  return {row[last].drop * times, row[last].seen * times};
}

}  // namespace wharf::serving
