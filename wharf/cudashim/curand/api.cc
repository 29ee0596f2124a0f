// The calls: generators made, set and used; versions.
#include "wharf/cudashim/client/memory.h"
#include "wharf/cudashim/curand/generator.h"
#include "wharf/cudashim/curand/sobol.h"

namespace wharf::cudashim {
namespace {

using rng::Form;

curandStatus_t Refuse(const char* what, curandStatus_t status) {
  client::ReportUnsupported(what);
  return status;
}

curandStatus_t Create(curandGenerator_t* place, curandRngType_t type, bool on_host) {
  if (place == nullptr) return CURAND_STATUS_OUT_OF_RANGE;
  auto generator = std::make_unique<curandGenerator_st>();
  generator->on_host = on_host;
  generator->type = type;
  switch (type) {
    case CURAND_RNG_PSEUDO_DEFAULT:
      generator->type = CURAND_RNG_PSEUDO_XORWOW;
      [[fallthrough]];
    case CURAND_RNG_PSEUDO_XORWOW:
      generator->engine = EngineKind::kXorwow;
      break;
    case CURAND_RNG_PSEUDO_MRG32K3A:
      generator->engine = EngineKind::kMrg32k3a;
      break;
    case CURAND_RNG_PSEUDO_PHILOX4_32_10:
      generator->engine = EngineKind::kPhilox;
      break;
    case CURAND_RNG_PSEUDO_MTGP32:
      generator->engine = EngineKind::kMtgp32;
      break;
    case CURAND_RNG_PSEUDO_MT19937:
      return Refuse("cuRAND's generator MT19937", CURAND_STATUS_TYPE_ERROR);
    case CURAND_RNG_QUASI_DEFAULT:
      generator->type = CURAND_RNG_QUASI_SOBOL32;
      [[fallthrough]];
    case CURAND_RNG_QUASI_SOBOL32:
      generator->engine = EngineKind::kSobol32;
      break;
    case CURAND_RNG_QUASI_SOBOL64:
      generator->engine = EngineKind::kSobol64;
      break;
    case CURAND_RNG_QUASI_SCRAMBLED_SOBOL32:
    case CURAND_RNG_QUASI_SCRAMBLED_SOBOL64:
      return Refuse("cuRAND's scrambled quasirandom generators", CURAND_STATUS_TYPE_ERROR);
    default:
      return CURAND_STATUS_TYPE_ERROR;
  }
  return StoreTo(place, generator.release());
}

curandStatus_t SetOrdering(curandGenerator_t generator, curandOrdering_t ordering) {
  if (IsQuasi(*generator)) {
    return ordering == CURAND_ORDERING_QUASI_DEFAULT ? CURAND_STATUS_SUCCESS : CURAND_STATUS_OUT_OF_RANGE;
  }
  const bool is_known = ordering == CURAND_ORDERING_PSEUDO_BEST || ordering == CURAND_ORDERING_PSEUDO_DEFAULT ||
                        ordering == CURAND_ORDERING_PSEUDO_LEGACY;
  if (!is_known) {
    if (ordering == CURAND_ORDERING_PSEUDO_SEEDED && generator->type == CURAND_RNG_PSEUDO_XORWOW) {
      client::ReportUnsupported("CURAND_ORDERING_PSEUDO_SEEDED");
    }
    return CURAND_STATUS_OUT_OF_RANGE;
  }
  generator->ordering = ordering;
  generator->begun = false;
  if (generator->type == CURAND_RNG_PSEUDO_MTGP32) generator->position = 0;
  return CURAND_STATUS_SUCCESS;
}

template <typename T>
curandStatus_t MakeNumbers(curandGenerator_t generator, Form form, T* out, size_t count, const Shape& shape) {
  // Bits come in words of one size.
  const bool is_wide = generator->engine == EngineKind::kSobol64;
  if (form == Form::kBits && is_wide != (sizeof(T) == sizeof(uint64_t))) return CURAND_STATUS_TYPE_ERROR;
  if (count % static_cast<size_t>(OutputsOf(*generator, form)) != 0) return CURAND_STATUS_LENGTH_NOT_MULTIPLE;
  if (count == 0) return CURAND_STATUS_SUCCESS;
  return StatusOf(Produce(generator, form, out, count, shape));
}
template <typename T>
curandStatus_t Make(Call call, curandGenerator_t generator, Form form, T* out, size_t count, const Shape& shape = {}) {
  return WithGenerator(call, generator, true, [&] { return MakeNumbers(generator, form, out, count, shape); });
}

}  // namespace
}  // namespace wharf::cudashim

using namespace wharf;            // NOLINT
using namespace wharf::cudashim;  // NOLINT

