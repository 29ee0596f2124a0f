// Looks after stored files for other processes, which may be in strangers' hands: each can read, write and remove files
// by plain names in a few directories, and nothing else.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "wharf/base/status.h"
#include "wharf/base/stored/seal.h"

namespace wharf {

struct KeptDirectory {
  std::string path;
  uint64_t most_bytes = 0;       // of all files together; what is being written has a quarter of this beside it
  uint64_t most_file_bytes = 0;  // of one file: larger ones are as good as none; those with a seal are held in memory
  bool writable = true;
  std::string extension = {};  // that all names end with: limits count files of one extension
  // Not empty: whose files these are, of those of several that share the directory. Nobody sees another's, and each has
  // a quarter of it at most.
  std::string whose = {};
  // Files that do not bear it are as good as none.
  std::optional<SealKey> seal = std::nullopt;
};

// By the names that the other process has for them.
using KeptDirectories = std::map<std::string, KeptDirectory>;

// Answers on any number of sockets, one for each process, on the thread that serves. Each gets or gives a piece at a
// time, so that nobody waits for one who is slow, has said half of something, or does not take its answer. Not
// thread-safe.
class Keeper {
 public:
  Keeper();
  ~Keeper();
  Keeper(const Keeper&) = delete;
  Keeper& operator=(const Keeper&) = delete;

  // Owns `socket`, a stream, and answers on it until the other end is closed or asks for what it may not have.
  void Add(int socket, KeptDirectories directories);
  // Answers until `control` can be read or is at its end; -1: until nobody is left.
  void ServeUntil(int control);

 private:
  class Client;
  struct Shared;

  const std::unique_ptr<Shared> shared_;
  std::vector<std::unique_ptr<Client>> clients_;
};

// What stands, for stored_files.h, above the keeper's directories in the process that has the other end of the socket:
// a slash and the name of one follow.
std::string KeeperRoot(int socket);
// The same where keepers follow one another: `door` is this process's end of one for their sockets
// (base/passed_descriptors.h), for the rest of its life. The keeper is the one whose socket was passed first, as long
// as it answers. What it did not answer is asked of the next; where none was passed yet there is no keeper, until one
// is.
std::string KeeperRootBehind(int door);

}  // namespace wharf
