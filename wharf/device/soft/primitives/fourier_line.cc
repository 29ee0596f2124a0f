#include "wharf/device/soft/primitives/fourier_line.h"

#include <algorithm>
#include <numbers>
#include <unsupported/Eigen/FFT>

namespace wharf::device::soft {
namespace {

constexpr int64_t kLargestFactor = 50;                   // Eigen's time grows with it
constexpr int64_t kLongestDirect = int64_t{1} << 26;     // of which there are three lines beside the tensors
constexpr int64_t kLongestConvolved = int64_t{1} << 21;  // some 300 MB

bool HasSmallFactors(int64_t length) {
  for (int64_t factor = 2; factor <= kLargestFactor; ++factor) {
    while (length % factor == 0) length /= factor;
  }
  return length == 1;
}

// exp(2 pi i * numerator / denominator) to the last bit or so. REQUIRES: 0 <= numerator < denominator.
std::complex<double> Root(int64_t numerator, int64_t denominator) {
  return std::polar(1.0, 2 * std::numbers::pi * static_cast<double>(numerator) / static_cast<double>(denominator));
}

}  // namespace

bool HasFourierLine(int64_t length) {
  return length <= kLongestConvolved || (length <= kLongestDirect && HasSmallFactors(length));
}

template <typename T>
struct ComplexLine<T>::Direct {
  Direct() { fft.SetFlag(Eigen::FFT<T>::Unscaled); }
  Eigen::FFT<T> fft;
};

// k j = (k^2 + j^2 - (k - j)^2) / 2 makes of the sum a convolution with exp(-s i pi k^2 / n), which is made at a length
// without wrap.
template <typename T>
struct ComplexLine<T>::Convolved {
  Convolved(int64_t length, bool inverse) : padded(1), chirp(length) {
    while (padded < 2 * length - 1) padded *= 2;
    fft.SetFlag(Eigen::FFT<double>::Unscaled);
    sums.resize(padded);
    spectrum.resize(padded);
    kernel.resize(padded);
    for (int64_t k = 0; k < length; ++k) {
      const std::complex<double> root = Root(k * k % (2 * length), 2 * length);
      chirp[k] = inverse ? root : std::conj(root);
      sums[k] = sums[(padded - k) % padded] = std::conj(chirp[k]);
    }
    fft.fwd(kernel.data(), sums.data(), padded);
    for (std::complex<double>& value : kernel) value /= static_cast<double>(padded);
  }
  void Run(const std::complex<T>* in, std::complex<T>* out) {
    const auto length = static_cast<int64_t>(chirp.size());
    std::fill(sums.begin() + length, sums.end(), 0.0);
    for (int64_t k = 0; k < length; ++k) sums[k] = std::complex<double>(in[k]) * chirp[k];
    fft.fwd(spectrum.data(), sums.data(), padded);
    // The inverse by the forward transform of the conjugate, which saves the other direction's roots.
    for (int64_t k = 0; k < padded; ++k) spectrum[k] = std::conj(spectrum[k] * kernel[k]);
    fft.fwd(sums.data(), spectrum.data(), padded);
    for (int64_t k = 0; k < length; ++k) out[k] = std::complex<T>(std::conj(sums[k]) * chirp[k]);
  }

