#include "wharf/split/runtime/model_store.h"

#include <string>

namespace wharf::split {

std::shared_ptr<const Model> ModelStore::InMemory(const Sha256& hash) {
  absl::MutexLock lock(&mutex_);
  const auto found = models_.find(hash);
  return found == models_.end() ? nullptr : found->second.lock();
}

absl::StatusOr<std::shared_ptr<const Model>> ModelStore::Load(const Sha256& hash, std::span<const std::byte> bytes) {
  std::shared_ptr<const Model> unused;  // its memory is free before more is taken
  {
    absl::MutexLock lock(&mutex_);
    unused = std::exchange(last_, nullptr);
  }
  unused.reset();
  WHARF_ASSIGN_OR_RETURN(std::shared_ptr<const Model> model, load_(bytes));
  absl::MutexLock lock(&mutex_);
  std::erase_if(models_, [](const auto& entry) { return entry.second.expired(); });
  models_[hash] = last_ = model;
  return model;
}

absl::StatusOr<std::shared_ptr<const Model>> ModelStore::Find(const Sha256& hash) {
  if (auto model = InMemory(hash); model != nullptr) return model;
  WHARF_ASSIGN_OR_RETURN(const std::string text, files_.Read(hash));
  return Load(hash, std::as_bytes(std::span(text)));
}

absl::StatusOr<std::shared_ptr<const Model>> ModelStore::Add(const Sha256& hash, std::span<const std::byte> bytes) {
  if (wire::HashOf(bytes) != hash) return InvalidArgument("the model that came is not the one that was announced");
  WHARF_ASSIGN_OR_RETURN(std::shared_ptr<const Model> model, Load(hash, bytes));
  files_.Keep(hash, bytes);
  return model;
}

}  // namespace wharf::split
