// What a worker in a stranger's hands says to the keeper of files: requests in any order, well-formed or not. Whatever
// it says, files of others and files elsewhere stay what they were.
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "wharf/base/stored/keeper.h"
#include "wharf/base/stored/keeper_wire.h"
#include "wharf/base/stored/stored_files.h"

namespace wharf {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kMost = 1000;

class Folder {
 public:
  Folder() {
    std::string pattern = (fs::temp_directory_path() / "wharf-keeper-fuzz-XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr) std::abort();
    path_ = pattern;
    fs::create_directories(path_ + "/kernels");
    Write("secret");
    Write("kernels/other-k.o");
  }
  ~Folder() { fs::remove_all(path_); }
  // Ends the process if anything has changed that nobody may change.
  void Check() const {
    size_t entries = 0;
    for (const auto& entry : fs::directory_iterator(path_)) entries += entry.exists() ? 1 : 0;
    if (entries > 4) std::abort();  // secret, kernels, models, read
    for (const char* name : {"secret", "kernels/other-k.o"}) {
      std::ifstream file(path_ + "/" + name);
      std::string text;
      if (!std::getline(file, text) || text != name) std::abort();
    }
  }
  const std::string& path() const { return path_; }

 private:
  void Write(const std::string& name) const { std::ofstream(path_ + "/" + name) << name; }
  std::string path_;
};

// The bytes that a run of the fuzzer stands for: requests of a few fields each, or as they are.
std::vector<std::byte> SaidBy(const uint8_t* data, size_t size) {
  std::vector<std::byte> said;
  const auto append = [&](const void* from, size_t bytes) {
    const auto* const begin = static_cast<const std::byte*>(from);
    said.insert(said.end(), begin, begin + bytes);
  };
  size_t at = 0;
  const auto next = [&] { return at < size ? data[at++] : uint8_t{0}; };
  constexpr const char* kDirectories[] = {"kernels", "models", "read", "nowhere"};
  while (at < size) {
    const uint8_t how = next();
    if (how >= 250) {  // as it is
      append(data + at, size - at);
      return said;
    }
    KeeperRequest request;
    request.action = how % 8;
    std::strcpy(request.directory, kDirectories[how / 8 % 4]);
    const size_t length = std::min<size_t>({next(), size - at, sizeof(request.name)});
    std::memcpy(request.name, data + at, length);
    at += length;
    request.bytes = next() * uint64_t{8};
    append(&request, sizeof(request));
    if (request.action == static_cast<uint32_t>(KeeperAction::kWrite)) said.resize(said.size() + request.bytes);
  }
  return said;
}

void Fuzz(const std::vector<std::byte>& said) {
  static const Folder folder;
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) std::abort();
  std::thread keeper([socket = ends[1]] {
    Keeper keeper;
    keeper.Add(socket,
               {{"kernels",
                 {.path = folder.path() + "/kernels",
                  .most_bytes = 1 << 20,
                  .most_file_bytes = kMost,
                  .whose = "a",
                  .seal = SealKey{1}}},
                {"models", {.path = folder.path() + "/models", .most_bytes = 4 * kMost, .most_file_bytes = kMost}},
                {"read", {.path = folder.path() + "/read", .most_file_bytes = kMost, .writable = false}}});
    keeper.ServeUntil(-1);
  });
  std::thread hears([socket = ends[0]] {
    char heard[4096];
    while (recv(socket, heard, sizeof(heard), 0) > 0) {
    }
  });
  WriteWhole(ends[0], said.data(), said.size());
  shutdown(ends[0], SHUT_WR);
  keeper.join();
  hears.join();
  close(ends[0]);
  folder.Check();
}

}  // namespace
}  // namespace wharf

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  wharf::Fuzz(wharf::SaidBy(data, size));
  return 0;
}
