// What coding bulk data cost and saved in one direction of a session.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <tuple>

#include "wharf/base/clock.h"
#include "wharf/offload/bulk/bulk_coding.h"

namespace wharf::offload {

struct CodecTraffic {
  uint64_t payloads = 0, before = 0, after = 0;  // bytes as they are, and as they travelled
  auto Fields() { return std::tie(payloads, before, after); }
  CodecTraffic& operator+=(const CodecTraffic& more) {
    payloads += more.payloads, before += more.before, after += more.after;
    return *this;
  }
};

struct BulkTraffic {
  CodecTraffic plain, lz4, zstd;  // plain: large enough to be coded, and sent as they are
  uint64_t differences = 0;       // of the others: payloads that were sent as differences
  uint64_t nanoseconds = 0;       // processor time for all of it, trials included
  auto Fields() { return std::tie(plain, lz4, zstd, differences, nanoseconds); }
  BulkTraffic& operator+=(const BulkTraffic& more) {
    plain += more.plain, lz4 += more.lz4, zstd += more.zstd;
    differences += more.differences, nanoseconds += more.nanoseconds;
    return *this;
  }
};

// One thread adds, any reads.
class BulkCounters {
 public:
  void Add(const BulkCoding& coding, uint64_t before, uint64_t after, Nanoseconds spent) {
    Cell& cell = cells_[static_cast<size_t>(coding.codec)];
    Bump(cell.payloads, 1);
    Bump(cell.before, before);
    Bump(cell.after, after);
    Bump(differences_, coding.difference ? 1 : 0);
    Bump(nanoseconds_, static_cast<uint64_t>(spent.count()));
  }
  BulkTraffic Get() const {
    return {cells_[0].Get(), cells_[1].Get(), cells_[2].Get(), differences_.load(std::memory_order_relaxed),
            nanoseconds_.load(std::memory_order_relaxed)};
  }

 private:
  using Number = std::atomic<uint64_t>;
  struct Cell {
    Number payloads{0}, before{0}, after{0};
    CodecTraffic Get() const {
      return {payloads.load(std::memory_order_relaxed), before.load(std::memory_order_relaxed),
              after.load(std::memory_order_relaxed)};
    }
  };
  static void Bump(Number& number, uint64_t by) {
    number.store(number.load(std::memory_order_relaxed) + by, std::memory_order_relaxed);
  }
  std::array<Cell, 3> cells_;
  Number differences_{0}, nanoseconds_{0};
};

}  // namespace wharf::offload
