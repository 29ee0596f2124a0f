// cuRAND's host API: numbers of every engine, ordering and distribution, on the device and on the host; where sequences
// go on; graphs; what wrong calls return. Sums that stand here are of what NVIDIA's library, 10.4.0, made on the host.
#include <curand.h>

#include "tests/cuda/harness.h"

#define RAND_OK(call) EXPECT_EQ(call, CURAND_STATUS_SUCCESS)

using Long = unsigned long long;

struct Generator {
  curandGenerator_t handle = nullptr;
  Generator(curandRngType_t type, bool host, Long seed = 0) {
    RAND_OK(host ? curandCreateGeneratorHost(&handle, type) : curandCreateGenerator(&handle, type));
    RAND_OK(curandSetPseudoRandomGeneratorSeed(handle, seed));
  }
  ~Generator() { RAND_OK(curandDestroyGenerator(handle)); }
  Generator(const Generator&) = delete;
  Generator& operator=(const Generator&) = delete;
  operator curandGenerator_t() const { return handle; }
};

static curandStatus_t Make(curandGenerator_t g, unsigned* out, size_t n) { return curandGenerate(g, out, n); }
static curandStatus_t Make(curandGenerator_t g, float* out, size_t n) { return curandGenerateUniform(g, out, n); }
static curandStatus_t Make(curandGenerator_t g, double* out, size_t n) {
  return curandGenerateUniformDouble(g, out, n);
}
static curandStatus_t Normal(curandGenerator_t g, float* out, size_t n) {
  return curandGenerateNormal(g, out, n, 1, 2);
}
static curandStatus_t Normal(curandGenerator_t g, double* out, size_t n) {
  return curandGenerateNormalDouble(g, out, n, 1, 2);
}
static curandStatus_t LogNormal(curandGenerator_t g, float* out, size_t n) {
  return curandGenerateLogNormal(g, out, n, -1, 0.5f);
}
static curandStatus_t LogNormal(curandGenerator_t g, double* out, size_t n) {
  return curandGenerateLogNormalDouble(g, out, n, -1, 0.5);
}

template <class T>
using Call = curandStatus_t (*)(curandGenerator_t, T*, size_t);

// What a generator gives in calls of these sizes, one behind the other.
template <class T>
std::vector<T> OnHost(curandGenerator_t g, Call<T> call, const std::vector<size_t>& sizes) {
  std::vector<T> all;
  for (size_t n : sizes) {
    std::vector<T> part(n);
    RAND_OK(call(g, part.data(), n));
    all.insert(all.end(), part.begin(), part.end());
  }
  return all;
}
template <class T>
std::vector<T> OnDevice(curandGenerator_t g, Call<T> call, const std::vector<size_t>& sizes) {
  size_t count = 0;
  for (size_t n : sizes) count += n;
  harness::Buffer<T> out(count);
  size_t at = 0;
  for (size_t n : sizes) {
    RAND_OK(call(g, out.get() + at, n));
    at += n;
  }
  return out.Get();
}

template <class T>
Long SumOf(const std::vector<T>& values) {
  Long sum = 1469598103934665603u;
  for (const T& value : values) {
    unsigned char bytes[sizeof(T)];
    std::memcpy(bytes, &value, sizeof(T));
    for (unsigned char byte : bytes) sum = (sum ^ byte) * 1099511628211u;
  }
  return sum;
}

template <class T>
void ExpectSame(const std::vector<T>& got, const std::vector<T>& want, int line) {
  for (size_t i = 0; i < want.size(); ++i) {
    if (got[i] == want[i]) continue;
    harness::Fail(
        __FILE__, line,
        "element " + std::to_string(i) + ": got " + harness::Show(got[i]) + ", want " + harness::Show(want[i]));
    return;
  }
}
// Transcendental functions differ between devices and hosts, relative to what was scaled and shifted: NVIDIA's on a GPU
// from its host's by 5e-6, and its host rounds what MTGP32 makes of doubles.
template <class T>
void ExpectNear(const std::vector<T>& got, const std::vector<T>& want, curandRngType_t type, int line) {
  const double bound = sizeof(T) == 4 ? 0x1p-16 : type == CURAND_RNG_PSEUDO_MTGP32 ? 0x1p-21 : 0x1p-46;
  for (size_t i = 0; i < want.size(); ++i) {
    if (std::abs(double(got[i]) - double(want[i])) <= bound * std::max(1.0, std::abs(double(want[i])))) continue;
    harness::Fail(
        __FILE__, line,
        "element " + std::to_string(i) + ": got " + harness::Show(got[i]) + ", want " + harness::Show(want[i]));
    return;
  }
}

