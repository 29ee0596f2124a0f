// Random numbers over and over, as programs that add noise to their inputs make them: `noise INFERENCES`. Each
// inference uploads a picture and gets numbers of three distributions; the uniform ones are compared with those of a
// generator of the host. Exit codes: 0 all right, 3 an error (named on stderr), 4 a wrong result.
#include <curand.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "check.h"

#define RAND(call) Check((call) == CURAND_STATUS_SUCCESS, #call)

constexpr int kNumbers = 3000;

int main(int argc, char** argv) {
  const int inferences = std::atoi(argc > 1 ? argv[1] : "10");
  curandGenerator_t generator, here;
  RAND(curandCreateGenerator(&generator, CURAND_RNG_PSEUDO_DEFAULT));
  RAND(curandSetPseudoRandomGeneratorSeed(generator, 42));
  RAND(curandCreateGeneratorHost(&here, CURAND_RNG_PSEUDO_DEFAULT));
  RAND(curandSetPseudoRandomGeneratorSeed(here, 42));
  float* numbers;
  CHECK(cudaMalloc(&numbers, 4 * kNumbers * sizeof(float)));
  std::vector<float> picture(kNumbers), got(3 * kNumbers), want(3 * kNumbers);
  for (int i = 0; i < inferences; ++i) {
    picture[i % kNumbers] += 1;
    CHECK(cudaMemcpy(numbers + 3 * kNumbers, picture.data(), kNumbers * sizeof(float), cudaMemcpyHostToDevice));
    RAND(curandGenerateUniform(generator, numbers, kNumbers));
    RAND(curandGenerateNormal(generator, numbers + kNumbers, kNumbers, 0, 1));
    RAND(curandGenerateLogNormal(generator, numbers + 2 * kNumbers, kNumbers, 0, 1));
    CHECK(cudaMemcpy(got.data(), numbers, 3 * kNumbers * sizeof(float), cudaMemcpyDeviceToHost));
    RAND(curandGenerateUniform(here, want.data(), kNumbers));
    RAND(curandGenerateNormal(here, want.data() + kNumbers, kNumbers, 0, 1));
    RAND(curandGenerateLogNormal(here, want.data() + 2 * kNumbers, kNumbers, 0, 1));
    for (int j = 0; j < 3 * kNumbers; ++j) {
      const float bound = j < kNumbers ? 0 : 1e-5f * std::fmax(1, std::fabs(want[j]));
      if (std::fabs(got[j] - want[j]) <= bound) continue;
      std::fprintf(stderr, "inference %d, number %d: %g instead of %g\n", i, j, got[j], want[j]);
      return 4;
    }
  }
  RAND(curandDestroyGenerator(generator));
  RAND(curandDestroyGenerator(here));
  return 0;
}
