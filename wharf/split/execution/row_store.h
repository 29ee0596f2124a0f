// RowStore: the rows of each value that one side of a split inference has at the moment.
#pragma once

#include <vector>

#include "wharf/base/status.h"
#include "wharf/exec/engine.h"

namespace wharf::split {

// Of a value there may be several parts: bands computed one after the other, rows received around own ones. They are
// put together only when somebody reads across them, and then once. Not thread-safe.
class RowStore {
 public:
  explicit RowStore(size_t values) : parts_(values) {}

  size_t Size() const { return parts_.size(); }  // values
  bool Has(int value) const { return !parts_[value].empty(); }
  bool Covers(const exec::Rows& rows) const;
  void Add(exec::Part part) { parts_[part.rows.value].push_back(std::move(part)); }
  void Release(int value) { parts_[value].clear(); }
  // A part that has these rows and perhaps more. kInternal: some are not held. Fails as Program::Join does.
  absl::StatusOr<exec::Part> Get(const exec::Program& program, const exec::Rows& rows);

 private:
  // The part of `value` that goes on farthest from `row`; null: none has it.
  const exec::Part* From(int value, int row) const;

  std::vector<std::vector<exec::Part>> parts_;  // by value; may overlap
};

}  // namespace wharf::split