struct Sums {
  curandRngType_t type;
  curandOrdering_t ordering;
  Long seed, bits, uniform, uniform_double;
};
// Calls of which most begin and end inside of a turn of the streams.
static const std::vector<size_t> kSizes = {1, 2, 3, 4090, 8192, 1, 100000, 257, 163842};
static const Sums kSums[] = {
    {CURAND_RNG_PSEUDO_DEFAULT, CURAND_ORDERING_PSEUDO_DEFAULT, 0, 0xb6c9a460766d87f1, 0x1675f3c6b3b9a218,
     0xf04b70989e3dbe01},
    {CURAND_RNG_PSEUDO_XORWOW, CURAND_ORDERING_PSEUDO_LEGACY, 0x123456789abcdef, 0x22ca309006900b6f, 0xde20d03664010a29,
     0xc5be10c300bf117d},
    {CURAND_RNG_PSEUDO_MRG32K3A, CURAND_ORDERING_PSEUDO_DEFAULT, 0, 0x78b06e336db6171b, 0x84c7aa94c1a2b1f5,
     0x91bb9ac4b13f73ce},
    {CURAND_RNG_PSEUDO_MRG32K3A, CURAND_ORDERING_PSEUDO_LEGACY, 0x123456789abcdef, 0x898f0698ee30c875,
     0x8fd70a70fb1101dc, 0x56f954c9236ca088},
    {CURAND_RNG_PSEUDO_PHILOX4_32_10, CURAND_ORDERING_PSEUDO_DEFAULT, 0, 0x966d096a7f4314c6, 0x6c72f255a16e01b,
     0x2779ab0c5607fbf5},
    {CURAND_RNG_PSEUDO_PHILOX4_32_10, CURAND_ORDERING_PSEUDO_BEST, 0x123456789abcdef, 0x75cfeee56ad09fff,
     0x532082e0309a5249, 0xf0ad6494d2d14e4f},
    {CURAND_RNG_PSEUDO_MTGP32, CURAND_ORDERING_PSEUDO_DEFAULT, 0, 0xcdd5027799493b8a, 0x1ba1d84b71e462c1,
     0x7bf03d225d70e450},
    {CURAND_RNG_PSEUDO_MTGP32, CURAND_ORDERING_PSEUDO_LEGACY, 0x123456789abcdef, 0x40e29d64d92ea447, 0xcdec62c3c595bdf6,
     0x91d654bf66d09279},
};

template <class T>
void CheckSum(const Sums& row, Long want, int line) {
  Generator here(row.type, true, row.seed), there(row.type, false, row.seed);
  RAND_OK(curandSetGeneratorOrdering(here, row.ordering));
  RAND_OK(curandSetGeneratorOrdering(there, row.ordering));
  const std::vector<T> numbers = OnHost<T>(here, Make, kSizes);
  if (SumOf(numbers) != want) {
    char text[80];
    std::snprintf(text, sizeof(text), "type %d, seed %llx: sum 0x%llx", row.type, row.seed, SumOf(numbers));
    harness::Fail(__FILE__, line, text);
  }
  ExpectSame(OnDevice<T>(there, Make, kSizes), numbers, line);
}
CASE(bits_as_nvidias) {
  for (const Sums& row : kSums) CheckSum<unsigned>(row, row.bits, __LINE__);
}
CASE(uniform_as_nvidias) {
  for (const Sums& row : kSums) CheckSum<float>(row, row.uniform, __LINE__);
}
CASE(uniform_double_as_nvidias) {
  for (const Sums& row : kSums) CheckSum<double>(row, row.uniform_double, __LINE__);
}

static const curandRngType_t kTypes[] = {CURAND_RNG_PSEUDO_XORWOW, CURAND_RNG_PSEUDO_MRG32K3A,
                                         CURAND_RNG_PSEUDO_PHILOX4_32_10, CURAND_RNG_PSEUDO_MTGP32};

