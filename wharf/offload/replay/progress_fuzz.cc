// Whatever a Progress frame holds, reading it ends, in an error or with records whose changes lie inside the frame.
#include <cstdlib>

#include "wharf/offload/replay/progress.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::span<const std::byte> frame(reinterpret_cast<const std::byte*>(data), size);
  wharf::offload::ProgressReader reader(frame);
  wharf::offload::ProgressRecord record;
  while (!reader.AtEnd() && reader.Next(record).ok()) {
    for (const auto& change : record.changes) {
      const bool inside = change.bytes.data() >= frame.data() &&
                          change.bytes.data() + change.bytes.size() <= frame.data() + frame.size();
      if (!inside) std::abort();
    }
  }
  return 0;
}
