// A graph of cuDNN's graph API, whatever its operations are, for a device that has cuDNN: the descriptors that a
// program made, in a coding that another process makes them from again. The vendor's numbers stand for descriptors,
// attributes and types, so that what is not known here passes, too.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "wharf/base/status.h"

namespace wharf::device {

// A tensor by its number (CUDNN_ATTR_TENSOR_UNIQUE_ID), and where it is, or the bits that it is.
struct DnnBinding {
  int64_t tensor = 0;
  uint64_t value = 0;
};

struct DnnGraph {
  std::vector<DnnBinding> tensors;  // addresses
  std::vector<DnnBinding> scalars;  // of tensors that are given by value; what they do not fill is 0
  bool deterministic = false;       // the same result at each run
  bool tensor_cores = true;         // may round factors of float to TF32, as they do
  std::vector<std::byte> description;
};

// Descriptors one after the other, each behind those that it refers to; the last is the graph. All numbers are variable
// in length, 7 bits a byte, with the sign in the lowest bit: of a descriptor its type and how many attributes; of an
// attribute its name, its type, how many numbers, and these. A number is an integer, an enumeration, the bits of a
// float or double, or which descriptor is meant, from 0; a fraction is two.
class DnnDescriptionWriter {
 public:
  void Put(int64_t number) {
    uint64_t rest = static_cast<uint64_t>(number) << 1 ^ (number < 0 ? ~uint64_t{0} : 0);
    for (; rest >= 0x80; rest >>= 7) bytes_.push_back(static_cast<std::byte>(rest | 0x80));
    bytes_.push_back(static_cast<std::byte>(rest));
  }
  void Descriptor(int64_t type, int64_t attributes) { Put(type), Put(attributes); }
  void Attribute(int64_t name, int64_t type, std::span<const int64_t> numbers) {
    Put(name), Put(type), Put(static_cast<int64_t>(numbers.size()));
    for (const int64_t number : numbers) Put(number);
  }
  std::vector<std::byte> Take() { return std::move(bytes_); }

 private:
  std::vector<std::byte> bytes_;
};

struct DnnAttribute {
  int32_t name = 0, type = 0;
  std::span<const int64_t> numbers;
};
struct DnnDescriptorForm {
  int32_t type = 0;
  std::span<const DnnAttribute> attributes;
  const DnnAttribute* Find(int32_t name) const;
  int64_t One(int32_t name, int64_t otherwise) const;
};

class DnnDescription {
 public:
  static constexpr size_t kMostBytes = 256 << 10, kMostDescriptors = 4096;

  // kInvalidValue: it is no such thing, or too large; it refers to what does not come before; it has what is no part of
  // a graph, such as an engine; it has attributes that only mean something in the process that set them, such as
  // pointers. kNotSupported: an attribute is of a type that is not known.
  static absl::StatusOr<DnnDescription> Parse(std::span<const std::byte> bytes);
  std::span<const DnnDescriptorForm> descriptors() const { return descriptors_; }

 private:
  std::vector<int64_t> numbers_;
  std::vector<DnnAttribute> attributes_;
  std::vector<DnnDescriptorForm> descriptors_;
};

// The vendor's numbers that have a meaning here; all others only pass.
inline constexpr int32_t kDnnOperationGraph = 15, kDnnTensor = 17;                                 // descriptors
inline constexpr int32_t kDnnDataType = 901, kDnnDims = 902, kDnnStrides = 903, kDnnNumber = 906;  // a tensor's
inline constexpr int32_t kDnnIsVirtual = 907, kDnnIsByValue = 908, kDnnRaggedOffset = 913;
inline constexpr int32_t kDnnReference = 15, kDnnFraction = 26;  // types of attributes
// Bytes of an attribute's element as the vendor's functions take it; 0: not of a type that passes.
size_t DnnElementBytes(int32_t type);

// What a graph touches.
struct DnnTensor {
  uint64_t address = 0, bytes = 0;
  // Its sequences have lengths of their own, which are in memory: no more than `bytes`.
  bool ragged = false;
  bool written = false;  // also read, perhaps
};
// kInvalidValue also if a tensor has no address or value, or sizes that none has.
absl::StatusOr<std::vector<DnnTensor>> DnnTensorsOf(const DnnGraph& graph);

}  // namespace wharf::device
