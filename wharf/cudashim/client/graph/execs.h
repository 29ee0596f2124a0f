// Instantiated graphs as both shims see them.
//
// A launch puts the steps of the graph on its stream, one behind the other: an order in which a GPU may carry them out
// too. What a copy reads from the program's memory is read at the launch, or, if work of the same graph writes it, when
// that is done, which the launch then waits for. At a conditional node it waits, too, and reads the condition.
#pragma once

#include "wharf/cudashim/client/graph/graphs.h"
#include "wharf/cudashim/graph/exec.h"

namespace wharf::client {

using ExecHandle = cudagraph::Exec*;

// kInvalidValue for a circle, and for flags that are none.
WHARF_CLIENT_API CudaError Instantiate(GraphHandle graph, uint64_t flags, ExecHandle* exec);
WHARF_CLIENT_API CudaError DestroyExec(ExecHandle exec);
WHARF_CLIENT_API CudaError FlagsOfExec(ExecHandle exec, uint64_t* flags);
// In a captured stream the launch becomes a node.
WHARF_CLIENT_API CudaError LaunchGraph(ExecHandle exec, StreamHandle stream);
WHARF_CLIENT_API CudaError UploadGraph(ExecHandle exec, StreamHandle stream);

// `node`: of the graph that was instantiated.
WHARF_CLIENT_API CudaError SetExecNode(ExecHandle exec, NodeHandle node, cudagraph::Params params);
WHARF_CLIENT_API CudaError SetNodeEnabled(ExecHandle exec, NodeHandle node, bool enabled);
WHARF_CLIENT_API CudaError GetNodeEnabled(ExecHandle exec, NodeHandle node, unsigned* enabled);
// kUpdateFailure, and `outcome` says where, if the graph has another shape or a node may not change so.
WHARF_CLIENT_API CudaError UpdateExec(ExecHandle exec, GraphHandle graph, cudagraph::UpdateOutcome* outcome);

}  // namespace wharf::client
