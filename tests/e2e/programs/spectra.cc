// Fourier transforms over and over, as programs that filter signals make them: `spectra INFERENCES`, or `spectra half`
// to ask for what is refused. Each inference has a signal of its own: transformed, transformed back, its spectrogram in
// windows that overlap. It is compared with what the first gave for it. Exit codes: 0 all right, 3 an error (named on
// stderr), 4 a wrong result.
#include <cufftXt.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "check.h"

#define FFT(call) Check((call) == CUFFT_SUCCESS, #call)

constexpr int kSamples = 3000, kWindow = 256, kHop = 64, kWindows = (kSamples - kWindow) / kHop + 1, kKinds = 3;
constexpr int kBins = kSamples / 2 + 1, kWindowBins = kWindow / 2 + 1;

static int AskForHalf() {
  cufftHandle plan;
  long long n = 64;
  size_t work;
  FFT(cufftCreate(&plan));
  const cufftResult result =
      cufftXtMakePlanMany(plan, 1, &n, nullptr, 1, 1, CUDA_C_16F, nullptr, 1, 1, CUDA_C_16F, 1, &work, CUDA_C_16F);
  return result == CUFFT_NOT_SUPPORTED ? 3 : 4;
}

int main(int argc, char** argv) {
  if (argc > 1 && std::strcmp(argv[1], "half") == 0) return AskForHalf();
  const int inferences = std::atoi(argc > 1 ? argv[1] : "10");
  cufftHandle forward, back, windows;
  FFT(cufftPlan1d(&forward, kSamples, CUFFT_R2C, 1));
  FFT(cufftPlan1d(&back, kSamples, CUFFT_C2R, 1));
  int size = kWindow, in = kWindow, out = kWindowBins;
  FFT(cufftPlanMany(&windows, 1, &size, &in, 1, kHop, &out, 1, kWindowBins, CUFFT_R2C, kWindows));
  float* signal;
  cufftComplex *spectrum, *spectrogram;
  CHECK(cudaMalloc(&signal, kSamples * sizeof(float)));
  CHECK(cudaMalloc(&spectrum, kBins * sizeof(cufftComplex)));
  CHECK(cudaMalloc(&spectrogram, kWindows * kWindowBins * sizeof(cufftComplex)));
  std::vector<std::vector<float>> known(kKinds);
  for (int i = 0; i < inferences; ++i) {
    std::vector<float> sound(kSamples), result(2 * kWindows * kWindowBins);
    const float pitch = static_cast<float>(i % kKinds + 1) * 0.1f;
    for (int j = 0; j < kSamples; ++j) sound[j] = std::sin(static_cast<float>(j) * pitch);
    CHECK(cudaMemcpy(signal, sound.data(), kSamples * sizeof(float), cudaMemcpyHostToDevice));
    FFT(cufftExecR2C(forward, signal, spectrum));
    FFT(cufftExecC2R(back, spectrum, signal));
    FFT(cufftExecR2C(windows, signal, spectrogram));
    CHECK(cudaMemcpy(result.data(), spectrogram, result.size() * sizeof(float), cudaMemcpyDeviceToHost));
    if (i < kKinds) {
      // The loudest of the first window's bins.
      int loudest = 0;
      const auto loudness = [&](int bin) { return std::hypot(result[2 * bin], result[2 * bin + 1]); };
      for (int bin = 1; bin < kWindowBins; ++bin) {
        if (loudness(bin) > loudness(loudest)) loudest = bin;
      }
      const auto want = static_cast<int>(std::lround(pitch * kWindow / (2 * std::acos(-1.0f))));
      if (std::abs(loudest - want) > 1) {
        std::fprintf(stderr, "inference %d: its tone is in bin %d, not %d\n", i, loudest, want);
        return 4;
      }
      known[i] = result;
    } else if (result != known[i % kKinds]) {
      std::fprintf(stderr, "inference %d differs from the first with its signal\n", i);
      return 4;
    }
  }
  std::puts("done");
}
