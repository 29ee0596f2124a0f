// Handles that programs hold are addresses of our objects. Which of them are alive is known here, so that a handle that
// is none is an error and no crash.
#pragma once

#include <mutex>
#include <unordered_set>

namespace wharf::cudagraph {

// Base of a class whose objects are handles: class Node : public Live<Node>. Thread-safe.
template <typename T>
class Live {
 public:
  static bool Contains(const T* handle) {
    Set& set = Alive();
    const std::lock_guard lock(set.mutex);
    return set.objects.contains(handle);
  }

 protected:
  Live() {
    Set& set = Alive();
    const std::lock_guard lock(set.mutex);
    set.objects.insert(this);
  }
  ~Live() {
    Set& set = Alive();
    const std::lock_guard lock(set.mutex);
    set.objects.erase(this);
  }
  Live(const Live&) = delete;
  Live& operator=(const Live&) = delete;

 private:
  struct Set {
    std::mutex mutex;
    std::unordered_set<const Live*> objects;
  };
  // Never destroyed: programs use their handles while they end.
  static Set& Alive() {
    static Set* const set = new Set;
    return *set;
  }
};

}  // namespace wharf::cudagraph
