#include "wharf/link/resume/byte_queue.h"

#include <gtest/gtest.h>

#include <rapidcheck/gtest.h>

#include "wharf/link/testing.h"

namespace wharf::link {
namespace {

// Any sequence of operations leaves the bytes that the same ones leave in a vector.
RC_GTEST_PROP(ByteQueueProperty, IsAVectorWithTwoEnds, ()) {
  ByteQueue queue;
  std::vector<std::byte> model;
  uint32_t seed = 0;
  const auto steps = *rc::gen::inRange(1, 40);
  for (int step = 0; step < steps; ++step) {
    const auto size = *rc::gen::element<size_t>(0, 1, 5000, (64 << 10) - 1, 64 << 10, (64 << 10) + 1, 300'000);
    const size_t part = std::min(size, model.size());
    switch (*rc::gen::inRange(0, 4)) {
      case 0:
      case 1: {
        const auto bytes = Pattern(size, ++seed);
        queue.Append(bytes);
        model.insert(model.end(), bytes.begin(), bytes.end());
        break;
      }
      case 2:
        queue.DropFront(part);
        model.erase(model.begin(), model.begin() + static_cast<ptrdiff_t>(part));
        break;
      default:
        queue.DropBack(part);
        model.resize(model.size() - part);
    }
    RC_ASSERT(queue.size() == model.size());
    const size_t offset = *rc::gen::inRange<size_t>(0, model.size() + 1);
    std::vector<std::byte> out(model.size() - offset);
    queue.CopyOut(offset, out);
    RC_ASSERT(std::equal(out.begin(), out.end(), model.begin() + static_cast<ptrdiff_t>(offset)));
  }
}

}  // namespace
}  // namespace wharf::link
