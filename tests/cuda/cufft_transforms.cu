// cuFFT: every type, layout and form of plans against the sums that define them, and what wrong calls return.
#include <cufft.h>
#include <cufftXt.h>

#include <complex>

#include "tests/cuda/harness.h"

using Value = std::complex<double>;
using Values = std::vector<Value>;
using Sizes = std::vector<int>;

#define FFT_OK(call) EXPECT_EQ(call, CUFFT_SUCCESS)

__global__ void Scale(float* values, int n, float by) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) values[i] *= by;
}

static const double kTurn = 2 * std::acos(-1.0);

static int Product(const Sizes& sizes) {
  int product = 1;
  for (int size : sizes) product *= size;
  return product;
}

// One transform by the sum, dimension by dimension.
static Values Sum(Values values, const Sizes& sizes, int sign) {
  size_t after = 1;
  for (size_t dim = sizes.size(); dim-- > 0;) {
    const size_t n = size_t(sizes[dim]);
    Values result(values.size());
    for (size_t at = 0; at < values.size(); ++at) {
      const size_t k = at / after % n, first = at - k * after;
      for (size_t j = 0; j < n; ++j)
        result[at] += values[first + j * after] * std::polar(1.0, sign * kTurn * double(j * k % n) / double(n));
    }
    values = result;
    after *= n;
  }
  return values;
}
// What is kept of the spectrum of real numbers.
static Values Half(const Values& whole, int n) {
  Values half;
  for (size_t at = 0; at < whole.size(); ++at)
    if (int(at) % n <= n / 2) half.push_back(whole[at]);
  return half;
}
static Values Signal(int count, uint64_t seed, bool real) {
  harness::Random random(seed);
  Values values;
  for (int i = 0; i < count; ++i) {
    const double a = random.Uniform() * 2 - 1, b = random.Uniform() * 2 - 1;
    values.push_back(real ? Value(a) : Value(a, b));
  }
  return values;
}

template <class T>
std::vector<T> Numbers(const Values& values, bool real) {
  std::vector<T> numbers;
  for (const Value& value : values) {
    numbers.push_back(T(value.real()));
    if (!real) numbers.push_back(T(value.imag()));
  }
  return numbers;
}
template <class T>
void ExpectNear(const std::vector<T>& got, const std::vector<T>& want, int line) {
  double scale = 1;
  for (T value : want) scale = std::max(scale, std::abs(double(value)));
  const double tolerance = 32 * scale * double(std::numeric_limits<T>::epsilon());
  if (got.size() != want.size()) return harness::Fail(__FILE__, line, "sizes differ");
  for (size_t i = 0; i < got.size(); ++i)
    if (!(std::abs(double(got[i]) - double(want[i])) <= tolerance))
      return harness::Fail(
          __FILE__, line,
          "number " + std::to_string(i) + ": got " + harness::Show(got[i]) + ", want " + harness::Show(want[i]));
}

// The calls of either precision.
template <class T>
struct Fft;
template <>
struct Fft<float> {
  using Complex = cufftComplex;
  static constexpr cufftType kC2C = CUFFT_C2C, kR2C = CUFFT_R2C, kC2R = CUFFT_C2R;
  static cufftResult C2C(cufftHandle plan, float* in, float* out, int direction) {
    return cufftExecC2C(plan, (Complex*)in, (Complex*)out, direction);
  }
  static cufftResult R2C(cufftHandle plan, float* in, float* out) { return cufftExecR2C(plan, in, (Complex*)out); }
  static cufftResult C2R(cufftHandle plan, float* in, float* out) { return cufftExecC2R(plan, (Complex*)in, out); }
};
template <>
struct Fft<double> {
  using Complex = cufftDoubleComplex;
  static constexpr cufftType kC2C = CUFFT_Z2Z, kR2C = CUFFT_D2Z, kC2R = CUFFT_Z2D;
  static cufftResult C2C(cufftHandle plan, double* in, double* out, int direction) {
    return cufftExecZ2Z(plan, (Complex*)in, (Complex*)out, direction);
  }
  static cufftResult R2C(cufftHandle plan, double* in, double* out) { return cufftExecD2Z(plan, in, (Complex*)out); }
  static cufftResult C2R(cufftHandle plan, double* in, double* out) { return cufftExecZ2D(plan, (Complex*)in, out); }
};

