// Programs that behave like workers as far as a pool can see.
#pragma once

#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>

namespace wharf::server {

// Shell scripts, gone with this object. A worker's control socket is their descriptor 3.
class WorkerScripts {
 public:
  WorkerScripts() {
    std::string pattern = (std::filesystem::temp_directory_path() / "wharf-pool-XXXXXX").string();
    folder_ = mkdtemp(pattern.data());
  }
  ~WorkerScripts() {
    // A script that has just been started may write into a folder that is being emptied.
    std::error_code error;
    while (std::filesystem::remove_all(folder_, error), error == std::errc::directory_not_empty) {
    }
  }
  WorkerScripts(const WorkerScripts&) = delete;
  WorkerScripts& operator=(const WorkerScripts&) = delete;

  std::string Write(const std::string& name, const std::string& text) const {
    const std::string path = folder_ + "/" + name;
    std::ofstream(path) << "#!/bin/sh\n" << text << "\n";
    chmod(path.c_str(), 0700);
    return path;
  }
  // Ends when its control socket does.
  std::string Obedient() const { return Write("obedient", "exec cat <&3 >/dev/null"); }
  std::string Crashing() const { return Write("crashing", "head -c 1 <&3 >/dev/null; exit 7"); }
  // Ends when it has read its configuration; what it has started keeps its socket for as long as the folder is there.
  std::string LeavesOneBehind() const {
    return Write("leaves_one", "head -c 1 <&3 >/dev/null; while test -d " + folder_ + "; do sleep 0.1; done & exit 0");
  }
  // Reads its configuration and its order, and dies of it.
  std::string Deadly() const { return Write("deadly", kDie); }
  // The first of its processes is deadly, those after it are obedient.
  std::string DeadlyOnce() const {
    return Write("deadly_once", "if mkdir " + folder_ + "/mark; then " + kDie + "; fi; exec cat <&3");
  }

 private:
  static constexpr const char* kDie = "head -c 1 <&3; head -c 1 <&3; exit 7";
  std::string folder_;
};

}  // namespace wharf::server
