#include "wharf/cudashim/curand/generator.h"

#include <algorithm>
#include <span>

#include "wharf/cudashim/client/graph/capture.h"
#include "wharf/cudashim/curand/kernels.h"
#include "wharf/cudashim/curand/seeding.h"

namespace wharf::cudashim {
namespace {

using rng::Form;

// That divide the points of a quasirandom generator.
constexpr uint64_t kMostThreads = 65536;

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
    case EngineKind::kMtgp32:
      return body(rng::Mtgp32{});
    case EngineKind::kSobol32:
      return body(rng::Sobol32{});
    default:
      return body(rng::Sobol64{});
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
    case EngineKind::kMtgp32:
      return rng::BeginMtgp32(generator.seed, streams);
    case EngineKind::kSobol32:
      return rng::BeginSobol32(generator.dimensions);
    default:
      return rng::BeginSobol64(generator.dimensions);
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
  if (IsQuasi(generator)) return beginning.table;
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

CudaError MakeRoom(DeviceBlock* block, uint64_t bytes) {
  if (block->bytes >= bytes) return CudaError::kSuccess;
  CudaError error = block->bytes > 0 ? client::FreeOwn(block->address) : CudaError::kSuccess;
  *block = {};
  if (error == CudaError::kSuccess) error = client::AllocateOwn(bytes, &block->address);
  if (error == CudaError::kSuccess) block->bytes = bytes;
  return error;
}

CudaError BeginOnDevice(curandGenerator_t generator) {
  const rng::Beginning beginning = BeginningOf(*generator);
  const uint64_t word_bytes = FormOf(*generator).words * sizeof(uint32_t);
  const uint64_t bytes = kWordsAt + word_bytes + beginning.table.size() * sizeof(uint32_t);
  CudaError error = MakeRoom(&generator->memory, bytes);
  if (error != CudaError::kSuccess) return error;
  const uint64_t words = generator->memory.address + kWordsAt, table = words + word_bytes;
  if (IsCaptured(*generator)) {
    // A kernel would become a part of the graph, and every launch of it would begin anew.
    const std::vector<uint64_t> position = {generator->position};
    error = client::WriteOwn(StreamOf(*generator), generator->memory.address, BytesOf(position));
    if (error != CudaError::kSuccess) return error;
    return client::WriteOwn(StreamOf(*generator), words, BytesOf(BeginHere(*generator, beginning)));
  }
  if (!beginning.table.empty()) error = client::WriteOwn(StreamOf(*generator), table, BytesOf(beginning.table));
  if (error != CudaError::kSuccess) return error;
  rng::Seeding seeding = SeedingOf(*generator, beginning);
  seeding.position = reinterpret_cast<uint64_t*>(generator->memory.address);
  seeding.words = reinterpret_cast<uint32_t*>(words);
  seeding.table = reinterpret_cast<const uint32_t*>(table);
  void* arguments[] = {&seeding};
  return LaunchRandom(*generator, "seed", seeding.streams, arguments);
}

// NVIDIA's library takes Poisson's numbers from different tables, by the engine and by the mean.
rng::PoissonForm PoissonFormOf(EngineKind engine, double mean) {
  switch (engine) {
    case EngineKind::kMtgp32:
      if (mean < 32) return rng::MakeAlias(mean);
      return mean <= 8000 ? rng::MakeCumulative(mean) : rng::PoissonForm{};
    case EngineKind::kSobol32:
      if (mean < 10) return rng::MakeAlias(mean);
      return mean <= 8000 ? rng::MakeCumulative(mean) : rng::PoissonForm{};
    case EngineKind::kSobol64:
      return mean < 2000 ? rng::MakeCumulative(mean) : rng::PoissonForm{};
    default:
      return mean < 2000 ? rng::MakeAlias(mean) : rng::PoissonForm{};
  }
}

// Where the table's parts are, of which the first begins at `limits`.
rng::PoissonTable TableAt(const rng::PoissonForm& form, double mean, uint64_t limits, uint64_t others) {
  rng::PoissonTable table{};
  table.mean = mean;
  table.first = form.first;
  table.count = static_cast<uint32_t>(form.limits.size());
  if (table.count > 0) table.limits = reinterpret_cast<const double*>(limits);
  if (!form.others.empty()) table.others = reinterpret_cast<const uint32_t*>(others);
  return table;
}

CudaError MakePoissonTable(curandGenerator_t generator, double mean, rng::PoissonTable* table) {
  const bool is_new = generator->poisson_mean != mean;
  if (is_new) generator->poisson = PoissonFormOf(generator->engine, mean);
  generator->poisson_mean = mean;
  const rng::PoissonForm& form = generator->poisson;
  if (generator->on_host) {
    *table = TableAt(form, mean, reinterpret_cast<uint64_t>(form.limits.data()),
                     reinterpret_cast<uint64_t>(form.others.data()));
    return CudaError::kSuccess;
  }
  // A graph has a table of its own, which no later call overwrites.
  const bool is_captured = IsCaptured(*generator);
  DeviceBlock block = is_captured ? DeviceBlock{} : generator->poisson_memory;
  const uint64_t limit_bytes = form.limits.size() * sizeof(double);
  CudaError error = CudaError::kSuccess;
  if ((is_new || is_captured) && limit_bytes > 0) {
    error = MakeRoom(&block, limit_bytes + form.others.size() * sizeof(uint32_t));
    if (is_captured && error == CudaError::kSuccess) generator->kept_by_graphs.push_back(block);
    if (!is_captured) generator->poisson_memory = block;
    if (error == CudaError::kSuccess) {
      error = client::WriteOwn(StreamOf(*generator), block.address, BytesOf(form.limits));
    }
    if (error == CudaError::kSuccess && !form.others.empty()) {
      error = client::WriteOwn(StreamOf(*generator), block.address + limit_bytes, BytesOf(form.others));
    }
  }
  if (error != CudaError::kSuccess || is_captured) generator->poisson_mean = 0;  // of none that is there
  *table = TableAt(form, mean, block.address, block.address + limit_bytes);
  return error;
}

template <class Engine>
void ProduceHere(Form form, const rng::Generation& call) {
  const auto run = [&]<Form kForm>() {
    if constexpr (rng::kIsQuasi<Engine>)
      return Engine::template Run<kForm>(call, *call.position, 0, 1);
    else
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
    case Form::kPoisson:
      return run.template operator()<Form::kPoisson>();
  }
}

const char* KernelOf(Form form) {
  constexpr const char* kNames[rng::kForms] = {"bits",          "uniform",    "uniform_double",    "normal",
                                               "normal_double", "log_normal", "log_normal_double", "poisson"};
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
    default:
      form.streams = generator.dimensions;
      return form;  // all that they have is the table
  }
  ByEngine(generator.engine, [&](auto engine) {
    if constexpr (!rng::kIsQuasi<decltype(engine)>) {
      form.words = uint64_t{form.streams} * decltype(engine)::kWords + decltype(engine)::kSharedWords;
      form.units = decltype(engine)::kUnits;
    }
  });
  return form;
}

int OutputsOf(const curandGenerator_st& generator, Form form) {
  return ByEngine(generator.engine, [&](auto engine) {
    if constexpr (rng::kIsQuasi<decltype(engine)>) {
      return static_cast<int>(generator.dimensions);
    } else {
      return decltype(engine)::Outputs(form);
    }
  });
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

CudaError Produce(curandGenerator_t generator, Form form, void* out, uint64_t count, const Shape& shape) {
  CudaError error = BeginStreams(generator);
  if (error != CudaError::kSuccess) return error;
  const StreamsForm streams = FormOf(*generator);
  rng::Generation call{};
  call.streams = streams.streams;
  call.units = count / static_cast<uint64_t>(OutputsOf(*generator, form));
  call.out = out;
  call.mean = shape.mean;
  call.deviation = shape.deviation;
  if (form == Form::kPoisson) error = MakePoissonTable(generator, shape.mean, &call.poisson);
  if (error != CudaError::kSuccess) return error;
  if (generator->on_host) {
    call.position = &generator->position;
    call.words = generator->words.data();
    ByEngine(generator->engine, [&](auto engine) { ProduceHere<decltype(engine)>(form, call); });
  } else {
    call.position = reinterpret_cast<const uint64_t*>(generator->memory.address);
    call.words = reinterpret_cast<uint32_t*>(generator->memory.address + kWordsAt);
    // Wherever in a slot the call begins.
    const uint64_t slots = (call.units + 2 * streams.units - 2) / streams.units;
    const uint64_t threads =
        IsQuasi(*generator) ? std::min(count, kMostThreads) : std::min<uint64_t>(slots, streams.streams);
    void* arguments[] = {&call};
    error = LaunchRandom(*generator, KernelOf(form), threads, arguments);
    void* passed[] = {&generator->memory.address, &call.units};
    if (error == CudaError::kSuccess) error = LaunchRandom(*generator, "advance", 1, passed);
    if (error != CudaError::kSuccess) return error;
  }
  generator->position += call.units;
  return CudaError::kSuccess;
}

void FreeDeviceMemory(curandGenerator_t generator) {
  std::vector<DeviceBlock> blocks = std::move(generator->kept_by_graphs);
  blocks.push_back(std::exchange(generator->memory, {}));
  blocks.push_back(std::exchange(generator->poisson_memory, {}));
  for (const DeviceBlock& block : blocks) {
    if (block.bytes > 0 && client::IsConnected()) (void)client::FreeOwn(block.address);
  }
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