extern "C" {

curandStatus_t curandCreateGenerator(curandGenerator_t* generator, curandRngType_t type) {
  return Answer(Call::k_curandCreateGenerator, true, [&] { return Create(generator, type, false); });
}
curandStatus_t curandCreateGeneratorHost(curandGenerator_t* generator, curandRngType_t type) {
  return Answer(Call::k_curandCreateGeneratorHost, false, [&] { return Create(generator, type, true); });
}
curandStatus_t curandDestroyGenerator(curandGenerator_t generator) {
  return WHARF_RAND(curandDestroyGenerator, generator, false, [&] {
    FreeDeviceMemory(generator);
    generator->magic = 0;
    delete generator;
    return CURAND_STATUS_SUCCESS;
  });
}

curandStatus_t curandSetStream(curandGenerator_t generator, cudaStream_t stream) {
  return WHARF_RAND(curandSetStream, generator, false, [&] { return StoreTo(&generator->stream, stream); });
}
// The sequence goes on where it is, in that of the new seed.
curandStatus_t curandSetPseudoRandomGeneratorSeed(curandGenerator_t generator, unsigned long long seed) {  // NOLINT
  return WHARF_RAND(curandSetPseudoRandomGeneratorSeed, generator, false, [&] {
    if (IsQuasi(*generator)) return CURAND_STATUS_TYPE_ERROR;
    generator->begun = false;
    if (generator->type == CURAND_RNG_PSEUDO_MTGP32) generator->position = 0;
    return StoreTo(&generator->seed, uint64_t{seed});
  });
}
curandStatus_t curandSetGeneratorOffset(curandGenerator_t generator, unsigned long long offset) {  // NOLINT
  return WHARF_RAND(curandSetGeneratorOffset, generator, false, [&] {
    if (generator->type == CURAND_RNG_PSEUDO_MTGP32) return CURAND_STATUS_TYPE_ERROR;
    generator->begun = false;
    return StoreTo(&generator->position, uint64_t{offset});
  });
}
curandStatus_t curandSetGeneratorOrdering(curandGenerator_t generator, curandOrdering_t ordering) {
  return WHARF_RAND(curandSetGeneratorOrdering, generator, false, [&] { return SetOrdering(generator, ordering); });
}
curandStatus_t curandSetQuasiRandomGeneratorDimensions(curandGenerator_t generator, unsigned dimensions) {
  return WHARF_RAND(curandSetQuasiRandomGeneratorDimensions, generator, false, [&] {
    if (!IsQuasi(*generator)) return CURAND_STATUS_TYPE_ERROR;
    if (dimensions == 0 || dimensions > rng::kMostDimensions) return CURAND_STATUS_OUT_OF_RANGE;
    generator->begun = false;
    return StoreTo(&generator->dimensions, dimensions);
  });
}
curandStatus_t curandGenerateSeeds(curandGenerator_t generator) {
  return WHARF_RAND(curandGenerateSeeds, generator, true, [&] { return StatusOf(BeginStreams(generator)); });
}

curandStatus_t curandGenerate(curandGenerator_t generator, unsigned* out, size_t count) {
  return Make(Call::k_curandGenerate, generator, Form::kBits, out, count);
}
curandStatus_t curandGenerateLongLong(curandGenerator_t generator, unsigned long long* out, size_t count) {  // NOLINT
  return Make(Call::k_curandGenerateLongLong, generator, Form::kBits, out, count);
}
curandStatus_t curandGenerateUniform(curandGenerator_t generator, float* out, size_t count) {
  return Make(Call::k_curandGenerateUniform, generator, Form::kUniform, out, count);
}
curandStatus_t curandGenerateUniformDouble(curandGenerator_t generator, double* out, size_t count) {
  return Make(Call::k_curandGenerateUniformDouble, generator, Form::kUniformDouble, out, count);
}
curandStatus_t curandGenerateNormal(curandGenerator_t generator, float* out, size_t count, float mean,
                                    float deviation) {
  return Make(Call::k_curandGenerateNormal, generator, Form::kNormal, out, count, {mean, deviation});
}
curandStatus_t curandGenerateNormalDouble(curandGenerator_t generator, double* out, size_t count, double mean,
                                          double deviation) {
  return Make(Call::k_curandGenerateNormalDouble, generator, Form::kNormalDouble, out, count, {mean, deviation});
}
curandStatus_t curandGenerateLogNormal(curandGenerator_t generator, float* out, size_t count, float mean,
                                       float deviation) {
  return Make(Call::k_curandGenerateLogNormal, generator, Form::kLogNormal, out, count, {mean, deviation});
}
curandStatus_t curandGenerateLogNormalDouble(curandGenerator_t generator, double* out, size_t count, double mean,
                                             double deviation) {
  return Make(Call::k_curandGenerateLogNormalDouble, generator, Form::kLogNormalDouble, out, count, {mean, deviation});
}

curandStatus_t curandGeneratePoisson(curandGenerator_t generator, unsigned* out, size_t count, double mean) {
  constexpr double kLargest = 400000;
  return WHARF_RAND(curandGeneratePoisson, generator, true, [&] {
    if (!(mean > 0 && mean <= kLargest)) return CURAND_STATUS_OUT_OF_RANGE;
    return MakeNumbers(generator, Form::kPoisson, out, count, {mean});
  });
}

curandStatus_t curandGetVersion(int* version) {
  return Answer(Call::k_curandGetVersion, false, [&] { return StoreTo(version, CURAND_VERSION); });
}
curandStatus_t curandGetProperty(libraryPropertyType type, int* value) {
  return Answer(Call::k_curandGetProperty, false, [&] {
    constexpr int kVersion[] = {CURAND_VER_MAJOR, CURAND_VER_MINOR, CURAND_VER_PATCH};
    return type < MAJOR_VERSION || type > PATCH_LEVEL ? CURAND_STATUS_OUT_OF_RANGE : StoreTo(value, kVersion[type]);
  });
}

}  // extern "C"
