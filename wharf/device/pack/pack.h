// A pack: PTX modules made of a program's or a framework's source, found by the kernels that they define, for programs
// that carry machine code only. docs/packs.md has the format. A pack is a file of the operator's, and still every size
// in it is checked before memory is taken, and every module against its hash.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "wharf/base/status.h"

namespace wharf::device::pack {

struct ModuleRecord;  // format.h

// No module may be larger than this.
inline constexpr uint64_t kMostModuleBytes = uint64_t{256} << 20;
inline constexpr uint32_t kMostSourceBytes = 4096;  // of its name
inline constexpr uint32_t kMostModules = 1 << 16;
inline constexpr uint32_t kMostEntries = 1 << 22;  // kernels, counted once for each module that defines them

// What there is to say of a module, for people.
struct ModuleNote {
  std::string source;                // the file that it is made of
  std::vector<std::string> kernels;  // by their names in the PTX
  uint64_t text_bytes = 0, packed_bytes = 0;
};

// Reads from the file when asked; holds little of it. Thread-safe. Opens nothing once it is made.
class Pack {
 public:
  // kNotFound and others by errno; kInvalidArgument: not a pack; kDataLoss: one that is damaged or cut short. Messages
  // begin with the path.
  static absl::StatusOr<std::unique_ptr<Pack>> Open(const std::string& path);
  // The same of an open file, which becomes the pack's. `name`: for messages.
  static absl::StatusOr<std::unique_ptr<Pack>> FromDescriptor(int descriptor, std::string name);
  ~Pack();
  Pack(const Pack&) = delete;
  Pack& operator=(const Pack&) = delete;

  const std::string& name() const { return name_; }
  uint32_t modules() const { return module_count_; }
  uint32_t entries() const { return entry_count_; }
  // The numbers of the modules that define a kernel of this canonical name (name.h), ascending.
  absl::StatusOr<std::vector<uint32_t>> Find(std::string_view kernel) const;
  // A module's PTX. kDataLoss if it is not what was packed. REQUIRES: module < modules().
  absl::StatusOr<std::string> Text(uint32_t module) const;
  // The file that a module is made of. REQUIRES: module < modules().
  absl::StatusOr<std::string> Source(uint32_t module) const;
  // Of every module, in order.
  absl::StatusOr<std::vector<ModuleNote>> Notes() const;

 private:
  struct Place {
    uint64_t offset = 0, packed_bytes = 0, bytes = 0;
  };
  Pack(int descriptor, std::string name) : descriptor_(descriptor), name_(std::move(name)) {}
  absl::Status ReadHeader();
  absl::Status CheckTables() const;
  absl::StatusOr<ModuleRecord> Record(uint32_t module) const;
  absl::Status ReadAt(uint64_t offset, void* to, uint64_t bytes) const;
  bool IsInside(const Place& place) const;
  absl::StatusOr<std::string> Decompress(const Place& place, uint64_t most) const;
  absl::Status Damaged(std::string_view what) const;

  const int descriptor_;
  const std::string name_;
  uint64_t size_ = 0;
  uint32_t module_count_ = 0, entry_count_ = 0;
  uint64_t modules_at_ = 0, entries_at_ = 0;
  Place notes_;
  std::array<uint8_t, 32> notes_hash_{};
};

// Makes a pack.
class PackWriter {
 public:
  // A module and what it was made of. One whose text is there already is not stored again. kInvalidArgument: not PTX,
  // or without kernels; kResourceExhausted: more than a pack may hold.
  absl::Status Add(std::string text, std::string source);
  size_t modules() const { return modules_.size(); }
  size_t kernels() const;
  // Replaces the file at `path` once all is written.
  absl::Status Write(const std::string& path) const;

 private:
  struct Module {
    std::string source;
    std::string packed;
    uint64_t bytes = 0;
    std::array<uint8_t, 32> hash{};
    std::vector<std::string> kernels;
  };
  std::vector<Module> modules_;
};

}  // namespace wharf::device::pack
