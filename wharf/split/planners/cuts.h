// Cuts: a short way to write plans that are always valid. Only operators where the sides exchange rows carry a cut; all
// others compute on each side just what that side needs, so that what both need is computed twice rather than sent.
#pragma once

#include <cstdint>
#include <vector>

#include "wharf/split/plan.h"

namespace wharf::split {

// Of the rows anybody needs, the device computes those before `device_end`, the server those from `server_begin` on.
// kFollow: that side computes all it needs itself, and what the other side will not. Both kFollow: no exchange here.
// `server_first`: rows are counted from the last one, so that the server takes the first ones.
struct Cut {
  static constexpr int kFollow = -1;
  int device_end = kFollow, server_begin = kFollow;
  bool server_first = false;

  bool Exchanges() const { return device_end != kFollow || server_begin != kFollow; }
  friend bool operator==(const Cut&, const Cut&) = default;
};
using Cuts = std::vector<Cut>;  // by operator; those of the input and of the output are ignored

// Turns cuts into plans. Keeps its working memory; not thread-safe. `graph` must outlive it.
class CutDecoder {
 public:
  explicit CutDecoder(const RowGraph& graph) : graph_(graph) {}
  // Overwrites `plan` with the plan, which is valid for any cuts. A device_end before server_begin counts as the latter
  // too. O(operators + edges), no allocation after the first.
  void Decode(const Cuts& cuts, Plan& plan);
  // NeededRows() of the last plan.
  const std::array<std::vector<RowRange>, 2>& Needed() const { return needed_; }

 private:
  const RowGraph& graph_;
  std::array<std::vector<RowRange>, 2> needed_;
};

// Cuts that decode to a plan as near to `plan` as cuts can be: exact for layer partitions and for decoded plans.
Cuts CutsOf(const RowGraph& graph, const Plan& plan);

}  // namespace wharf::split
