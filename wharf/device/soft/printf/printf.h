// CUDA's device-side printf: formats on the host from a format and packed arguments that lie in kernel memory. Neither
// is trusted.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace wharf::device::soft {

// Reads kernel memory: how many bytes from an address on may be read.
using ReadableBytes = std::function<uint64_t(uint64_t address)>;

// The C string at `address`, at most `limit` bytes of it; nothing if it is not readable up to its end or the limit.
std::optional<std::string> ReadString(uint64_t address, const ReadableBytes& readable, uint64_t limit);

struct FormattedText {
  std::string text;
  int32_t arguments = 0;  // consumed
};

// `arguments` is the address of the arguments, each naturally aligned: 4 bytes for int and smaller, 8 for long,
// pointers and double. Nothing if an argument cannot be read. Unknown conversions are printed as they stand; unreadable
// strings as "(null)" or "(invalid)"; widths and precisions are capped at 1024.
std::optional<FormattedText> FormatPrintf(std::string_view format, uint64_t arguments, const ReadableBytes& readable);

}  // namespace wharf::device::soft
