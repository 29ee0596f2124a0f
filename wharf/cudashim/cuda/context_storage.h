// Values that libraries keep with a context, by keys of their own: what a runtime that is linked into a program
// remembers of it. A context that is destroyed tells those whose values it had.
#pragma once

#include <mutex>
#include <unordered_map>

namespace wharf::cudashim {

// Thread-safe.
class ContextStorage {
 public:
  using Destroy = void (*)(void* context, void* key, void* value);

  // In place of what was there. `destroy` may be null.
  void Put(void* context, void* key, void* value, Destroy destroy);
  // False if there is nothing; then `value` is left alone.
  bool Get(void* context, void* key, void** value);
  // Nobody is told.
  void Remove(void* context, void* key);
  // The context is destroyed: everything of it goes, and then whoever kept it is told, and may put something again.
  void Clear(void* context);
  // Around fork: the child must not find the lock held by a thread it does not have.
  void LockForFork() { mutex_.lock(); }
  void UnlockAfterFork() { mutex_.unlock(); }

 private:
  struct Entry {
    void* value;
    Destroy destroy;
  };
  using Entries = std::unordered_map<void*, Entry>;  // by key

  std::mutex mutex_;
  std::unordered_map<void*, Entries> contexts_;
};

}  // namespace wharf::cudashim
