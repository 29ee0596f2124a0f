// A place for the files of a measurement.
#pragma once

#include <memory>
#include <string>

#include "wharf/base/status.h"

namespace wharf::cli {

// A directory of its own, gone at the end.
class ScratchDirectory {
 public:
  static absl::StatusOr<std::unique_ptr<ScratchDirectory>> Make();
  ~ScratchDirectory();
  ScratchDirectory(const ScratchDirectory&) = delete;
  ScratchDirectory& operator=(const ScratchDirectory&) = delete;
  std::string File(const std::string& name) const { return path_ + "/" + name; }

 private:
  explicit ScratchDirectory(std::string path) : path_(std::move(path)) {}
  const std::string path_;
};

}  // namespace wharf::cli
