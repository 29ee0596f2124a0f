// Arbitrary bytes as how a connection begins. The daemon looks at the first of them to see whether it goes on with a
// session, the worker reads them: both must agree, and no byte may get lost.
#include <algorithm>
#include <cstdlib>

#include "wharf/link/connect_again.h"
#include "wharf/link/prefixed_stream.h"
#include "wharf/link/resume/resume_opening.h"
#include "wharf/link/testing.h"

namespace wharf::link {
namespace {

void Require(bool condition) {
  if (!condition) std::abort();
}

bool SaysItResumes(std::span<const std::byte> bytes) {
  if (bytes.size() < kOpeningKindBytes) return false;
  const std::vector<std::byte> seen(bytes.begin(), bytes.begin() + kOpeningKindBytes);  // of memory of its own
  return NamesSession(std::span(seen).first<kOpeningKindBytes>());
}

void Begin(std::span<const std::byte> bytes, size_t first_read) {
  const bool resumes = SaysItResumes(bytes);
  const std::vector<std::byte> peeked(bytes.begin(), bytes.begin() + std::min(bytes.size(), kBeginningBytes));
  const bool encrypted = !peeked.empty() && peeked[0] == std::byte{0x16};
  Require(!GoesOn(peeked) || (encrypted && !resumes));

  auto begun = ReadBeginning(std::make_unique<FuzzStream>(bytes, first_read, 61), std::chrono::hours(1));
  if (!begun.ok()) return Require(absl::IsUnavailable(begun.status()) || absl::IsDataLoss(begun.status()));
  if (begun->opening && begun->known_version) {
    Require(resumes == (begun->opening->kind == OpeningKind::kResume));
    const auto encoded = EncodeOpening(*begun->opening);
    Require(std::ranges::equal(encoded, bytes.first(encoded.size())));
  }
  std::vector<std::byte> rest(bytes.size() + 1);
  const auto got = ReadUpTo(*begun->stream, rest);
  Require(got.ok() &&
          std::ranges::equal(std::span(rest).first(*got), bytes.subspan(begun->opening ? kOpeningBytes : 0)));
}

}  // namespace
}  // namespace wharf::link

// The first byte sets the sizes of the reads, the rest is the connection.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size > 0) wharf::link::Begin(std::as_bytes(std::span(data, size)).subspan(1), data[0]);
  return 0;
}