// Numbers 0, 1, 5 and 100 of NVIDIA's host generators with seed 7, and the mean of the first 200000.
template <class T>
void CheckNormals(Call<T> call, double mean, double variance, int line) {
  for (curandRngType_t type : kTypes) {
    Generator here(type, true, 7), there(type, false, 7);
    const std::vector<size_t> sizes = {2, 4096, 6, 195896};
    const std::vector<T> numbers = OnHost<T>(here, call, sizes);
    ExpectNear(OnDevice<T>(there, call, sizes), numbers, type, line);
    double sum = 0, squares = 0;
    for (T number : numbers) sum += number, squares += double(number) * number;
    const double got = sum / double(numbers.size()), spread = squares / double(numbers.size()) - got * got;
    EXPECT(std::abs(got - mean) < 0.02 * std::max(1.0, mean));
    EXPECT(std::abs(spread - variance) < 0.03 * variance);
  }
}
CASE(normals) {
  CheckNormals<float>(Normal, 1, 4, __LINE__);
  CheckNormals<double>(Normal, 1, 4, __LINE__);
}
CASE(log_normals) {
  const double mean = std::exp(-1 + 0.125), variance = (std::exp(0.25) - 1) * mean * mean;
  CheckNormals<float>(LogNormal, mean, variance, __LINE__);
  CheckNormals<double>(LogNormal, mean, variance, __LINE__);
}

CASE(log_normals_are_exponentials) {
  for (curandRngType_t type : kTypes) {
    Generator one(type, true, 3), other(type, true, 3);
    std::vector<double> normals(1000), logarithms(1000);
    RAND_OK(curandGenerateNormalDouble(one, normals.data(), 1000, -1, 0.5));
    RAND_OK(curandGenerateLogNormalDouble(other, logarithms.data(), 1000, -1, 0.5));
    for (double& normal : normals) normal = std::exp(normal);
    ExpectNear(logarithms, normals, type, __LINE__);
  }
}

// An offset is a place in the sequence, wherever that is; so is where a call begins.
CASE(offsets) {
  for (curandRngType_t type : {CURAND_RNG_PSEUDO_XORWOW, CURAND_RNG_PSEUDO_MRG32K3A, CURAND_RNG_PSEUDO_PHILOX4_32_10}) {
    Generator whole(type, false, 5);
    const std::vector<unsigned> sequence = OnDevice<unsigned>(whole, Make, {400000});
    for (Long offset : {1ull, 3ull, 4095ull, 4096ull, 5000ull, 81921ull, 262147ull, 300001ull}) {
      const std::vector<unsigned> want(sequence.begin() + offset, sequence.begin() + offset + 9000);
      for (bool host : {true, false}) {
        Generator part(type, host, 5);
        RAND_OK(curandSetGeneratorOffset(part, offset));
        ExpectSame(host ? OnHost<unsigned>(part, Make, {9000}) : OnDevice<unsigned>(part, Make, {9000}), want,
                   __LINE__);
      }
    }
    // A seed that is set later leaves the place as it is.
    RAND_OK(curandSetGeneratorOffset(whole, 10));
    OnDevice<unsigned>(whole, Make, {7});
    RAND_OK(curandSetPseudoRandomGeneratorSeed(whole, 5));
    ExpectSame(OnDevice<unsigned>(whole, Make, {1000}),
               std::vector<unsigned>(sequence.begin() + 17, sequence.begin() + 1017), __LINE__);
    // However far.
    Generator far(type, false, 5), far_here(type, true, 5);
    RAND_OK(curandSetGeneratorOffset(far, 0x7123456789abcdefull));
    RAND_OK(curandSetGeneratorOffset(far_here, 0x7123456789abcdefull));
    ExpectSame(OnDevice<unsigned>(far, Make, {9000}), OnHost<unsigned>(far_here, Make, {9000}), __LINE__);
  }
}

// Calls of every kind from one generator.
CASE(mixed_calls) {
  for (curandRngType_t type : kTypes) {
    Generator here(type, true, 11), there(type, false, 11);
    for (int round = 0; round < 3; ++round) {
      for (size_t n : {2u, 6u, 1000u, 81922u}) {
        ExpectSame(OnDevice<unsigned>(there, Make, {n - 1}), OnHost<unsigned>(here, Make, {n - 1}), __LINE__);
        ExpectSame(OnDevice<double>(there, Make, {n}), OnHost<double>(here, Make, {n}), __LINE__);
        ExpectNear(OnDevice<float>(there, Normal, {n}), OnHost<float>(here, Normal, {n}), type, __LINE__);
        ExpectNear(OnDevice<double>(there, LogNormal, {n}), OnHost<double>(here, LogNormal, {n}), type, __LINE__);
        ExpectSame(OnDevice<float>(there, Make, {n + 1}), OnHost<float>(here, Make, {n + 1}), __LINE__);
      }
    }
  }
}

