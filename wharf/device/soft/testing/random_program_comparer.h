// A way to run random programs against the evaluator, and the smallest program on which the two differ.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "wharf/base/status.h"
#include "wharf/device/soft/testing/random_program.h"

namespace wharf::device::soft::random_program {

struct Mismatch {
  int thread = 0;
  int word = 0;
  uint64_t expected = 0, actual = 0;
};

// For one thread.
class Comparer {
 public:
  // What the kernel of this PTX (see PrintPtx) stores where it is given these words.
  using Execute =
      std::function<absl::StatusOr<std::vector<uint64_t>>(const std::string& text, std::vector<uint64_t> input)>;
  explicit Comparer(Execute execute) : execute_(std::move(execute)) {}

  // "" if what is executed stores what the evaluator does; else what the smallest failing program does, with its text.
  std::string Difference(const Program& program, uint64_t seed);

 private:
  absl::StatusOr<std::optional<Mismatch>> Compare(const Program& program, uint64_t seed);
  bool Fails(const Program& program, uint64_t seed);
  Program Shrink(Program program, uint64_t seed);

  const Execute execute_;
};

}  // namespace wharf::device::soft::random_program
