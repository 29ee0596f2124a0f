// What checks have found: told once for each place, when the kernel in which it came up first has ended, and counted.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "wharf/device/soft/check/checks.h"

namespace wharf::device::soft::check {

// An instruction that accesses memory, for people.
struct Site {
  std::string file;  // of the source, "" without -lineinfo
  uint32_t line = 0;
  std::string caller_file;  // of a function that was inlined: where that was, "" if it was not
  uint32_t caller_line = 0;
  uint32_t ptx_line = 0;
  std::string ptx;
  uint32_t same = 0;  // the number of the first one of these lines: one place for people
};
// Of a kernel, with the functions it reaches: by the number that its code tells.
using SiteTable = std::vector<Site>;

struct Finding {
  enum class Kind : uint8_t { kRace, kOutside, kOutsideShared, kMisaligned, kUnwritten };
  Kind kind = Kind::kRace;
  uint32_t site = 0;
  uint8_t bytes = 0, flags = 0;  // Access's
  uint64_t address = 0;          // the first byte concerned
  bool shared = false;           // it is an offset in shared memory
  // kOutside: the allocation next to it, if there is one. Else `size`: of shared memory; what the address should be a
  // multiple of.
  uint64_t begin = 0, size = 0;
  uint32_t thread = 0;  // its number in the block
  // Of a race: the access before it.
  uint32_t other_site = 0, other_thread = 0;
  uint8_t other_flags = 0;
};

// Where it was found.
struct FoundIn {
  std::shared_ptr<const SiteTable> sites;
  std::string_view kernel;  // as compilers write it
  std::array<uint32_t, 3> grid{1, 1, 1}, block{}, shape{1, 1, 1};
};

// Thread-safe.
class Findings {
 public:
  // Gets whole lines, without their ends.
  using Sink = std::function<void(const std::string& line)>;
  Findings(Checks checks, Sink sink) : checks_(checks), sink_(std::move(sink)) {}

  Checks checks() const { return checks_; }
  void Add(const FoundIn& where, const Finding& finding);
  // A kernel has ended: tells what came up in it for the first time.
  void EndKernel();
  // At the end there is this much that was never freed.
  void AddLeaks(uint64_t allocations, uint64_t bytes);
  // All has ended: tells how much there was, if any kernel has run or anything was found.
  void Summarize();

 private:
  // Beyond these, places are only counted.
  static constexpr size_t kMostPlaces = 1000;

  struct Place {
    std::shared_ptr<const SiteTable> sites;  // stays, so no other kernel's has its address
    std::string kernel;
    Finding::Kind kind;
    uint32_t site, other_site;
    uint8_t flags, other_flags;
    friend auto operator<=>(const Place&, const Place&) = default;
  };
  struct Found {
    uint64_t block_index = 0;  // of the first block of the grid it was found in
    FoundIn where;             // but for its kernel
    Finding first;
    uint64_t times = 0;
    bool told = false;
  };
  static std::string Describe(const Place& place, const Found& found);
  static std::string DescribeRace(const Place& place, const Found& found);

  const Checks checks_;
  const Sink sink_;
  absl::Mutex mutex_;
  std::map<Place, Found> places_ ABSL_GUARDED_BY(mutex_);
  uint64_t kernels_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t times_ ABSL_GUARDED_BY(mutex_) = 0;  // of all
  uint64_t leaks_ ABSL_GUARDED_BY(mutex_) = 0;  // allocations
  bool more_ ABSL_GUARDED_BY(mutex_) = false;   // places than are kept
};

}  // namespace wharf::device::soft::check