struct Plan {
  cufftHandle handle = CUFFT_PLAN_NULL;
  // By the call for its dimensions; of one dimension there may be many.
  Plan(const Sizes& n, cufftType type, int batch) {
    if (n.size() == 1) FFT_OK(cufftPlan1d(&handle, n[0], type, batch));
    if (n.size() == 2) FFT_OK(cufftPlan2d(&handle, n[0], n[1], type));
    if (n.size() == 3) FFT_OK(cufftPlan3d(&handle, n[0], n[1], n[2], type));
  }
  Plan() { FFT_OK(cufftCreate(&handle)); }
  ~Plan() { FFT_OK(cufftDestroy(handle)); }
  operator cufftHandle() const { return handle; }
};

// Each transform of a batch has a signal of its own.
static Values Signals(const Sizes& sizes, int batch, uint64_t seed, bool real) {
  return Signal(Product(sizes) * batch, seed, real);
}
static Values Each(const Values& values, const Sizes& sizes, int batch, int sign, bool half) {
  Values all;
  const long each = Product(sizes);
  for (long b = 0; b < batch; ++b) {
    Values one = Sum(Values(values.begin() + b * each, values.begin() + (b + 1) * each), sizes, sign);
    if (half) one = Half(one, sizes.back());
    all.insert(all.end(), one.begin(), one.end());
  }
  return all;
}
// Rows with room for what their spectra keep, and a number that says so behind them.
template <class T>
std::vector<T> Padded(const std::vector<T>& rows, int n, T padding) {
  std::vector<T> padded;
  for (size_t i = 0; i < rows.size(); ++i) {
    padded.push_back(rows[i]);
    if (int(i) % n == n - 1) padded.resize(padded.size() + 2 * (n / 2 + 1) - n, padding);
  }
  return padded;
}
template <class T>
std::vector<T> Unpadded(const std::vector<T>& padded, int n) {
  std::vector<T> rows;
  for (size_t i = 0; i < padded.size(); ++i)
    if (int(i) % (2 * (n / 2 + 1)) < n) rows.push_back(padded[i]);
  return rows;
}

template <class T>
void Complexes(const Sizes& sizes, int batch) {
  Plan plan(sizes, Fft<T>::kC2C, batch);
  const Values values = Signals(sizes, batch, 1, false);
  for (int direction : {CUFFT_FORWARD, CUFFT_INVERSE}) {
    const auto want = Numbers<T>(Each(values, sizes, batch, direction, false), false);
    harness::Buffer<T> in(Numbers<T>(values, false)), out(want.size());
    FFT_OK(Fft<T>::C2C(plan, in, out, direction));
    ExpectNear(out.Get(), want, __LINE__);
    FFT_OK(Fft<T>::C2C(plan, in, in, direction));
    ExpectNear(in.Get(), want, __LINE__);
  }
}

template <class T>
void Reals(const Sizes& sizes, int batch) {
  Plan there(sizes, Fft<T>::kR2C, batch), back(sizes, Fft<T>::kC2R, batch);
  const Values values = Signals(sizes, batch, 2, true);
  const auto signal = Numbers<T>(values, true);
  const auto spectrum = Numbers<T>(Each(values, sizes, batch, -1, true), false);
  std::vector<T> again = signal;  // unnormalised
  for (T& number : again) number *= T(Product(sizes));
  const int n = sizes.back();
  {
    harness::Buffer<T> in(signal), out(spectrum.size());
    FFT_OK(Fft<T>::R2C(there, in, out));
    ExpectNear(out.Get(), spectrum, __LINE__);
    ExpectNear(in.Get(), signal, __LINE__);
    FFT_OK(Fft<T>::C2R(back, out, in));
    ExpectNear(in.Get(), again, __LINE__);
  }
  // In place rows are padded.
  harness::Buffer<T> both(Padded(signal, n, T(0)));
  FFT_OK(Fft<T>::R2C(there, both, both));
  ExpectNear(both.Get(), spectrum, __LINE__);
  FFT_OK(Fft<T>::C2R(back, both, both));
  std::vector<T> padded(both.size());
  CUDA_OK(cudaMemcpy(padded.data(), both.get(), padded.size() * sizeof(T), cudaMemcpyDeviceToHost));
  const std::vector<T> rows = Unpadded(padded, n);  // what is between them is nobody's
  harness::Hash(rows.data(), rows.size() * sizeof(T));
  ExpectNear(rows, again, __LINE__);
}