  int64_t padded;
  std::vector<std::complex<double>> chirp, kernel, sums, spectrum;
  Eigen::FFT<double> fft;
};

template <typename T>
ComplexLine<T>::ComplexLine(int64_t length, bool inverse) : length_(length), inverse_(inverse) {
  if (length == 1) return;
  if (HasSmallFactors(length)) {
    direct_ = std::make_unique<Direct>();
  } else {
    convolved_ = std::make_unique<Convolved>(length, inverse);
  }
}
template <typename T>
ComplexLine<T>::~ComplexLine() = default;

template <typename T>
void ComplexLine<T>::Run(const std::complex<T>* in, std::complex<T>* out) {
  if (convolved_ != nullptr) {
    convolved_->Run(in, out);
  } else if (direct_ == nullptr) {
    *out = *in;
  } else if (inverse_) {
    direct_->fft.inv(out, in, length_);
  } else {
    direct_->fft.fwd(out, in, length_);
  }
}

template <typename T>
int64_t ComplexLine<T>::Bytes() const {
  constexpr auto kElement = static_cast<int64_t>(sizeof(std::complex<T>)), kWide = int64_t{16};
  return convolved_ != nullptr ? (4 * convolved_->padded + length_) * kWide : length_ * kElement;
}

template <typename T>
RealLine<T>::RealLine(int64_t length, bool inverse)
    : length_(length), line_(length % 2 == 0 ? length / 2 : length, inverse) {
  if (!IsEven()) {
    from_.resize(length);
    to_.resize(length);
    return;
  }
  from_.resize(length / 2);
  to_.resize(length / 2);
  roots_.resize(length / 2);
  for (int64_t k = 0; k < length / 2; ++k) {
    const std::complex<double> root = Root(k, length);
    roots_[k] = std::complex<T>(inverse ? root : std::conj(root));
  }
}

// Of even length: those at even places as real parts, those at odd ones as imaginary parts.
template <typename T>
void RealLine<T>::Forward(const T* in, std::complex<T>* out) {
  using Complex = std::complex<T>;
  if (!IsEven()) {
    for (int64_t i = 0; i < length_; ++i) from_[i] = in[i];
    line_.Run(from_.data(), to_.data());
    std::copy_n(to_.begin(), length_ / 2 + 1, out);
    return;
  }
  const int64_t half = length_ / 2;
  for (int64_t i = 0; i < half; ++i) from_[i] = Complex(in[2 * i], in[2 * i + 1]);
  line_.Run(from_.data(), to_.data());
  out[0] = to_[0].real() + to_[0].imag();
  out[half] = to_[0].real() - to_[0].imag();
  for (int64_t k = 1; k < half; ++k) {
    const Complex mirrored = std::conj(to_[half - k]);
    const Complex even = to_[k] + mirrored, odd = (to_[k] - mirrored) * roots_[k];
    out[k] = Complex(even.real() + odd.imag(), even.imag() - odd.real()) * T{0.5};
  }
}

template <typename T>
void RealLine<T>::Inverse(const std::complex<T>* in, T* out) {
  using Complex = std::complex<T>;
  if (!IsEven()) {
    from_[0] = in[0].real();
    for (int64_t k = 1; k <= length_ / 2; ++k) {
      from_[k] = in[k];
      from_[length_ - k] = std::conj(in[k]);
    }
    line_.Run(from_.data(), to_.data());
    for (int64_t i = 0; i < length_; ++i) out[i] = to_[i].real();
    return;
  }
  const int64_t half = length_ / 2;
  from_[0] = Complex(in[0].real() + in[half].real(), in[0].real() - in[half].real());
  for (int64_t k = 1; k < half; ++k) {
    const Complex mirrored = std::conj(in[half - k]);
    const Complex even = in[k] + mirrored, odd = (in[k] - mirrored) * roots_[k];
    from_[k] = Complex(even.real() - odd.imag(), even.imag() + odd.real());
  }
  line_.Run(from_.data(), to_.data());
  for (int64_t i = 0; i < half; ++i) {
    out[2 * i] = to_[i].real();
    out[2 * i + 1] = to_[i].imag();
  }
}

template <typename T>
int64_t RealLine<T>::Bytes() const {
  const auto own = static_cast<int64_t>(roots_.size() + from_.size() + to_.size());
  return line_.Bytes() + own * static_cast<int64_t>(sizeof(std::complex<T>));
}

template class ComplexLine<float>;
template class ComplexLine<double>;
template class RealLine<float>;
template class RealLine<double>;

}  // namespace wharf::device::soft
