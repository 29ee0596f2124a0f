// Finding the PTX that stands for a program's machine code.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "wharf/base/status.h"
#include "wharf/device/fatbin/machine_code.h"
#include "wharf/device/pack/pack.h"
#include "wharf/device/ptx/ast.h"

namespace wharf::device::pack {

struct Match {
  std::shared_ptr<const ptx::Module> ptx;
  std::string origin;  // "PACK (SOURCE)", for people
  // From canonical names (name.h) to those in `ptx`.
  std::map<std::string, std::string, std::less<>> kernels, variables;
};

// The packs that a server was given. Thread-safe.
class PackSet {
 public:
  // In this order. Fails as Pack::Open.
  static absl::StatusOr<std::shared_ptr<const PackSet>> Open(std::span<const std::string> paths);
  explicit PackSet(std::vector<std::unique_ptr<Pack>> packs) : packs_(std::move(packs)) {}

  size_t size() const { return packs_.size(); }

  // The module of one source file that defines every kernel of `code`, with parameters that lie as they do there, and
  // no variable of another size; of several, one that defines nothing else. So a module of another program, or of
  // another version of the source, is not taken. kNotFound: no pack has any of the kernels; kFailedPrecondition: there
  // are some, and none may be taken; both with what to tell the user behind a kernel's name. Else errors of reading.
  absl::StatusOr<Match> Find(const fatbin::MachineCode& code) const;

 private:
  struct Place {
    size_t pack = 0;
    uint32_t module = 0;
    friend auto operator<=>(const Place&, const Place&) = default;
  };
  struct Found {
    Match match;
    size_t extra = 0;      // kernels that the code has not
    absl::Status problem;  // why it may not be taken
  };
  absl::StatusOr<std::map<Place, size_t>> Count(const fatbin::MachineCode& code) const;
  absl::StatusOr<Found> Load(const Place& place, const fatbin::MachineCode& code) const;
  absl::Status WhyNone(const std::map<Place, size_t>& counts, size_t kernels) const;

  std::vector<std::unique_ptr<Pack>> packs_;
};

// What to tell of a kernel without PTX when there is no pack, behind its name.
std::string WithoutPtx(uint32_t sm);

}  // namespace wharf::device::pack