CASE(complex_of_many_lengths) {
  for (int n : {1, 2, 3, 4, 5, 7, 8, 11, 16, 30, 64, 97, 101, 256, 331}) {
    Complexes<float>({n}, 3);
    Complexes<double>({n}, 2);
  }
}
CASE(real_of_many_lengths) {
  for (int n : {1, 2, 3, 4, 5, 6, 8, 11, 16, 30, 64, 97, 106, 128, 331}) {
    Reals<float>({n}, 3);
    Reals<double>({n}, 2);
  }
}
CASE(of_two_dimensions) {
  for (const Sizes& sizes : {Sizes{4, 8}, {5, 6}, {1, 7}, {9, 1}, {16, 15}, {2, 67}}) {
    Complexes<float>(sizes, 1), Complexes<double>(sizes, 1);
    Reals<float>(sizes, 1), Reals<double>(sizes, 1);
  }
}
CASE(of_three_dimensions) {
  for (const Sizes& sizes : {Sizes{2, 3, 4}, {4, 4, 4}, {3, 1, 5}, {5, 6, 7}}) {
    Complexes<float>(sizes, 1), Complexes<double>(sizes, 1);
    Reals<float>(sizes, 1), Reals<double>(sizes, 1);
  }
}

// Two pictures, interleaved, with gaps: what lies between results stays.
CASE(advanced_layouts) {
  const int kBatch = 2, kRows = 3, kColumns = 5, kBins = kColumns / 2 + 1;
  int n[] = {kRows, kColumns}, in_embed[] = {0, 7}, out_embed[] = {0, 4};
  const Values values = Signals({kRows, kColumns}, kBatch, 3, true);
  std::vector<float> in(kRows * 7 * kBatch, 99), out(kRows * 4 * kBatch * 2, -77), want = out;
  const auto spectra = Each(values, {kRows, kColumns}, kBatch, -1, true);
  for (int b = 0; b < kBatch; ++b)
    for (int r = 0; r < kRows; ++r) {
      for (int c = 0; c < kColumns; ++c)
        in[(r * 7 + c) * kBatch + b] = float(values[(b * kRows + r) * kColumns + c].real());
      for (int c = 0; c < kBins; ++c) {
        const Value value = spectra[(b * kRows + r) * kBins + c];
        want[((r * 4 + c) * kBatch + b) * 2] = float(value.real());
        want[((r * 4 + c) * kBatch + b) * 2 + 1] = float(value.imag());
      }
    }
  harness::Buffer<float> from(in), to(out);
  Plan plan, back;
  size_t work = 1;
  FFT_OK(cufftMakePlanMany(plan, 2, n, in_embed, kBatch, 1, out_embed, kBatch, 1, CUFFT_R2C, kBatch, &work));
  FFT_OK(cufftExecR2C(plan, from, (cufftComplex*)to.get()));
  ExpectNear(to.Get(), want, __LINE__);
  long long n64[] = {kRows, kColumns}, in64[] = {0, 4}, out64[] = {0, 7};
  FFT_OK(cufftMakePlanMany64(back, 2, n64, in64, kBatch, 1, out64, kBatch, 1, CUFFT_C2R, kBatch, &work));
  FFT_OK(cufftExecC2R(back, (cufftComplex*)to.get(), from));
  std::vector<float> again = in;
  for (int i = 0; i < int(again.size()); ++i)
    if (i / kBatch % 7 < kColumns) again[i] *= kRows * kColumns;
  ExpectNear(from.Get(), again, __LINE__);
  // Without layouts nothing else that is said of places counts.
  cufftHandle packed;
  FFT_OK(cufftPlanMany(&packed, 2, n, nullptr, 5, 1, nullptr, 6, 2, CUFFT_R2C, kBatch));
  harness::Buffer<float> plain(Numbers<float>(values, true)), result(kBatch * kRows * kBins * 2);
  FFT_OK(cufftExecR2C(packed, plain, (cufftComplex*)result.get()));
  ExpectNear(result.Get(), Numbers<float>(spectra, false), __LINE__);
  FFT_OK(cufftDestroy(packed));
}

