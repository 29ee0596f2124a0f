// Encodes and decodes the structs of a protocol: fields in order, little-endian; strings and vectors with a u32 count.
// What is decoded is hostile: a length beyond the bytes that are there, or bytes left over, is kDataLoss, and memory is
// taken only for what is there.
//
//   struct Hello {
//     uint32_t magic = 0;
//     std::string token;
//     auto Fields() { return std::tie(magic, token); }
//   };
//
// A field may be such a struct, a number, an enumeration, a bool, a string, or an array or vector of these. A type that
// belongs to someone else has its fields named by a specialization of FieldsOf.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <tuple>
#include <type_traits>
#include <vector>

#include "wharf/base/status.h"

namespace wharf::wire {

static_assert(std::endian::native == std::endian::little, "the codec copies numbers as they are");

template <typename T>
concept HasFields = requires(T value) {
  value.Fields();
};

//   template <>
//   struct FieldsOf<Point> {
//     static auto Of(auto& point) { return std::tie(point.x, point.y); }
//   };
template <typename T>
struct FieldsOf;
template <typename T>
concept HasFieldsElsewhere = requires(T value) {
  FieldsOf<T>::Of(value);
};

class Encoder {
 public:
  // Appends to `out`, which the caller may reuse to avoid allocation.
  explicit Encoder(std::vector<std::byte>& out) : out_(out) {}

  template <typename T>
  void Put(const T& value) {
    const auto put_all = [this](const auto&... field) { (Put(field), ...); };
    if constexpr (HasFields<T>) {
      // Fields() is not const because decoding writes through it; encoding only reads.
      std::apply(put_all, const_cast<T&>(value).Fields());
    } else if constexpr (HasFieldsElsewhere<T>) {
      std::apply(put_all, FieldsOf<T>::Of(value));
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
  template <typename T>
  void PutPlain(const std::vector<T>& values) {
    PutPlain(static_cast<uint32_t>(values.size()));
    for (const T& value : values) Put(value);
  }

  std::vector<std::byte>& out_;
};

class Decoder {
 public:
  explicit Decoder(std::span<const std::byte> in) : in_(in) {}

  // Zero or empty from the first field on that is not there.
  template <typename T>
  void Get(T& value) {
    const auto get_all = [this](auto&... field) { (Get(field), ...); };
    if constexpr (HasFields<T>) {
      std::apply(get_all, value.Fields());
    } else if constexpr (HasFieldsElsewhere<T>) {
      std::apply(get_all, FieldsOf<T>::Of(value));
    } else {
      GetPlain(value);
    }
  }
  // OK if every field was there and nothing is left; else kDataLoss.
  absl::Status Finish() const;
  // What was not decoded yet.
  std::span<const std::byte> Rest() const { return in_; }
  bool ok() const { return ok_; }

 private:
  void Fail() {
    ok_ = false;
    in_ = {};
  }
  template <typename T>
  requires(std::is_arithmetic_v<T> || std::is_enum_v<T>) void GetPlain(T& value) {
    if (in_.size() < sizeof(T)) {
      Fail();
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
      Fail();
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
  // Grows with what is there: an entry takes a byte at least.
  template <typename T>
  void GetPlain(std::vector<T>& values) {
    uint32_t count = 0;
    GetPlain(count);
    if (count > in_.size()) Fail();
    values.clear();
    for (uint32_t i = 0; i < count && ok_; ++i) Get(values.emplace_back());
    if (!ok_) values.clear();
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

// kDataLoss: fields are missing, or bytes are left over.
template <typename T>
absl::StatusOr<T> Decode(std::span<const std::byte> bytes) {
  T message;
  Decoder decoder(bytes);
  decoder.Get(message);
  WHARF_RETURN_IF_ERROR(decoder.Finish());
  return message;
}

// Decode for the line that a peer is told: kInvalidArgument "`what` is malformed".
template <typename T>
absl::StatusOr<T> DecodeHead(std::span<const std::byte> head, const char* what) {
  auto message = Decode<T>(head);
  if (!message.ok()) return InvalidArgument("{} is malformed", what);
  return message;
}

// Entries one after the other, as many as there are: for a field of bytes that holds a list.
inline constexpr size_t kMaxListEntries = 1 << 16;

template <typename T>
std::vector<std::byte> EncodeList(const std::vector<T>& entries) {
  std::vector<std::byte> out;
  Encoder encoder(out);
  for (const T& entry : entries) encoder.Put(entry);
  return out;
}
// kDataLoss: an entry is cut short, or there are more than kMaxListEntries.
template <typename T>
absl::StatusOr<std::vector<T>> DecodeList(std::span<const std::byte> bytes) {
  std::vector<T> entries;
  Decoder decoder(bytes);
  while (decoder.ok() && !decoder.Rest().empty() && entries.size() < kMaxListEntries)
    decoder.Get(entries.emplace_back());
  WHARF_RETURN_IF_ERROR(decoder.Finish());
  return entries;
}

}  // namespace wharf::wire
