// Quantities as people write them.
#pragma once

#include <cstdint>
#include <string>

#include "wharf/base/clock.h"
#include "wharf/base/status.h"

namespace wharf::cli {

// "2GiB", "512M", "4096": bytes; K, M, G, T are powers of 1024.
absl::StatusOr<uint64_t> ParseBytes(const std::string& text);
// "10s", "2.6ms", "250us", "2m": not negative. A bare number is seconds.
absl::StatusOr<Nanoseconds> ParseDuration(const std::string& text);
// "93mbit", "1.5gbit", "10MB/s" (bytes): bits per second, powers of 1000. A bare number is an error.
absl::StatusOr<double> ParseBitRate(const std::string& text);

std::string FormatBytes(uint64_t bytes);  // "1.5 GiB": rounded, for reading
// "2GiB", "1.5GiB", "1023B": the same, and as ParseBytes takes it.
std::string WriteBytes(uint64_t bytes);

}  // namespace wharf::cli
