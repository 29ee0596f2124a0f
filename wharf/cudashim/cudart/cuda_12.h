// The runtime's functions as programs of CUDA 12 see them. In libcudart.so.12 a function of CUDA 13 has the name that
// it has in CUDA 12 (cudaMemAdvise_v2), or none that is exported (…_of_13); generated/names_12.h, which the compiler
// includes ahead of all, renames them. Here those names are given back to CUDA 12's own functions.
// C as well as C++: tools/gen_cuda_stubs.py reads it for what has variants for the per-thread default stream.
#pragma once

#include <cuda_runtime_api.h>

#undef cudaCreateSurfaceObject
#undef cudaCreateTextureObject
#undef cudaGetDeviceProperties
#undef cudaGetSurfaceObjectResourceDesc
#undef cudaGetTextureObjectResourceDesc
#undef cudaGetTextureObjectResourceViewDesc
#undef cudaGraphAddDependencies
#undef cudaGraphAddNode
#undef cudaGraphGetEdges
#undef cudaGraphNodeGetDependencies
#undef cudaGraphNodeGetDependentNodes
#undef cudaGraphRemoveDependencies
#undef cudaMemAdvise
#undef cudaMemPrefetchAsync
#undef cudaPointerGetAttributes
#undef cudaStreamGetCaptureInfo
#undef cudaStreamUpdateCaptureDependencies

#ifdef __cplusplus
extern "C" {
#endif

cudaError_t cudaMemPrefetchAsync(const void* pointer, size_t size, int device, cudaStream_t stream);
cudaError_t cudaStreamGetCaptureInfo(cudaStream_t stream, enum cudaStreamCaptureStatus* status, unsigned long long* id);
cudaError_t cudaStreamGetCaptureInfo_v2(cudaStream_t stream, enum cudaStreamCaptureStatus* status,
                                        unsigned long long* id, cudaGraph_t* graph,
                                        const cudaGraphNode_t** dependencies, size_t* count);
cudaError_t cudaStreamUpdateCaptureDependencies(cudaStream_t stream, cudaGraphNode_t* dependencies, size_t count,
                                                unsigned int flags);

#ifdef __cplusplus
}
#endif
