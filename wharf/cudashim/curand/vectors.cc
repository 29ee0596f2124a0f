// Direction vectors, for programs that make quasirandom numbers in kernels of their own.
#include "wharf/cudashim/curand/generator.h"
#include "wharf/cudashim/curand/sobol.h"

namespace wharf::cudashim {
namespace {

// `Vectors`: those of one dimension.
template <typename Word, typename Vectors>
curandStatus_t Lend(Vectors** place, curandDirectionVectorSet_t set, curandDirectionVectorSet_t plain,
                    curandDirectionVectorSet_t scrambled) {
  if (set == scrambled) client::ReportUnsupported("cuRAND's scrambled direction vectors");
  if (set != plain) return CURAND_STATUS_OUT_OF_RANGE;
  static auto* const vectors = new std::vector<Word>(rng::SobolVectors<Word>(rng::kMostDimensions));
  return StoreTo(place, reinterpret_cast<Vectors*>(vectors->data()));
}

}  // namespace
}  // namespace wharf::cudashim

using namespace wharf;            // NOLINT
using namespace wharf::cudashim;  // NOLINT

extern "C" {

curandStatus_t curandGetDirectionVectors32(curandDirectionVectors32_t* vectors[], curandDirectionVectorSet_t set) {
  return Answer(Call::k_curandGetDirectionVectors32, false, [&] {
    return Lend<uint32_t>(vectors, set, CURAND_DIRECTION_VECTORS_32_JOEKUO6,
                          CURAND_SCRAMBLED_DIRECTION_VECTORS_32_JOEKUO6);
  });
}
curandStatus_t curandGetDirectionVectors64(curandDirectionVectors64_t* vectors[], curandDirectionVectorSet_t set) {
  return Answer(Call::k_curandGetDirectionVectors64, false, [&] {
    return Lend<uint64_t>(vectors, set, CURAND_DIRECTION_VECTORS_64_JOEKUO6,
                          CURAND_SCRAMBLED_DIRECTION_VECTORS_64_JOEKUO6);
  });
}

}  // extern "C"
