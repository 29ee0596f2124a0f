#include "wharf/cudashim/cuda/context_storage.h"

#include <utility>

namespace wharf::cudashim {

void ContextStorage::Put(void* context, void* key, void* value, Destroy destroy) {
  const std::lock_guard lock(mutex_);
  contexts_[context].insert_or_assign(key, Entry{value, destroy});
}

bool ContextStorage::Get(void* context, void* key, void** value) {
  const std::lock_guard lock(mutex_);
  const auto entries = contexts_.find(context);
  if (entries == contexts_.end()) return false;
  const auto found = entries->second.find(key);
  if (found == entries->second.end()) return false;
  *value = found->second.value;
  return true;
}

void ContextStorage::Remove(void* context, void* key) {
  const std::lock_guard lock(mutex_);
  const auto entries = contexts_.find(context);
  if (entries != contexts_.end()) entries->second.erase(key);
}

void ContextStorage::Clear(void* context) {
  Entries gone;
  {
    const std::lock_guard lock(mutex_);
    const auto entries = contexts_.find(context);
    if (entries == contexts_.end()) return;
    gone = std::move(entries->second);
    contexts_.erase(entries);
  }
  for (const auto& [key, entry] : gone) {
    if (entry.destroy != nullptr) entry.destroy(context, key, entry.value);
  }
}

}  // namespace wharf::cudashim
