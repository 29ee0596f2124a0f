#include "wharf/offload/testing/random_cuda_trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace wharf::offload {
namespace {

using device::CudaError;
using Kind = Observation::Kind;

constexpr CudaError kNoError = CudaError::kSuccess;

std::optional<std::string> CompareBytes(const Observation& expected, const Observation& actual) {
  if (expected.bytes == actual.bytes) return std::nullopt;
  if (expected.bytes.size() != actual.bytes.size()) {
    return fmt::format("op {}: {} bytes, not {}", actual.op, actual.bytes.size(), expected.bytes.size());
  }
  const auto [at, other] = std::mismatch(expected.bytes.begin(), expected.bytes.end(), actual.bytes.begin());
  return fmt::format("op {}: byte {} of {} is {:#04x}, not {:#04x}", actual.op, at - expected.bytes.begin(),
                     actual.bytes.size(), std::to_integer<int>(*other), std::to_integer<int>(*at));
}

std::optional<std::string> CompareError(const Observation& actual, CudaError expected) {
  if (actual.error == expected) return std::nullopt;
  return fmt::format("op {}: error {}, not {}", actual.op, static_cast<int>(actual.error), static_cast<int>(expected));
}

// Walks along both traces.
class Comparison {
 public:
  Comparison(const Trace& reference, const Trace& actual, bool deferred)
      : reference_(reference), actual_(actual), deferred_(deferred) {}

  std::optional<std::string> Run() {
    if (!reference_.lost.empty()) return "the reference was lost: " + reference_.lost;
    if (!actual_.lost.empty()) return "lost: " + actual_.lost;
    if (actual_.class_violations != 0) return "a call sent what its class forbids";
    if (reference_.calls.size() != actual_.calls.size()) {
      return fmt::format("{} calls, not {}", actual_.calls.size(), reference_.calls.size());
    }
    for (size_t i = 0; i < reference_.calls.size(); ++i) {
      if (auto difference = Call(reference_.calls[i], actual_.calls[i])) return difference;
    }
    if (fault_ != kNoError) return std::nullopt;  // what was under way is cut off somewhere
    if (reference_.output != actual_.output) {
      return fmt::format("printed \"{}\", not \"{}\"", actual_.output, reference_.output);
    }
    if (reference_.host_calls != actual_.host_calls) return "a host call saw something else";
    return std::nullopt;
  }

 private:
  std::optional<std::string> Call(const Observation& reference, const Observation& actual) {
    if (reference.op != actual.op || reference.kind != actual.kind) {
      return fmt::format("op {}: another call than op {}", actual.op, reference.op);
    }
    if (reference.kind == Kind::kRefused) return CompareError(actual, reference.error);
    if (fault_ == kNoError && device::IsSticky(reference.error)) fault_ = reference.error;
    if (fault_ == kNoError && reference.fault != kNoError) fault_ = reference.fault;
    if (fault_ != kNoError) return AfterFault(actual);
    if (auto difference = CompareError(actual, Expected(reference))) return difference;
    return reference.error == kNoError ? CompareBytes(reference, actual) : std::nullopt;
  }

  CudaError Expected(const Observation& reference) {
    if (!deferred_) return reference.error;
    if (pending_ == kNoError) pending_ = reference.error;
    return reference.kind == Kind::kPosted ? kNoError : std::exchange(pending_, kNoError);
  }

  std::optional<std::string> AfterFault(const Observation& actual) {
    if (actual.error == fault_) {
      known_ = true;
    } else if (known_ || actual.kind == Kind::kSettles) {
      return CompareError(actual, fault_);
    } else if (device::IsSticky(actual.error)) {
      return CompareError(actual, fault_);
    }
    return std::nullopt;
  }

  const Trace& reference_;
  const Trace& actual_;
  const bool deferred_;
  CudaError pending_ = kNoError;  // of posted calls
  CudaError fault_ = kNoError;
  bool known_ = false;  // the fault, to the program
};

}  // namespace

std::optional<std::string> Difference(const Trace& reference, const Trace& actual, bool deferred) {
  return Comparison(reference, actual, deferred).Run();
}

}  // namespace wharf::offload
