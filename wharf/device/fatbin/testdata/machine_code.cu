// What machine code says of itself: parameters of every size, variables, what is local to the file.
struct Sized {
  char letter;
  double number;
  int list[3];
};
struct Empty {};

__device__ int counter = 5;
__device__ float table[1000];
__constant__ float weights[5] = {1, 2, 3, 4, 5};
namespace {
__device__ int hidden_counter = 7;
__global__ void Hidden(float* to, Empty, short last) {
  to[threadIdx.x] += static_cast<float>(last + atomicAdd(&hidden_counter, 1));
}
}  // namespace

template <typename T, int N>
__global__ void Template(T* to, Sized sized) {
  to[threadIdx.x] += static_cast<T>(N + sized.number + weights[threadIdx.x % 5] + table[threadIdx.x]);
}
extern "C" __global__ void without_parameters() { ++counter; }
static __global__ void Static(int* to, char letter) { *to = letter; }

void Launch(float* floats, int* integers) {
  Hidden<<<1, 32>>>(floats, Empty{}, short{3});
  Template<float, 3><<<1, 32>>>(floats, Sized{});
  Template<int, 4><<<1, 32>>>(integers, Sized{});
  without_parameters<<<1, 1>>>();
  Static<<<1, 1>>>(integers, 'a');
}
