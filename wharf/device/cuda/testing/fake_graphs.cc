// The fake driver's graphs: chains only, which is what the device builds and captures. A launch is one operation of its
// stream.
#include <atomic>
#include <cstring>
#include <map>
#include <memory>
#include <vector>

#include "wharf/device/cuda/testing/fake_driver.h"

namespace {

using namespace wharf::device::cuda;
using namespace wharf::device::cuda::fake;

constexpr Result kInvalidValue = 1;

struct GraphNode {
  enum class Kind { kKernel, kCopy, kFill, kChild } kind = Kind::kKernel;
  bool flat = true;  // one row: only such copies and fills can be changed
  size_t width = 0;  // of a fill; of a child, its nodes
  std::function<void()> run;
};
struct Graph {
  std::vector<std::unique_ptr<GraphNode>> nodes;
};
struct GraphExec {
  std::map<const GraphNode*, size_t> index;
  std::vector<GraphNode> nodes;
};

GraphNode KernelGraphNode(const KernelNodeParameters& p) {
  return {.kind = GraphNode::Kind::kKernel, .run = KernelAction(p.function, p.extra)};
}
GraphNode CopyGraphNode(const Copy3D& c) {
  GraphNode node{.kind = GraphNode::Kind::kCopy, .flat = c.height == 1 && c.depth == 1};
  if (c.width * c.height * c.depth != 0) node.run = CopyAction(c);
  return node;
}
GraphNode FillGraphNode(const MemsetNodeParameters& p) {
  GraphNode node{.kind = GraphNode::Kind::kFill, .flat = p.height == 1, .width = p.width * p.element_bytes};
  const size_t span = (p.height - 1) * p.pitch + node.width;
  if (p.width == 0 || p.height == 0 || p.to % p.element_bytes != 0 || !IsMapped(p.to, span)) return node;
  node.run = [p] {
    for (size_t y = 0; y < p.height; ++y) {
      for (size_t x = 0; x < p.width; ++x) {
        std::memcpy(reinterpret_cast<std::byte*>(p.to + y * p.pitch) + x * p.element_bytes, &p.value, p.element_bytes);
      }
    }
  };
  return node;
}

GraphNode ChildGraphNode(GraphHandle handle) {
  std::vector<std::function<void()>> runs;
  for (const auto& node : reinterpret_cast<const Graph*>(handle)->nodes) runs.push_back(node->run);
  return {.kind = GraphNode::Kind::kChild, .width = runs.size(), .run = [runs] {
            for (const auto& run : runs) run();
          }};
}

Result AddNode(GraphNodeHandle* handle, GraphHandle graph_handle, const GraphNodeHandle* after, size_t count,
               GraphNode node) {
  auto& nodes = reinterpret_cast<Graph*>(graph_handle)->nodes;
  const bool chained =
      nodes.empty() ? count == 0 : count == 1 && *after == reinterpret_cast<GraphNodeHandle>(nodes.back().get());
  if (node.run == nullptr || !chained) return kInvalidValue;
  nodes.push_back(std::make_unique<GraphNode>(std::move(node)));
  *handle = reinterpret_cast<GraphNodeHandle>(nodes.back().get());
  return 0;
}

Result SetNode(GraphExecHandle exec_handle, GraphNodeHandle handle, GraphNode node) {
  auto* exec = reinterpret_cast<GraphExec*>(exec_handle);
  const auto at = exec->index.find(reinterpret_cast<const GraphNode*>(handle));
  if (at == exec->index.end() || node.run == nullptr) return kInvalidValue;
  GraphNode& old = exec->nodes[at->second];
  if (old.kind != node.kind || !old.flat || !node.flat || old.width != node.width) return kInvalidValue;
  old = std::move(node);
  return 0;
}

std::atomic<int> graphs_instantiated{0}, graphs_launched{0};
std::atomic<GraphNodeType> captured_type{GraphNodeType::kKernel};

}  // namespace

// For tests: how many graphs were made ready and launched since the process began.
extern "C" __attribute__((visibility("default"))) void FakeDriverGraphs(int* instantiated, int* launched) {
  *instantiated = graphs_instantiated;
  *launched = graphs_launched;
}

// What nodes of captured graphs say they are.
extern "C" __attribute__((visibility("default"))) void FakeDriverCaptureAs(GraphNodeType type) { captured_type = type; }