CASE(windows_that_overlap) {
  const int kSamples = 100, kWindow = 16, kHop = 4, kWindows = (kSamples - kWindow) / kHop + 1;
  const Values signal = Signal(kSamples, 4, true);
  Values want;
  for (int i = 0; i < kWindows; ++i) {
    const Values window(signal.begin() + i * kHop, signal.begin() + i * kHop + kWindow);
    const Values half = Half(Sum(window, {kWindow}, -1), kWindow);
    want.insert(want.end(), half.begin(), half.end());
  }
  int n = kWindow, embed = kWindow, bins = kWindow / 2 + 1;
  cufftHandle plan;
  FFT_OK(cufftPlanMany(&plan, 1, &n, &embed, 1, kHop, &bins, 1, bins, CUFFT_R2C, kWindows));
  harness::Buffer<float> in(Numbers<float>(signal, true)), out(want.size() * 2);
  FFT_OK(cufftExecR2C(plan, in, (cufftComplex*)out.get()));
  ExpectNear(out.Get(), Numbers<float>(want, false), __LINE__);
  FFT_OK(cufftDestroy(plan));
}

// Plans made in two steps, with a work area of the program's own.
CASE(two_steps_and_work_areas) {
  const Values values = Signal(48, 5, false);
  const auto want = Numbers<double>(Sum(values, {48}, -1), false);
  harness::Buffer<double> in(Numbers<double>(values, false)), out(want.size());
  Plan plan;
  size_t estimate = 1, size = 1, made = 1, got = 1;
  FFT_OK(cufftEstimate1d(48, CUFFT_Z2Z, 1, &estimate));
  FFT_OK(cufftSetAutoAllocation(plan, 0));
  FFT_OK(cufftGetSize1d(plan, 48, CUFFT_Z2Z, 1, &size));
  FFT_OK(cufftMakePlan1d(plan, 48, CUFFT_Z2Z, 1, &made));
  FFT_OK(cufftGetSize(plan, &got));
  EXPECT_EQ(got, made);
  harness::Buffer<char> area(made);
  FFT_OK(cufftSetWorkArea(plan, area));
  FFT_OK(cufftExecZ2Z(plan, (cufftDoubleComplex*)in.get(), (cufftDoubleComplex*)out.get(), CUFFT_FORWARD));
  ExpectNear(out.Get(), want, __LINE__);

  size_t sizes[6] = {1, 1, 1, 1, 1, 1};
  int n[] = {4, 6};
  long long n64[] = {4, 6};
  Plan other;
  FFT_OK(cufftEstimate2d(4, 6, CUFFT_C2C, &sizes[0]));
  FFT_OK(cufftEstimate3d(2, 4, 6, CUFFT_R2C, &sizes[1]));
  FFT_OK(cufftEstimateMany(2, n, nullptr, 1, 24, nullptr, 1, 24, CUFFT_C2C, 3, &sizes[2]));
  FFT_OK(cufftGetSize2d(other, 4, 6, CUFFT_C2C, &sizes[3]));
  FFT_OK(cufftGetSizeMany(other, 2, n, nullptr, 1, 24, nullptr, 1, 24, CUFFT_C2C, 3, &sizes[4]));
  FFT_OK(cufftGetSizeMany64(other, 2, n64, nullptr, 1, 24, nullptr, 1, 24, CUFFT_C2C, 3, &sizes[5]));
}