static curandStatus_t Poisson(curandGenerator_t g, unsigned* out, size_t n, double mean) {
  return curandGeneratePoisson(g, out, n, mean);
}
struct PoissonSums {
  double mean;
  Long sums[5];  // of XORWOW, MRG32k3a, Philox, MTGP32, Sobol32
};
static const curandRngType_t kPoissonTypes[] = {CURAND_RNG_PSEUDO_XORWOW, CURAND_RNG_PSEUDO_MRG32K3A,
                                                CURAND_RNG_PSEUDO_PHILOX4_32_10, CURAND_RNG_PSEUDO_MTGP32,
                                                CURAND_RNG_QUASI_SOBOL32};
static const PoissonSums kPoissonSums[] = {
    {0.01, {0xc45c83c282e3bc83, 0xb253c87e53284953, 0x104b0381131659e3, 0x15e17890376f8161, 0x6c867ae2acaf8ec2}},
    {3, {0xc21e2c79dda7e95d, 0x7532a0e735e60fb1, 0xe80d19b70493b580, 0x10cfad0ca9347dd0, 0x906576e9a13e325a}},
    {12.5, {0x6b32d9318b1db7d2, 0x2a0489e84e3cc89d, 0xcf5ca78e834bf25a, 0x6a14260317796b90, 0xf63b6a201d1c0faf}},
    {100, {0x8685c38e2b703991, 0x7da472cd92c9ef44, 0x7031f701670cba1c, 0xe0947220b077eee3, 0xbbfae317774476c0}},
    {1999, {0x2c6d0c84952dbeb5, 0xca5e3098154f3299, 0xb91ed395ebea55d7, 0xb69c6d476c082342, 0x24d6651cd40229e2}},
};
// Twice as many numbers as there are in a turn of MRG32k3a's streams, in two calls.
static std::vector<unsigned> PoissonOnHost(curandRngType_t type, double mean) {
  curandGenerator_t g;
  std::vector<unsigned> numbers(163840);
  RAND_OK(curandCreateGeneratorHost(&g, type));
  RAND_OK(Poisson(g, numbers.data(), 100001, mean));
  RAND_OK(Poisson(g, numbers.data() + 100001, 63839, mean));
  RAND_OK(curandDestroyGenerator(g));
  return numbers;
}
static std::vector<unsigned> PoissonOnDevice(curandRngType_t type, double mean) {
  curandGenerator_t g;
  harness::Buffer<unsigned> numbers(163840);
  RAND_OK(curandCreateGenerator(&g, type));
  RAND_OK(Poisson(g, numbers, 100001, mean));
  RAND_OK(Poisson(g, numbers.get() + 100001, 63839, mean));
  std::vector<unsigned> got = numbers.Get();
  RAND_OK(curandDestroyGenerator(g));
  return got;
}
CASE(poisson_as_nvidias) {
  for (const PoissonSums& row : kPoissonSums)
    for (int i = 0; i < 5; ++i) {
      const std::vector<unsigned> numbers = PoissonOnHost(kPoissonTypes[i], row.mean);
      if (SumOf(numbers) != row.sums[i]) {
        char text[80];
        std::snprintf(text, sizeof(text), "engine %d, mean %g: sum 0x%llx", i, row.mean, SumOf(numbers));
        harness::Fail(__FILE__, __LINE__, text);
      }
      ExpectSame(PoissonOnDevice(kPoissonTypes[i], row.mean), numbers, __LINE__);
    }
}
// From normal numbers, which are rounded to one side or the other.
CASE(poisson_of_large_means) {
  for (double mean : {2000.0, 8001.0, 399999.0})
    for (curandRngType_t type : kPoissonTypes) {
      const std::vector<unsigned> here = PoissonOnHost(type, mean), there = PoissonOnDevice(type, mean);
      double sum = 0, squares = 0;
      int apart = 0;
      for (size_t i = 0; i < here.size(); ++i) {
        const double number = double(here[i]) - mean, difference = double(there[i]) - double(here[i]);
        EXPECT(std::abs(difference) <= 1);
        apart += difference != 0;
        sum += number, squares += number * number;
      }
      EXPECT(apart < 200);
      EXPECT(std::abs(sum / double(here.size())) < 0.02 * std::sqrt(mean));
      EXPECT(std::abs(squares / double(here.size()) - mean) < 0.02 * mean);
    }
}

