#include "wharf/split/runtime/model_files.h"

#include "wharf/base/log.h"
#include "wharf/base/stored/stored_files.h"
#include "wharf/split/runtime/model.h"

namespace wharf::split {
namespace {

std::string NameOf(const Sha256& hash) { return wire::HexOf(hash) + ".onnx"; }

}  // namespace

absl::StatusOr<std::string> ModelFiles::Read(const Sha256& hash) const {
  std::optional<std::string> text = ReadStored(directory_, NameOf(hash));
  if (!text) return NotFound("no such model");
  if (wire::HashOf(std::as_bytes(std::span(*text))) == hash) return *std::move(text);
  RemoveStored(directory_, NameOf(hash));  // a damaged file
  return NotFound("no such model");
}

void ModelFiles::Keep(const Sha256& hash, std::span<const std::byte> bytes) const {
  const absl::Status written = WriteStored(directory_, NameOf(hash), bytes);
  if (!written.ok()) Log(LogLevel::kWarning, "a model could not be kept", {{"why", Message(written)}});
  LimitStored(directory_, limit_bytes_, NameOf(hash));
}

}  // namespace wharf::split
