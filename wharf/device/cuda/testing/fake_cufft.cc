// A cuFFT on host memory, for tests of fft.cc with the fake driver: the functions that it calls, with the vendor's own
// declarations, on the software device's transforms. What is asked for is done before a call returns.
#include <cufft.h>
#include <dlfcn.h>

#include <map>

#include "wharf/device/primitive.h"
#include "wharf/device/soft/primitives/primitives.h"

namespace device = wharf::device;

namespace {

using Long = long long;  // NOLINT: the vendor's

struct Plan {
  device::Fourier fourier;
  cufftType type = CUFFT_C2C;
};

std::map<cufftHandle, Plan>& Plans() {
  static auto* const plans = new std::map<cufftHandle, Plan>();
  return *plans;
}

device::FourierSide SideOf(int rank, const Long* embed, Long stride, Long distance) {
  device::FourierSide side;
  if (rank > 1) side.columns = embed[rank - 1];
  if (rank > 2) side.rows = embed[rank - 2];
  side.stride = stride;
  side.distance = distance;
  return side;
}

// Behind what was queued before.
cufftResult Run(cufftHandle handle, cufftType type, void* in, void* out, bool inverse) {
  static void* const driver = dlopen(WHARF_FAKE_DRIVER, RTLD_NOW);
  static const auto synchronize = reinterpret_cast<int (*)()>(dlsym(driver, "cuCtxSynchronize"));
  if (synchronize == nullptr || synchronize() != 0) return CUFFT_EXEC_FAILED;
  const auto found = Plans().find(handle);
  if (found == Plans().end() || found->second.type != type) return CUFFT_INVALID_PLAN;
  device::Fourier fourier = found->second.fourier;
  fourier.in.address = reinterpret_cast<uint64_t>(in);
  fourier.out.address = reinterpret_cast<uint64_t>(out);
  fourier.inverse = inverse;
  const device::Primitive primitive = fourier;
  if (!device::CheckPrimitive(primitive, [](uint64_t, uint64_t) { return true; }).ok()) return CUFFT_INVALID_VALUE;
  device::soft::RunPrimitive(primitive);
  return CUFFT_SUCCESS;
}

}  // namespace

extern "C" {

cufftResult cufftCreate(cufftHandle* handle) {
  static cufftHandle last = 0;
  Plans()[*handle = ++last];
  return CUFFT_SUCCESS;
}
cufftResult cufftDestroy(cufftHandle handle) { return Plans().erase(handle) == 1 ? CUFFT_SUCCESS : CUFFT_INVALID_PLAN; }
cufftResult cufftSetStream(cufftHandle handle, cudaStream_t) {
  return Plans().contains(handle) ? CUFFT_SUCCESS : CUFFT_INVALID_PLAN;
}

// What cuFFT cannot, as far as these tests are concerned, is 13.
cufftResult cufftMakePlanMany64(cufftHandle handle, int rank, Long* n, Long* inembed, Long istride, Long idist,
                                Long* onembed, Long ostride, Long odist, cufftType type, Long batch, size_t* work) {
  if (rank < 1 || rank > 3 || inembed == nullptr || onembed == nullptr) return CUFFT_INVALID_VALUE;
  Plan& plan = Plans().at(handle);
  plan.type = type;
  device::Fourier& f = plan.fourier;
  for (int i = 0; i < rank; ++i) {
    if (n[i] == 13) return CUFFT_INVALID_SIZE;
    f.sizes[device::kFourierDims - rank + i] = n[i];
  }
  f.kind = type == CUFFT_R2C || type == CUFFT_D2Z   ? device::FourierKind::kRealToComplex
           : type == CUFFT_C2R || type == CUFFT_Z2D ? device::FourierKind::kComplexToReal
                                                    : device::FourierKind::kComplex;
  const bool wide = type == CUFFT_Z2Z || type == CUFFT_D2Z || type == CUFFT_Z2D;
  f.type = wide ? device::ElementType::kF64 : device::ElementType::kF32;
  f.batch = batch;
  f.in = SideOf(rank, inembed, istride, idist);
  f.out = SideOf(rank, onembed, ostride, odist);
  *work = 0;
  return CUFFT_SUCCESS;
}

cufftResult cufftExecC2C(cufftHandle plan, cufftComplex* in, cufftComplex* out, int direction) {
  return Run(plan, CUFFT_C2C, in, out, direction == CUFFT_INVERSE);
}
cufftResult cufftExecZ2Z(cufftHandle plan, cufftDoubleComplex* in, cufftDoubleComplex* out, int direction) {
  return Run(plan, CUFFT_Z2Z, in, out, direction == CUFFT_INVERSE);
}
cufftResult cufftExecR2C(cufftHandle plan, cufftReal* in, cufftComplex* out) {
  return Run(plan, CUFFT_R2C, in, out, false);
}
cufftResult cufftExecD2Z(cufftHandle plan, cufftDoubleReal* in, cufftDoubleComplex* out) {
  return Run(plan, CUFFT_D2Z, in, out, false);
}
cufftResult cufftExecC2R(cufftHandle plan, cufftComplex* in, cufftReal* out) {
  return Run(plan, CUFFT_C2R, in, out, false);
}
cufftResult cufftExecZ2D(cufftHandle plan, cufftDoubleComplex* in, cufftDoubleReal* out) {
  return Run(plan, CUFFT_Z2D, in, out, false);
}

// How many there are, for tests.
int fakeCufftPlans(void) { return static_cast<int>(Plans().size()); }

}  // extern "C"
