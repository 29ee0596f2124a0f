// A stream that gives bytes once more which were read to find out what it carries.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "wharf/link/byte_stream.h"

namespace wharf::link {

// `prefix` first, then what `stream` still has. Everything else is as with `stream`.
std::unique_ptr<ByteStream> WithPrefix(std::vector<std::byte> prefix, std::unique_ptr<ByteStream> stream);

// Bytes read, in order; fewer than wanted only if the stream ends. Fails as ByteStream::Read.
absl::StatusOr<size_t> ReadUpTo(ByteStream& stream, std::span<std::byte> into);

}  // namespace wharf::link