struct Quasi {
  curandGenerator_t handle = nullptr;
  Quasi(curandRngType_t type, bool host, unsigned dimensions) {
    RAND_OK(host ? curandCreateGeneratorHost(&handle, type) : curandCreateGenerator(&handle, type));
    RAND_OK(curandSetQuasiRandomGeneratorDimensions(handle, dimensions));
  }
  ~Quasi() { RAND_OK(curandDestroyGenerator(handle)); }
  Quasi(const Quasi&) = delete;
  Quasi& operator=(const Quasi&) = delete;
  operator curandGenerator_t() const { return handle; }
};
static curandStatus_t Make(curandGenerator_t g, Long* out, size_t n) { return curandGenerateLongLong(g, out, n); }

template <class T>
void CheckQuasi(curandRngType_t type, unsigned dimensions, Long want, int line) {
  Quasi here(type, true, dimensions), there(type, false, dimensions);
  const std::vector<size_t> sizes = {dimensions, 7 * dimensions, 1000 * dimensions, 3 * dimensions};
  const std::vector<T> numbers = OnHost<T>(here, Make, sizes);
  if (SumOf(numbers) != want) {
    char text[80];
    std::snprintf(text, sizeof(text), "type %d, %u dimensions: sum 0x%llx", type, dimensions, SumOf(numbers));
    harness::Fail(__FILE__, line, text);
  }
  ExpectSame(OnDevice<T>(there, Make, sizes), numbers, line);
  // Points from the sixth on.
  RAND_OK(curandSetGeneratorOffset(here, 5));
  RAND_OK(curandSetGeneratorOffset(there, 5));
  ExpectSame(OnDevice<T>(there, Make, {40 * dimensions}), OnHost<T>(here, Make, {40 * dimensions}), line);
}
struct QuasiSums {
  unsigned dimensions;
  Long bits, uniform, uniform_double, long_bits, long_uniform, long_uniform_double;
};
static const QuasiSums kQuasiSums[] = {
    {1, 0xf62fc556928719a3, 0xe55c37181b21c88e, 0x665e64756b921800, 0x71397cac81b1c473, 0xe55c37181b21c88e,
     0xd3fa544f67434cff},
    {3, 0xa8f99965b82f1757, 0xdca50c057ad50a42, 0xf5306fb07ce3b42c, 0xe22adaae0a7e63a7, 0xdca50c057ad50a42,
     0xad3b0beac7a85ac5},
    {50, 0x4887df6eb5af73c7, 0x375dfd374c41d866, 0xd4ee0bef03d75087, 0x582a759eb9ff36a7, 0x375dfd374c41d866,
     0x8fd27ff749ea7f0e},
};
CASE(quasirandom_as_nvidias) {
  for (const QuasiSums& row : kQuasiSums) {
    CheckQuasi<unsigned>(CURAND_RNG_QUASI_DEFAULT, row.dimensions, row.bits, __LINE__);
    CheckQuasi<float>(CURAND_RNG_QUASI_SOBOL32, row.dimensions, row.uniform, __LINE__);
    CheckQuasi<double>(CURAND_RNG_QUASI_SOBOL32, row.dimensions, row.uniform_double, __LINE__);
    CheckQuasi<Long>(CURAND_RNG_QUASI_SOBOL64, row.dimensions, row.long_bits, __LINE__);
    CheckQuasi<float>(CURAND_RNG_QUASI_SOBOL64, row.dimensions, row.long_uniform, __LINE__);
    CheckQuasi<double>(CURAND_RNG_QUASI_SOBOL64, row.dimensions, row.long_uniform_double, __LINE__);
  }
}
CASE(quasirandom_normals) {
  for (curandRngType_t type : {CURAND_RNG_QUASI_SOBOL32, CURAND_RNG_QUASI_SOBOL64}) {
    Quasi here(type, true, 4), there(type, false, 4);
    ExpectNear(OnDevice<float>(there, Normal, {4, 8000}), OnHost<float>(here, Normal, {4, 8000}), type, __LINE__);
    ExpectNear(OnDevice<double>(there, Normal, {4, 8000}), OnHost<double>(here, Normal, {4, 8000}), type, __LINE__);
    ExpectNear(OnDevice<float>(there, LogNormal, {4, 8000}), OnHost<float>(here, LogNormal, {4, 8000}), type, __LINE__);
    ExpectNear(OnDevice<double>(there, LogNormal, {4, 8000}), OnHost<double>(here, LogNormal, {4, 8000}), type,
               __LINE__);
  }
}
CASE(direction_vectors_as_nvidias) {
  curandDirectionVectors32_t* narrow = nullptr;
  curandDirectionVectors64_t* wide = nullptr;
  RAND_OK(curandGetDirectionVectors32(&narrow, CURAND_DIRECTION_VECTORS_32_JOEKUO6));
  RAND_OK(curandGetDirectionVectors64(&wide, CURAND_DIRECTION_VECTORS_64_JOEKUO6));
  EXPECT_EQ(SumOf(std::vector<unsigned>(&narrow[0][0], &narrow[0][0] + 20000 * 32)), 0x8d01daffe21f41cbu);
  EXPECT_EQ(SumOf(std::vector<Long>(&wide[0][0], &wide[0][0] + 20000 * 64)), 0xe25a718c6413d570u);
  EXPECT_EQ(curandGetDirectionVectors32(&narrow, CURAND_DIRECTION_VECTORS_64_JOEKUO6), CURAND_STATUS_OUT_OF_RANGE);
}

