// An instantiated graph: a copy that can be launched, as a list of steps that one stream carries out one by one.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "wharf/cudashim/graph/graph.h"
#include "wharf/cudashim/graph/update.h"

namespace wharf::cudagraph {

struct Step {
  const Node* node = nullptr;
  // It reads memory of the program's that earlier work of the same launch may be writing, host functions or copies:
  // what is read when it is sent would be too old, unless that work is done.
  bool settle = false;
  // Of a conditional node: where the steps of its bodies end. They follow this one.
  std::vector<size_t> ends = {};
};

class Exec : public Live<Exec> {
 public:
  static constexpr uint64_t kAutoFree = 1, kUpload = 2, kDeviceLaunch = 4, kNodePriority = 8;

  // kInvalidValue if the graph has a circle. A graph with memory nodes has one instance at a time.
  static CudaError Instantiate(Graph& graph, uint64_t flags, std::shared_ptr<Exec>* exec);

  // Everything below under this lock, which a launch holds until it is sent.
  std::mutex mutex;

  const Graph& graph() const { return *graph_; }
  uint64_t flags() const { return flags_; }
  // What `original`, a node of the graph it was made from, is here; nullptr if it is none.
  Node* Find(const Node* original) const;
  // Changes what one node does. kInvalidValue if it may not, kUpdateFailure if a child has another form.
  CudaError Set(const Node* original, Params params);
  // Disabled nodes do nothing. Kernels, copies and fills only.
  CudaError SetEnabled(const Node* original, bool enabled);
  UpdateOutcome Update(const Graph& wanted);

  // The nodes of the graph, its children and bodies in an order that they may be carried out in.
  const std::vector<Step>& steps();
  // A copy reads memory that the launch before may still be writing.
  bool settles_first() { return steps(), settles_first_; }

  // Of the last launch: the stream, in which session. 0: there was none.
  uint64_t session = 0;
  StreamId stream = 0;

 private:
  // Appends the steps of `graph`; whether host functions are among them, or before it.
  bool Flatten(const Graph& graph, bool after_host);
  void FindOverlaps();

  std::shared_ptr<Graph> graph_;
  std::shared_ptr<int> only_;  // held by the one instance
  uint64_t flags_ = 0;
  bool stale_ = true, settles_first_ = false;
  std::vector<Step> steps_;
};

}  // namespace wharf::cudagraph
