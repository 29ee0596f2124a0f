// Encodes and decodes the structs of wire.h: fields in order, little-endian, strings and byte vectors with a u32
// length. What is decoded is hostile: a length beyond the bytes that are there, or bytes left over, is kDataLoss.
#pragma once

#include <bit>
#include <concepts>
#include <cstring>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "wharf/offload/wire.h"

namespace wharf::offload {

static_assert(std::endian::native == std::endian::little, "the codec copies integers as they are");

template <typename T>
concept HasFields = requires(T value) {
  value.Fields();
};

class Encoder {
 public:
  // Appends to `out`, which the caller may reuse to avoid allocation.
  explicit Encoder(std::vector<std::byte>& out) : out_(out) {}

  template <typename T>
  void Put(const T& value) {
    if constexpr (HasFields<T>) {
      // Fields() is not const because decoding writes through it; encoding only reads.
      std::apply([this](const auto&... field) { (Put(field), ...); }, const_cast<T&>(value).Fields());
    } else {
      PutPlain(value);
    }
  }

 private:
  template <typename T>
  requires(std::is_arithmetic_v<T> || std::is_enum_v<T>) void PutPlain(T value) { Append(&value, sizeof(T)); }
  void PutBytes(const void* data, size_t size) {
    PutPlain(static_cast<uint32_t>(size));
    Append(data, size);
  }
  void Append(const void* data, size_t size) {
    const size_t before = out_.size();
    out_.resize(before + size);
    if (size > 0) std::memcpy(out_.data() + before, data, size);
  }
  void PutPlain(const std::string& value) { PutBytes(value.data(), value.size()); }
  void PutPlain(const std::vector<std::byte>& value) { PutBytes(value.data(), value.size()); }
  template <typename T, size_t n>
  void PutPlain(const std::array<T, n>& values) {
    for (const T& value : values) Put(value);
  }
  void PutPlain(const device::Dim3& v) { PutAll(v.x, v.y, v.z); }
  void PutPlain(const device::LaunchConfig& v) { PutAll(v.grid, v.block, v.shared_bytes); }
  void PutPlain(const device::Region& v) { PutAll(v.address, v.row_pitch, v.slice_pitch); }
  void PutPlain(const device::Extent& v) { PutAll(v.width, v.height, v.depth); }
  void PutPlain(const device::Symbol& v) { PutAll(v.address, v.size); }
  void PutPlain(const device::Arena& v) { PutAll(v.base, v.size, v.granularity, v.guarded); }
  void PutPlain(const device::Gemm& v);
  void PutPlain(const device::DeviceProperties& v);
  void PutPlain(const device::FunctionAttributes& v);
  template <typename... T>
  void PutAll(const T&... values) {
    (Put(values), ...);
  }

  std::vector<std::byte>& out_;
};

class Decoder {
 public:
  explicit Decoder(std::span<const std::byte> in) : in_(in) {}

  template <typename T>
  void Get(T& value) {
    if constexpr (HasFields<T>) {
      std::apply([this](auto&... field) { (Get(field), ...); }, value.Fields());
    } else {
      GetPlain(value);
    }
  }
  // OK if every field was there and nothing is left.
  absl::Status Finish() const;
  // What was not decoded yet.
  std::span<const std::byte> Rest() const { return in_; }
  bool ok() const { return ok_; }

 private:
  template <typename T>
  requires(std::is_arithmetic_v<T> || std::is_enum_v<T>) void GetPlain(T& value) {
    if (in_.size() < sizeof(T)) {
      ok_ = false;
      in_ = {};
      value = T{};
      return;
    }
    if constexpr (std::is_same_v<T, bool>) {
      value = in_[0] != std::byte{0};
    } else {
      std::memcpy(&value, in_.data(), sizeof(T));
    }
    in_ = in_.subspan(sizeof(T));
  }
  std::span<const std::byte> TakeBytes() {
    uint32_t size = 0;
    GetPlain(size);
    if (size > in_.size()) {
      ok_ = false;
      in_ = {};
      return {};
    }
    const auto taken = in_.first(size);
    in_ = in_.subspan(size);
    return taken;
  }
  void GetPlain(std::string& value) {
    const auto bytes = TakeBytes();
    value.assign(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  }
  void GetPlain(std::vector<std::byte>& value) {
    const auto bytes = TakeBytes();
    value.assign(bytes.begin(), bytes.end());
  }
  template <typename T, size_t n>
  void GetPlain(std::array<T, n>& values) {
    for (T& value : values) Get(value);
  }
  void GetPlain(device::Dim3& v) { GetAll(v.x, v.y, v.z); }
  void GetPlain(device::LaunchConfig& v) { GetAll(v.grid, v.block, v.shared_bytes); }
  void GetPlain(device::Region& v) { GetAll(v.address, v.row_pitch, v.slice_pitch); }
  void GetPlain(device::Extent& v) { GetAll(v.width, v.height, v.depth); }
  void GetPlain(device::Symbol& v) { GetAll(v.address, v.size); }
  void GetPlain(device::Arena& v) { GetAll(v.base, v.size, v.granularity, v.guarded); }
  void GetPlain(device::Gemm& v);
  void GetPlain(device::DeviceProperties& v);
  void GetPlain(device::FunctionAttributes& v);
  template <typename... T>
  void GetAll(T&... values) {
    (Get(values), ...);
  }

  std::span<const std::byte> in_;
  bool ok_ = true;
};

template <typename T>
std::vector<std::byte> Encode(const T& message) {
  std::vector<std::byte> out;
  Encoder(out).Put(message);
  return out;
}

template <typename T>
absl::StatusOr<T> Decode(std::span<const std::byte> bytes) {
  T message;
  Decoder decoder(bytes);
  decoder.Get(message);
  WHARF_RETURN_IF_ERROR(decoder.Finish());
  return message;
}

}  // namespace wharf::offload