FAKE cuGraphCreate(GraphHandle* graph, unsigned) {
  *graph = reinterpret_cast<GraphHandle>(new Graph);
  return 0;
}
FAKE cuGraphDestroy(GraphHandle graph) {
  delete reinterpret_cast<Graph*>(graph);
  return 0;
}
FAKE cuGraphAddKernelNode_v2(GraphNodeHandle* node, GraphHandle graph, const GraphNodeHandle* after, size_t count,
                             const KernelNodeParameters* p) {
  return AddNode(node, graph, after, count, KernelGraphNode(*p));
}
FAKE cuGraphAddMemcpyNode(GraphNodeHandle* node, GraphHandle graph, const GraphNodeHandle* after, size_t count,
                          const Copy3D* copy, ContextHandle context) {
  return context == nullptr ? kInvalidValue : AddNode(node, graph, after, count, CopyGraphNode(*copy));
}
FAKE cuGraphAddMemsetNode(GraphNodeHandle* node, GraphHandle graph, const GraphNodeHandle* after, size_t count,
                          const MemsetNodeParameters* p, ContextHandle context) {
  return context == nullptr ? kInvalidValue : AddNode(node, graph, after, count, FillGraphNode(*p));
}
FAKE cuStreamBeginCapture_v2(StreamHandle stream, StreamCaptureMode) {
  return BeginRecording(stream) ? kResultSuccess : kInvalidValue;
}
FAKE cuStreamEndCapture(StreamHandle stream, GraphHandle* handle) {
  std::vector<std::function<void()>> recorded;
  if (!EndRecording(stream, &recorded)) return kInvalidValue;
  auto* graph = new Graph;
  for (std::function<void()>& run : recorded) {
    graph->nodes.push_back(std::make_unique<GraphNode>(GraphNode{.run = std::move(run)}));
  }
  *handle = reinterpret_cast<GraphHandle>(graph);
  return 0;
}
FAKE cuGraphGetNodes(GraphHandle graph, GraphNodeHandle* handles, size_t* count) {
  const auto& nodes = reinterpret_cast<const Graph*>(graph)->nodes;
  *count = nodes.size();
  for (size_t i = 0; handles != nullptr && i < nodes.size(); ++i) {
    handles[i] = reinterpret_cast<GraphNodeHandle>(nodes[i].get());
  }
  return 0;
}
FAKE cuGraphNodeGetType(GraphNodeHandle, GraphNodeType* type) {
  *type = captured_type;
  return 0;
}
FAKE cuGraphMemcpyNodeGetParams(GraphNodeHandle, Copy3D*) { return kInvalidValue; }
FAKE cuGraphAddChildGraphNode(GraphNodeHandle* node, GraphHandle graph, const GraphNodeHandle* after, size_t count,
                              GraphHandle child) {
  return AddNode(node, graph, after, count, ChildGraphNode(child));
}
FAKE cuGraphExecChildGraphNodeSetParams(GraphExecHandle exec, GraphNodeHandle node, GraphHandle child) {
  return SetNode(exec, node, ChildGraphNode(child));
}
FAKE cuGraphInstantiateWithFlags(GraphExecHandle* handle, GraphHandle graph, unsigned long long) {
  auto* exec = new GraphExec;
  for (const auto& node : reinterpret_cast<Graph*>(graph)->nodes) {
    exec->index[node.get()] = exec->nodes.size();
    exec->nodes.push_back(*node);
  }
  *handle = reinterpret_cast<GraphExecHandle>(exec);
  ++graphs_instantiated;
  return 0;
}
FAKE cuGraphExecDestroy(GraphExecHandle exec) {
  delete reinterpret_cast<GraphExec*>(exec);
  return 0;
}
FAKE cuGraphExecKernelNodeSetParams_v2(GraphExecHandle exec, GraphNodeHandle node, const KernelNodeParameters* p) {
  return SetNode(exec, node, KernelGraphNode(*p));
}
FAKE cuGraphExecMemcpyNodeSetParams(GraphExecHandle exec, GraphNodeHandle node, const Copy3D* copy, ContextHandle) {
  return SetNode(exec, node, CopyGraphNode(*copy));
}
FAKE cuGraphExecMemsetNodeSetParams(GraphExecHandle exec, GraphNodeHandle node, const MemsetNodeParameters* p,
                                    ContextHandle) {
  return SetNode(exec, node, FillGraphNode(*p));
}
FAKE cuGraphLaunch(GraphExecHandle exec, StreamHandle stream) {
  ++graphs_launched;
  // A copy: what is queued is not changed any more.
  return Queue(stream, true, [nodes = reinterpret_cast<GraphExec*>(exec)->nodes] {
    for (const GraphNode& node : nodes) {
      if (Sticky() == kResultSuccess) node.run();
    }
  });
}
