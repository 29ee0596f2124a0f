#include "wharf/cudashim/curand/generator.h"

#include <algorithm>
#include <span>

#include "wharf/cudashim/client/graph/capture.h"
#include "wharf/cudashim/curand/kernels.h"
#include "wharf/cudashim/curand/seeding.h"

namespace wharf::cudashim {
namespace {

using rng::Form;

// Where a generator's words are in its memory: behind the position.
constexpr uint64_t kWordsAt = 16;

// Calls `body` with the engine's type, as a value of it that is not looked at.
template <typename Body>
auto ByEngine(EngineKind engine, Body&& body) {
  switch (engine) {
    case EngineKind::kXorwow:
      return body(rng::Xorwow{});
    case EngineKind::kMrg32k3a:
      return body(rng::Mrg32k3a{});
    case EngineKind::kPhilox:
      return body(rng::Philox{});
    default:
      return body(rng::Mtgp32{});
  }
}

rng::Beginning BeginningOf(const curandGenerator_st& generator) {
  const uint32_t streams = FormOf(generator).streams;
  switch (generator.engine) {
    case EngineKind::kXorwow:
      return rng::BeginXorwow(generator.seed, generator.position, streams);
    case EngineKind::kMrg32k3a:
      return rng::BeginMrg32k3a(generator.seed, generator.position, streams);
    case EngineKind::kPhilox:
      return rng::BeginPhilox(generator.seed);
    default:
      return rng::BeginMtgp32(generator.seed, streams);
  }
}

rng::Seeding SeedingOf(const curandGenerator_st& generator, const rng::Beginning& beginning) {
  rng::Seeding seeding{};
  seeding.streams = FormOf(generator).streams;
  seeding.start = generator.position;
  std::copy(beginning.state.begin(), beginning.state.end(), seeding.state);
  return seeding;
}

std::vector<uint32_t> BeginHere(const curandGenerator_st& generator, const rng::Beginning& beginning) {
  std::vector<uint32_t> words(FormOf(generator).words);
  uint64_t position = 0;
  rng::Seeding seeding = SeedingOf(generator, beginning);
  seeding.position = &position;
  seeding.words = words.data();
  seeding.table = beginning.table.data();
  ByEngine(generator.engine, [&](auto engine) {
    for (uint32_t stream = 0; stream < seeding.streams; ++stream) rng::Begin<decltype(engine)>(seeding, stream);
  });
  return words;
}

bool IsCaptured(const curandGenerator_st& generator) {
  cudagraph::CaptureInfo info;
  return client::GetCaptureInfo(StreamOf(generator), &info) == CudaError::kSuccess &&
         info.status == cudagraph::CaptureStatus::kActive;
}

template <typename T>
std::span<const std::byte> BytesOf(const std::vector<T>& values) {
  return std::as_bytes(std::span(values));
}

CudaError BeginOnDevice(curandGenerator_t generator) {
  const rng::Beginning beginning = BeginningOf(*generator);
  const uint64_t word_bytes = FormOf(*generator).words * sizeof(uint32_t);
  const uint64_t bytes = kWordsAt + word_bytes + beginning.table.size() * sizeof(uint32_t);
  CudaError error = CudaError::kSuccess;
  if (generator->memory_bytes < bytes) {
    if (generator->memory != 0) error = client::FreeOwn(generator->memory);
    generator->memory = generator->memory_bytes = 0;
    if (error == CudaError::kSuccess) error = client::AllocateOwn(bytes, &generator->memory);
    if (error != CudaError::kSuccess) return error;
    generator->memory_bytes = bytes;
  }
  const uint64_t words = generator->memory + kWordsAt, table = words + word_bytes;
  if (IsCaptured(*generator)) {
    // A kernel would become a part of the graph, and every launch of it would begin anew.
    const std::vector<uint64_t> position = {generator->position};
    error = client::WriteOwn(StreamOf(*generator), generator->memory, BytesOf(position));
    if (error != CudaError::kSuccess) return error;
    return client::WriteOwn(StreamOf(*generator), words, BytesOf(BeginHere(*generator, beginning)));
  }
  if (!beginning.table.empty()) error = client::WriteOwn(StreamOf(*generator), table, BytesOf(beginning.table));
  if (error != CudaError::kSuccess) return error;
  rng::Seeding seeding = SeedingOf(*generator, beginning);
  seeding.position = reinterpret_cast<uint64_t*>(generator->memory);
  seeding.words = reinterpret_cast<uint32_t*>(words);
  seeding.table = reinterpret_cast<const uint32_t*>(table);
  void* arguments[] = {&seeding};
  return LaunchRandom(*generator, "seed", seeding.streams, arguments);
}

template <class Engine>
void ProduceHere(Form form, const rng::Generation& call) {
  const auto run = [&]<Form kForm>() {
    for (uint32_t i = 0; i < call.streams; ++i) rng::Generate<Engine, kForm>(call, *call.position, i);
  };
  switch (form) {
    case Form::kBits:
      return run.template operator()<Form::kBits>();
    case Form::kUniform:
      return run.template operator()<Form::kUniform>();
    case Form::kUniformDouble:
      return run.template operator()<Form::kUniformDouble>();
    case Form::kNormal:
      return run.template operator()<Form::kNormal>();
    case Form::kNormalDouble:
      return run.template operator()<Form::kNormalDouble>();
    case Form::kLogNormal:
      return run.template operator()<Form::kLogNormal>();
    case Form::kLogNormalDouble:
      return run.template operator()<Form::kLogNormalDouble>();
  }
}

const char* KernelOf(Form form) {
  constexpr const char* kNames[rng::kForms] = {"bits",          "uniform",    "uniform_double",   "normal",
                                               "normal_double", "log_normal", "log_normal_double"};
  return kNames[static_cast<int>(form)];
}

}  // namespace

StreamsForm FormOf(const curandGenerator_st& generator) {
  const bool legacy = generator.ordering == CURAND_ORDERING_PSEUDO_LEGACY;
  StreamsForm form;
  switch (generator.engine) {
    case EngineKind::kXorwow:
      form.streams = 4096;
      break;
    case EngineKind::kMrg32k3a:
      form.streams = legacy ? 4096 : 81920;
      break;
    case EngineKind::kPhilox:
      form.streams = 65536;
      break;
    case EngineKind::kMtgp32:
      form.streams = legacy ? 64 : 192;
      break;
  }
  ByEngine(generator.engine, [&](auto engine) {
    form.words = uint64_t{form.streams} * decltype(engine)::kWords + decltype(engine)::kSharedWords;
    form.units = decltype(engine)::kUnits;
  });
  return form;
}

int OutputsOf(const curandGenerator_st& generator, Form form) {
  return ByEngine(generator.engine, [&](auto engine) { return decltype(engine)::Outputs(form); });
}

CudaError BeginStreams(curandGenerator_t generator) {
  if (generator->begun) return CudaError::kSuccess;
  if (generator->on_host) {
    generator->words = BeginHere(*generator, BeginningOf(*generator));
  } else {
    const CudaError error = BeginOnDevice(generator);
    if (error != CudaError::kSuccess) return error;
  }
  generator->begun = true;
  return CudaError::kSuccess;
}

CudaError Produce(curandGenerator_t generator, Form form, void* out, uint64_t count, double mean, double deviation) {
  CudaError error = BeginStreams(generator);
  if (error != CudaError::kSuccess) return error;
  const StreamsForm streams = FormOf(*generator);
  rng::Generation call{};
  call.streams = streams.streams;
  call.units = count / static_cast<uint64_t>(OutputsOf(*generator, form));
  call.out = out;
  call.mean = mean;
  call.deviation = deviation;
  if (generator->on_host) {
    call.position = &generator->position;
    call.words = generator->words.data();
    ByEngine(generator->engine, [&](auto engine) { ProduceHere<decltype(engine)>(form, call); });
  } else {
    call.position = reinterpret_cast<const uint64_t*>(generator->memory);
    call.words = reinterpret_cast<uint32_t*>(generator->memory + kWordsAt);
    // Wherever in a slot the call begins.
    const uint64_t slots = (call.units + 2 * streams.units - 2) / streams.units;
    void* arguments[] = {&call};
    error = LaunchRandom(*generator, KernelOf(form), std::min<uint64_t>(slots, streams.streams), arguments);
    void* passed[] = {&generator->memory, &call.units};
    if (error == CudaError::kSuccess) error = LaunchRandom(*generator, "advance", 1, passed);
    if (error != CudaError::kSuccess) return error;
  }
  generator->position += call.units;
  return CudaError::kSuccess;
}

curandStatus_t StatusOf(CudaError error) {
  switch (error) {
    case CudaError::kSuccess:
      return CURAND_STATUS_SUCCESS;
    case CudaError::kOutOfMemory:
      return CURAND_STATUS_ALLOCATION_FAILED;
    case CudaError::kNoDevice:
    case CudaError::kNotInitialized:
      return CURAND_STATUS_INITIALIZATION_FAILED;
    default:
      return CURAND_STATUS_LAUNCH_FAILURE;
  }
}

}  // namespace wharf::cudashim
