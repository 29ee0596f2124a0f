// Looks after stored files for another process, which may be in a stranger's hands: it can read, write and remove files
// by plain names in a few directories, and nothing else.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <thread>

#include "wharf/base/status.h"

namespace wharf {

struct KeptDirectory {
  std::string path;
  uint64_t most_bytes = 0;       // of all files together
  uint64_t most_file_bytes = 0;  // of one file
};

class Keeper {
 public:
  // Owns `socket`, a stream, and answers on a thread until the other end is closed. `directories`: by the names that
  // the other process has for them.
  Keeper(int socket, std::map<std::string, KeptDirectory> directories);
  // Ends what is under way.
  ~Keeper();
  Keeper(const Keeper&) = delete;
  Keeper& operator=(const Keeper&) = delete;

 private:
  void Serve();
  bool ServeNext();

  const int socket_;
  const std::map<std::string, KeptDirectory> directories_;
  std::map<uint64_t, int> locks_;  // the files of those held, on the thread
  std::thread thread_;
};

// What stands, for stored_files.h, above the keeper's directories in the process that has the other end of the socket:
// a slash and the name of one follow.
std::string KeeperRoot(int socket);

}  // namespace wharf