template <class T>
void ByXt(cudaDataType real, cudaDataType complex) {
  long long n[] = {6, 10};
  const Values values = Signals({6, 10}, 2, 6, false), reals = Signals({6, 10}, 2, 7, true);
  size_t work = 1;
  {
    Plan plan;
    FFT_OK(cufftXtMakePlanMany(plan, 2, n, nullptr, 1, 1, complex, nullptr, 1, 1, complex, 2, &work, complex));
    harness::Buffer<T> in(Numbers<T>(values, false)), out(in.size());
    FFT_OK(cufftXtExec(plan, in, out, CUFFT_INVERSE));
    ExpectNear(out.Get(), Numbers<T>(Each(values, {6, 10}, 2, 1, false), false), __LINE__);
  }
  Plan there, back;
  FFT_OK(cufftXtMakePlanMany(there, 2, n, nullptr, 1, 1, real, nullptr, 1, 1, complex, 2, &work, complex));
  FFT_OK(cufftXtMakePlanMany(back, 2, n, nullptr, 1, 1, complex, nullptr, 1, 1, real, 2, &work, complex));
  auto signal = Numbers<T>(reals, true);
  harness::Buffer<T> in(signal), out(2 * 6 * 6 * 2);
  FFT_OK(cufftXtExec(there, in, out, CUFFT_FORWARD));
  ExpectNear(out.Get(), Numbers<T>(Each(reals, {6, 10}, 2, -1, true), false), __LINE__);
  FFT_OK(cufftXtExec(back, out, in, CUFFT_INVERSE));
  for (T& number : signal) number *= 60;
  ExpectNear(in.Get(), signal, __LINE__);
}
CASE(plans_of_xt) {
  ByXt<float>(CUDA_R_32F, CUDA_C_32F);
  ByXt<double>(CUDA_R_64F, CUDA_C_64F);
}

// A signal is filtered on a stream, between kernels; then the same as a graph, again and again.
CASE(streams_and_graphs) {
  const int kN = 500, kBins = kN / 2 + 1;
  const auto signal = Numbers<float>(Signal(kN, 8, true), true);
  std::vector<float> want = signal;
  for (float& number : want) number *= 3.0f * 0.5f * kN;
  cudaStream_t stream;
  CUDA_OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  Plan there({kN}, CUFFT_R2C, 1), back({kN}, CUFFT_C2R, 1);
  FFT_OK(cufftSetStream(there, stream));
  FFT_OK(cufftSetStream(back, stream));
  harness::Buffer<float> in(signal), out(kN), between(2 * kBins);
  CUDA_OK(cudaDeviceSynchronize());
  const auto work = [&] {
    Scale<<<(kN + 127) / 128, 128, 0, stream>>>(in, kN, 3);
    FFT_OK(cufftExecR2C(there, in, (cufftComplex*)between.get()));
    Scale<<<(2 * kBins + 127) / 128, 128, 0, stream>>>(between, 2 * kBins, 0.5f);
    FFT_OK(cufftExecC2R(back, (cufftComplex*)between.get(), out));
  };
  work();
  CUDA_OK(cudaStreamSynchronize(stream));
  ExpectNear(out.Get(), want, __LINE__);
  in.Set(signal);
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  CUDA_OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  work();
  CUDA_OK(cudaStreamEndCapture(stream, &graph));
  size_t nodes = 0;
  CUDA_OK(cudaGraphGetNodes(graph, nullptr, &nodes));
  EXPECT(nodes >= 4);
  CUDA_OK(cudaGraphInstantiate(&exec, graph, 0));
  float scale = 1;
  for (int i = 0; i < 5; ++i) {
    CUDA_OK(cudaGraphLaunch(exec, stream));
    CUDA_OK(cudaStreamSynchronize(stream));
    std::vector<float> now = want;
    for (float& number : now) number *= scale;
    ExpectNear(out.Get(), now, __LINE__);
    scale *= 3;
  }
  CUDA_OK(cudaGraphExecDestroy(exec));
  CUDA_OK(cudaGraphDestroy(graph));
  CUDA_OK(cudaStreamDestroy(stream));
}

