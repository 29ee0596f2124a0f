// A CUDA program for the inspector's tests: it is built in several ways and never run.
__global__ void Kernel(int* x) { *x = 1; }

int main() {
  Kernel<<<1, 1>>>(nullptr);
  return 0;
}
