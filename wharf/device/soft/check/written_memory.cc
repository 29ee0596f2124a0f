#include "wharf/device/soft/check/written_memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cerrno>

namespace wharf::device::soft::check {
namespace {

constexpr uint64_t kBits = 64;

// Calls visit(word, mask) for the words that hold bits [at, at + bits).
template <typename Visit>
void ForEachWord(uint64_t at, uint64_t bits, Visit visit) {
  for (const uint64_t end = at + bits; at < end;) {
    const uint64_t in_word = std::min(kBits - at % kBits, end - at);
    const uint64_t mask = (in_word == kBits ? ~uint64_t{0} : (uint64_t{1} << in_word) - 1) << at % kBits;
    visit(at / kBits, mask);
    at += in_word;
  }
}

}  // namespace

void WrittenBytes::Start(uint64_t bytes) { bits_.assign((bytes + kBits - 1) / kBits, 0); }

void WrittenBytes::Write(uint64_t at, uint64_t bytes) {
  ForEachWord(at, bytes, [&](uint64_t word, uint64_t mask) { bits_[word] |= mask; });
}

std::optional<uint64_t> WrittenBytes::FirstUnwritten(uint64_t at, uint64_t bytes) const {
  std::optional<uint64_t> first;
  ForEachWord(at, bytes, [&](uint64_t word, uint64_t mask) {
    const uint64_t missing = ~bits_[word] & mask;
    if (missing != 0 && !first) first = word * kBits + static_cast<uint64_t>(std::countr_zero(missing));
  });
  return first;
}

absl::StatusOr<std::unique_ptr<WrittenMemory>> WrittenMemory::Create(uint64_t begin, uint64_t size) {
  void* bits = mmap(nullptr, size / 8 + 1, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (bits == MAP_FAILED) return ErrnoStatus(errno, "address space to note what is written");
  return std::unique_ptr<WrittenMemory>(new WrittenMemory(begin, size, static_cast<uint64_t*>(bits)));
}

WrittenMemory::~WrittenMemory() { munmap(bits_, size_ / 8 + 1); }

WrittenMemory::Span WrittenMemory::Cut(uint64_t address, uint64_t bytes) const {
  const uint64_t end = bytes > ~address ? ~uint64_t{0} : address + bytes;
  const uint64_t from = std::max(address, begin_), to = std::min(end, begin_ + size_);
  return from < to ? Span{from - begin_, to - from} : Span{};
}

absl::Status WrittenMemory::Map(uint64_t address, uint64_t bytes) {
  const Span span = Cut(address, bytes);
  if (span.bytes == 0) return absl::OkStatus();
  static const auto page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  const auto start = reinterpret_cast<uint64_t>(bits_);
  const uint64_t from = (start + span.at / 8) / page * page, to = start + (span.at + span.bytes + 7) / 8;
  if (mprotect(reinterpret_cast<void*>(from), to - from, PROT_READ | PROT_WRITE) != 0) {
    return ErrnoStatus(errno, "memory to note what is written");
  }
  ForEachWord(span.at, span.bytes, [&](uint64_t word, uint64_t mask) {
    std::atomic_ref(bits_[word]).fetch_and(~mask, std::memory_order_relaxed);
  });
  return absl::OkStatus();
}

void WrittenMemory::Write(uint64_t address, uint64_t bytes) {
  const Span span = Cut(address, bytes);
  ForEachWord(span.at, span.bytes, [&](uint64_t word, uint64_t mask) {
    std::atomic_ref now(bits_[word]);
    if ((~now.load(std::memory_order_relaxed) & mask) != 0) now.fetch_or(mask, std::memory_order_relaxed);
  });
}

std::optional<uint64_t> WrittenMemory::FirstUnwritten(uint64_t address, uint64_t bytes) const {
  const Span span = Cut(address, bytes);
  std::optional<uint64_t> first;
  ForEachWord(span.at, span.bytes, [&](uint64_t word, uint64_t mask) {
    const uint64_t missing = ~std::atomic_ref(bits_[word]).load(std::memory_order_relaxed) & mask;
    if (missing != 0 && !first) first = begin_ + word * kBits + static_cast<uint64_t>(std::countr_zero(missing));
  });
  return first;
}

void WrittenMemory::Set(uint64_t at, bool written) {
  const uint64_t mask = uint64_t{1} << at % kBits;
  std::atomic_ref word(bits_[at / kBits]);
  written ? word.fetch_or(mask, std::memory_order_relaxed) : word.fetch_and(~mask, std::memory_order_relaxed);
}

void WrittenMemory::Copy(uint64_t to, uint64_t from, uint64_t bytes) {
  if (!FirstUnwritten(from, bytes)) return Write(to, bytes);
  std::vector<bool> written(bytes);
  for (uint64_t i = 0; i < bytes; ++i) written[i] = !FirstUnwritten(from + i, 1);
  for (uint64_t i = 0; i < bytes; ++i) {
    const Span span = Cut(to + i, 1);
    if (span.bytes != 0) Set(span.at, written[i]);
  }
}

}  // namespace wharf::device::soft::check
