// What stands behind a handle of nvJitLink where the device runs PTX only: the inputs' PTX, linked to one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace wharf::client {

// nvJitLinkResult and nvJitLinkInputType: the numbers are the header's.
enum class JitLinkResult : int {
  kSuccess = 0,
  kMissingArchitecture = 2,
  kInvalidInput = 3,
  kInternal = 6,
  kUnrecognizedInput = 8,
  kNullInput = 10,
  kIncompatibleOptions = 11,
  kIncorrectInputType = 12,
  kMissingFatBinary = 15,
  kUnrecognizedArchitecture = 16,
  kLtoNotEnabled = 18,
};
enum class JitLinkInput : int { kCubin = 1, kPtx, kLtoIr, kFatBinary, kObject, kLibrary, kIndex, kAny = 10 };

struct LtoInput {
  std::vector<std::byte> bytes;
  std::string name;
};

// Not thread-safe, as nvJitLink's handles are not.
class JitLinker {
 public:
  // What speaks against such options.
  static JitLinkResult Check(const std::vector<std::string>& options);
  // `vendors`: NVIDIA's library, which makes PTX of LTO-IR and does nothing else here; may be null.
  JitLinker(std::vector<std::string> options, void* vendors);

  // `type` is believed only as to what is LTO-IR: the rest is told by its content, since NVRTC's machine code is PTX
  // here.
  JitLinkResult Add(JitLinkInput type, std::span<const std::byte> bytes, const std::string& name);
  JitLinkResult Complete();
  // The image that modules are loaded from; kInternal if there is none.
  JitLinkResult Image(std::span<const std::byte>* image) const;
  // Zero-terminated. kInvalidInput if it was not asked for by -ptx.
  JitLinkResult Ptx(std::span<const std::byte>* ptx) const;
  // Zero-terminated; empty if nothing was wrong.
  std::span<const std::byte> ErrorLog() const;

 private:
  bool Has(std::string_view option) const;
  JitLinkResult Fail(JitLinkResult result, const std::string& reason);

  const std::vector<std::string> options_;
  void* const vendors_;
  std::vector<std::string> texts_;
  std::vector<LtoInput> lto_;
  std::string log_, ptx_;
  std::vector<std::byte> image_;
};

}  // namespace wharf::client
