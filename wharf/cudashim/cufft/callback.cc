// Callbacks: the vendor has them in its static library only, and so refuses them, too.
#include "wharf/cudashim/cufft/fft.h"

using namespace wharf;            // NOLINT
using namespace wharf::cudashim;  // NOLINT

extern "C" {

cufftResult cufftXtSetCallback(cufftHandle, void**, cufftXtCallbackType, void**) {
  return WHARF_FFT_LOCAL(cufftXtSetCallback, [] {
    client::ReportUnsupported("cufftXtSetCallback");
    return CUFFT_NOT_IMPLEMENTED;
  });
}
cufftResult cufftXtClearCallback(cufftHandle, cufftXtCallbackType) {
  return WHARF_FFT_LOCAL(cufftXtClearCallback, [] { return CUFFT_NOT_IMPLEMENTED; });
}

}  // extern "C"
