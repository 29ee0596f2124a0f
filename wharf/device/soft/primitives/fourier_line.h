// Fourier transforms of one line: complex, and of real numbers. Lengths whose prime factors are small are Eigen's;
// others are convolutions of such lengths (Bluestein), in double.
#pragma once

#include <complex>
#include <cstdint>
#include <memory>
#include <vector>

namespace wharf::device::soft {

// Whether lines of that length are transformed here: those of Bluestein take thirty times the memory of a line.
bool HasFourierLine(int64_t length);

// T is float or double. One thread at a time.
template <typename T>
class ComplexLine {
 public:
  // REQUIRES: HasFourierLine(length).
  ComplexLine(int64_t length, bool inverse);
  ~ComplexLine();
  // All of `length` elements; `out` does not overlap `in`.
  void Run(const std::complex<T>* in, std::complex<T>* out);
  // Bytes that it has for itself.
  int64_t Bytes() const;

 private:
  struct Direct;
  struct Convolved;
  int64_t length_;
  bool inverse_;
  std::unique_ptr<Direct> direct_;        // of small factors, but length 1
  std::unique_ptr<Convolved> convolved_;  // of others
};

// `length` real numbers and length / 2 + 1 complex ones, in one direction.
template <typename T>
class RealLine {
 public:
  // REQUIRES: HasFourierLine(length).
  RealLine(int64_t length, bool inverse);
  // REQUIRES: not inverse. `out` does not overlap `in`.
  void Forward(const T* in, std::complex<T>* out);
  // REQUIRES: inverse. The imaginary parts of the first element, and of the last if `length` is even, are taken for 0.
  void Inverse(const std::complex<T>* in, T* out);
  int64_t Bytes() const;

 private:
  bool IsEven() const { return length_ % 2 == 0; }
  int64_t length_;
  ComplexLine<T> line_;  // of half the length if it is even
  std::vector<std::complex<T>> roots_;
  std::vector<std::complex<T>> from_, to_;
};

extern template class ComplexLine<float>;
extern template class ComplexLine<double>;
extern template class RealLine<float>;
extern template class RealLine<double>;

}  // namespace wharf::device::soft