CASE(versions_and_properties) {
  int version = 0, parts[3] = {};
  FFT_OK(cufftGetVersion(&version));
  for (int i = 0; i < 3; ++i) FFT_OK(cufftGetProperty(libraryPropertyType(i), &parts[i]));
  EXPECT_EQ(version, parts[0] * 1000 + parts[1] * 100 + parts[2]);
  EXPECT_EQ(cufftGetProperty(libraryPropertyType(3), &version), CUFFT_INVALID_TYPE);
  EXPECT_EQ(cufftGetProperty(MAJOR_VERSION, nullptr), CUFFT_INVALID_VALUE);
}

CASE(wrong_plans) {
  cufftHandle plan = 1234;
  EXPECT_EQ(cufftPlan1d(&plan, 0, CUFFT_C2C, 1), CUFFT_INVALID_SIZE);
  EXPECT_EQ(cufftPlan1d(&plan, -8, CUFFT_C2C, 1), CUFFT_INVALID_SIZE);
  EXPECT_EQ(cufftPlan1d(&plan, 8, cufftType(0x28), 1), CUFFT_INVALID_TYPE);
  EXPECT_EQ(cufftPlan2d(&plan, 0, 8, CUFFT_C2C), CUFFT_INVALID_SIZE);
  EXPECT_EQ(cufftPlan2d(&plan, 8, 0, CUFFT_R2C), CUFFT_INTERNAL_ERROR);
  FFT_OK(cufftPlan2d(&plan, 8, 0, CUFFT_C2C));  // behind the first it stands for one
  FFT_OK(cufftDestroy(plan));
  const cufftHandle none = 98765;
  size_t work = 0;
  char data[16];
  EXPECT_EQ(cufftDestroy(none), CUFFT_INVALID_PLAN);
  EXPECT_EQ(cufftDestroy(CUFFT_PLAN_NULL), CUFFT_SUCCESS);
  EXPECT_EQ(cufftMakePlan1d(none, 8, CUFFT_C2C, 1, &work), CUFFT_INVALID_PLAN);
  EXPECT_EQ(cufftMakePlan1d(none, 0, CUFFT_C2C, 1, &work), CUFFT_INVALID_PLAN);
  EXPECT_EQ(cufftMakePlan1d(none, 8, CUFFT_C2C, 1, nullptr), CUFFT_INVALID_VALUE);
  EXPECT_EQ(cufftGetSize(none, &work), CUFFT_INVALID_PLAN);
  EXPECT_EQ(cufftSetWorkArea(none, data), CUFFT_INVALID_PLAN);
  EXPECT_EQ(cufftSetAutoAllocation(none, 1), CUFFT_INVALID_PLAN);
  EXPECT_EQ(cufftSetStream(none, nullptr), CUFFT_INVALID_PLAN);
  EXPECT_EQ(cufftExecR2C(none, nullptr, nullptr), CUFFT_INVALID_PLAN);
  EXPECT_EQ(cufftXtExec(none, data, data, CUFFT_FORWARD), CUFFT_INVALID_PLAN);
  Plan empty;
  EXPECT_EQ(cufftExecC2C(empty, (cufftComplex*)data, (cufftComplex*)data, CUFFT_FORWARD), CUFFT_INVALID_PLAN);
  FFT_OK(cufftMakePlan1d(empty, 8, CUFFT_C2C, 1, &work));
  EXPECT_EQ(cufftMakePlan1d(empty, 8, CUFFT_C2C, 1, &work), CUFFT_INVALID_PLAN);  // it is one already
  harness::Buffer<float> memory(64);
  auto* const numbers = (cufftComplex*)memory.get();
  EXPECT_EQ(cufftExecC2C(empty, numbers, numbers, 0), CUFFT_INVALID_VALUE);
  // Callbacks are the static library's.
  EXPECT_EQ(cufftXtSetCallback(empty, nullptr, CUFFT_CB_LD_COMPLEX, nullptr), CUFFT_NOT_IMPLEMENTED);
  EXPECT_EQ(cufftXtClearCallback(empty, CUFFT_CB_LD_COMPLEX), CUFFT_NOT_IMPLEMENTED);
  FFT_OK(cufftExecC2C(empty, numbers, numbers, CUFFT_FORWARD));  // it still works
  CUDA_OK(cudaDeviceSynchronize());
}
