// Code that a program links while it runs: PTX, here, whatever the device is.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "wharf/cudashim/client/call.h"

namespace wharf::client {

// In the place of machine code: an image that says how long it is and that the module functions load.
WHARF_CLIENT_API std::vector<std::byte> ImageOfPtx(std::string_view ptx);

// Adds the PTX of what is to be linked (device/fatbin/device_code.h). kInvalidImage or kNoBinaryForDevice with a
// `reason`.
WHARF_CLIENT_API CudaError AddParts(std::span<const std::byte> bytes, std::vector<std::string>* texts,
                                    std::string* reason);
WHARF_CLIENT_API bool IsLtoIr(std::span<const std::byte> bytes);
// The file's bytes. kFileNotFound.
WHARF_CLIENT_API CudaError ReadParts(const char* path, std::vector<std::byte>* bytes);
// One text of several, ready to be loaded. kInvalidPtx with a `reason`: "undefined reference to 'f'".
WHARF_CLIENT_API CudaError LinkTexts(const std::vector<std::string>& texts, std::string* linked, std::string* reason);

}  // namespace wharf::client