// A generator that has made numbers can be captured. Where its sequence goes on is the graph's first launch's to say,
// and that of later ones too where all that is known of the place is on the device: XORWOW's, by whole rounds of its
// 4096 sequences.
CASE(streams_and_graphs) {
  const size_t kN = 8192;
  for (curandRngType_t type : kTypes) {
    cudaStream_t stream;
    CUDA_OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    Generator here(type, true, 21), there(type, false, 21);
    RAND_OK(curandSetStream(there, stream));
    harness::Buffer<float> out(kN);
    CUDA_OK(cudaDeviceSynchronize());
    const auto check = [&] {
      CUDA_OK(cudaStreamSynchronize(stream));
      ExpectSame(out.Get(), OnHost<float>(here, Make, {kN}), __LINE__);
    };
    RAND_OK(curandGenerateUniform(there, out, kN));
    check();
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    CUDA_OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    RAND_OK(curandGenerateUniform(there, out, kN));
    CUDA_OK(cudaStreamEndCapture(stream, &graph));
    CUDA_OK(cudaGraphInstantiate(&exec, graph, 0));
    for (int launch = 0; launch < (type == CURAND_RNG_PSEUDO_XORWOW ? 4 : 1); ++launch) {
      CUDA_OK(cudaGraphLaunch(exec, stream));
      check();
    }
    RAND_OK(curandGenerateUniform(there, out, kN));
    check();
    CUDA_OK(cudaGraphExecDestroy(exec));
    CUDA_OK(cudaGraphDestroy(graph));
    CUDA_OK(cudaStreamDestroy(stream));
  }
}

CASE(versions_and_properties) {
  int version = 0, parts[3] = {};
  RAND_OK(curandGetVersion(&version));
  for (int i = 0; i < 3; ++i) RAND_OK(curandGetProperty(libraryPropertyType(i), &parts[i]));
  EXPECT_EQ(version, parts[0] * 1000 + parts[1] * 100 + parts[2]);
  EXPECT_EQ(curandGetProperty(libraryPropertyType(7), &version), CURAND_STATUS_OUT_OF_RANGE);
}

