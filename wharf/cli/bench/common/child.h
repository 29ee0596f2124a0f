// A process that `wharf bench` starts, talks to by lines and waits for.
#pragma once

#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "wharf/base/status.h"
#include "wharf/base/subprocess/subprocess.h"

namespace wharf::cli {

// The program that runs, as Child::Start takes it.
inline constexpr const char* kOurselves = "/proc/self/exe";

// Not thread-safe. Ends with this object (SIGTERM), or at the latest with this process.
class Child {
 public:
  // `arguments` with the program's name. Its standard input and output are pipes of ours, its standard error is ours.
  static absl::StatusOr<std::unique_ptr<Child>> Start(const std::string& path, std::vector<std::string> arguments);
  ~Child();
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  // The next line of its output, without its end. kOutOfRange if there is none.
  absl::StatusOr<std::string> ReadLine();
  // Reads lines until one equals `wanted`. kOutOfRange if none does.
  absl::Status AwaitLine(const std::string& wanted);
  void SendLine();  // an empty one
  // Drops the rest of its output and waits for its end. kAborted with its exit code or signal if it failed.
  absl::Status Wait();

 private:
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  using File = std::unique_ptr<std::FILE, Close>;
  Child(Subprocess process, int input, int output);
  Subprocess process_;
  File input_, output_;
};

}  // namespace wharf::cli
