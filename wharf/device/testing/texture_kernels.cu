// Kernels of the conformance tests of textures and surfaces. After a change run make_kernels.sh.

// A row of points: out[i] is the texture at (x0 + i * dx, y0 + i * dy).
extern "C" __global__ void fetch_2d(float4* out, cudaTextureObject_t texture, float x0, float y0, float dx, float dy,
                                    unsigned n) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = tex2D<float4>(texture, x0 + i * dx, y0 + i * dy);
}

extern "C" __global__ void fetch_linear(float* out, cudaTextureObject_t texture, int first, unsigned n) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = tex1Dfetch<float>(texture, first + static_cast<int>(i));
}

// The same with handles that lie in memory.
extern "C" __global__ void fetch_each(float* out, const cudaTextureObject_t* textures, unsigned n) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = tex1Dfetch<float>(textures[i], 0);
}

// Each row reversed, from one surface to the other.
extern "C" __global__ void mirror_rows(cudaSurfaceObject_t to, cudaSurfaceObject_t from, int width, int height) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
  if (x < width && y < height) {
    surf2Dwrite(surf2Dread<unsigned>(from, x * 4, y), to, (width - 1 - x) * 4, y);
  }
}

// The middle of each slice.
extern "C" __global__ void fetch_3d(float* out, cudaTextureObject_t texture, float x, float y, unsigned n) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = tex3D<float>(texture, x, y, i + 0.5f);
}