CASE(wrong_calls) {
  curandGenerator_t none = nullptr;
  unsigned bits[4];
  float numbers[4];
  EXPECT_EQ(curandCreateGeneratorHost(&none, curandRngType_t(5)), CURAND_STATUS_TYPE_ERROR);
  EXPECT_EQ(curandCreateGenerator(&none, curandRngType_t(5)), CURAND_STATUS_TYPE_ERROR);
  none = nullptr;
  EXPECT_EQ(curandDestroyGenerator(none), CURAND_STATUS_NOT_INITIALIZED);
  EXPECT_EQ(curandGenerate(none, bits, 4), CURAND_STATUS_NOT_INITIALIZED);
  EXPECT_EQ(curandGenerateSeeds(none), CURAND_STATUS_NOT_INITIALIZED);
  EXPECT_EQ(curandSetStream(none, nullptr), CURAND_STATUS_NOT_INITIALIZED);
  EXPECT_EQ(curandSetPseudoRandomGeneratorSeed(none, 1), CURAND_STATUS_NOT_INITIALIZED);
  EXPECT_EQ(curandSetGeneratorOffset(none, 1), CURAND_STATUS_NOT_INITIALIZED);
  EXPECT_EQ(curandSetGeneratorOrdering(none, CURAND_ORDERING_PSEUDO_BEST), CURAND_STATUS_NOT_INITIALIZED);
  EXPECT_EQ(curandSetQuasiRandomGeneratorDimensions(none, 1), CURAND_STATUS_NOT_INITIALIZED);
  for (curandRngType_t type : kTypes) {
    Generator g(type, true);
    const bool by_pairs = type == CURAND_RNG_PSEUDO_XORWOW || type == CURAND_RNG_PSEUDO_MRG32K3A;
    EXPECT_EQ(curandGenerateNormal(g, numbers, 3, 0, 1),
              by_pairs ? CURAND_STATUS_LENGTH_NOT_MULTIPLE : CURAND_STATUS_SUCCESS);
    Long wide = 0;
    EXPECT_EQ(curandGenerateLongLong(g, &wide, 1), CURAND_STATUS_TYPE_ERROR);
    EXPECT_EQ(curandSetQuasiRandomGeneratorDimensions(g, 2), CURAND_STATUS_TYPE_ERROR);
    EXPECT_EQ(curandSetGeneratorOrdering(g, CURAND_ORDERING_QUASI_DEFAULT), CURAND_STATUS_OUT_OF_RANGE);
    for (double mean : {0.0, -1.0, 400001.0})
      EXPECT_EQ(curandGeneratePoisson(g, bits, 4, mean), CURAND_STATUS_OUT_OF_RANGE);
    EXPECT_EQ(curandSetGeneratorOffset(g, 2),
              type == CURAND_RNG_PSEUDO_MTGP32 ? CURAND_STATUS_TYPE_ERROR : CURAND_STATUS_SUCCESS);
    RAND_OK(curandGenerate(g, bits, 0));
    RAND_OK(curandSetStream(g, nullptr));
    RAND_OK(curandGenerateSeeds(g));
  }
  for (curandRngType_t type : {CURAND_RNG_QUASI_SOBOL32, CURAND_RNG_QUASI_SOBOL64}) {
    Quasi g(type, true, 3);
    const bool is_wide = type == CURAND_RNG_QUASI_SOBOL64;
    Long wide[4];
    EXPECT_EQ(curandGenerate(g, bits, 3), is_wide ? CURAND_STATUS_TYPE_ERROR : CURAND_STATUS_SUCCESS);
    EXPECT_EQ(curandGenerateLongLong(g, wide, 3), is_wide ? CURAND_STATUS_SUCCESS : CURAND_STATUS_TYPE_ERROR);
    EXPECT_EQ(curandGenerateUniform(g, numbers, 4), CURAND_STATUS_LENGTH_NOT_MULTIPLE);
    EXPECT_EQ(curandSetPseudoRandomGeneratorSeed(g, 1), CURAND_STATUS_TYPE_ERROR);
    EXPECT_EQ(curandSetGeneratorOrdering(g, CURAND_ORDERING_PSEUDO_DEFAULT), CURAND_STATUS_OUT_OF_RANGE);
    RAND_OK(curandSetGeneratorOrdering(g, CURAND_ORDERING_QUASI_DEFAULT));
    EXPECT_EQ(curandSetQuasiRandomGeneratorDimensions(g, 0), CURAND_STATUS_OUT_OF_RANGE);
    EXPECT_EQ(curandSetQuasiRandomGeneratorDimensions(g, 20001), CURAND_STATUS_OUT_OF_RANGE);
    RAND_OK(curandSetQuasiRandomGeneratorDimensions(g, 20000));
  }
}
