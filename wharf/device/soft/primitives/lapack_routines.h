// LAPACK's routines, of OpenBLAS, as overloads for the four types of elements: matrices without gaps between columns,
// which have working memory of their own. Each returns LAPACK's info. OpenBLAS has them under their Fortran names, with
// the lengths of texts behind the arguments.
#pragma once

#include <algorithm>
#include <complex>
#include <cstddef>
#include <type_traits>
#include <vector>

namespace wharf::device::soft::routines {

template <typename T>
struct RealOf {
  using Type = T;
};
template <typename R>
struct RealOf<std::complex<R>> {
  using Type = R;
};
template <typename T>
using Real = typename RealOf<T>::Type;

template <typename T>
inline constexpr bool kIsComplex = !std::is_same_v<T, Real<T>>;

// Elements of working memory, from what a query says, which floats round.
template <typename T>
int WorkElements(T answer) {
  const double asked = static_cast<double>(std::real(answer));
  return static_cast<int>(std::min(asked * 1.000001 + 1, 2147483647.0));
}

// `call(work, size)` asks for the size, if that is -1, by the first element of `work`; then it computes.
template <typename T, typename Call>
int WithWork(Call&& call) {
  T answer{};
  if (const int info = call(&answer, -1); info != 0) return info;
  const int size = std::max(1, WorkElements(answer));
  std::vector<T> work(static_cast<size_t>(size));
  return call(work.data(), size);
}

#define WHARF_LAPACK_COMMON(x, T)                                                                                      \
  extern "C" {                                                                                                         \
  void x##potrf_(const char*, const int*, T*, const int*, int*, size_t);                                               \
  void x##potrs_(const char*, const int*, const int*, const T*, const int*, T*, const int*, int*, size_t);             \
  void x##potri_(const char*, const int*, T*, const int*, int*, size_t);                                               \
  void x##getrf_(const int*, const int*, T*, const int*, int*, int*);                                                  \
  void x##getrs_(const char*, const int*, const int*, const T*, const int*, const int*, T*, const int*, int*, size_t); \
  void x##geqrf_(const int*, const int*, T*, const int*, T*, T*, const int*, int*);                                    \
  void x##sytrf_(const char*, const int*, T*, const int*, int*, T*, const int*, int*, size_t);                         \
  void x##sytrs_(const char*, const int*, const int*, const T*, const int*, const int*, T*, const int*, int*, size_t); \
  }                                                                                                                    \
  inline int Potrf(char uplo, int n, T* a) {                                                                           \
    int info = 0;                                                                                                      \
    x##potrf_(&uplo, &n, a, &n, &info, 1);                                                                             \
    return info;                                                                                                       \
  }                                                                                                                    \
  inline int Potrs(char uplo, int n, int k, const T* a, T* b) {                                                        \
    int info = 0;                                                                                                      \
    x##potrs_(&uplo, &n, &k, a, &n, b, &n, &info, 1);                                                                  \
    return info;                                                                                                       \
  }                                                                                                                    \
  inline int Potri(char uplo, int n, T* a) {                                                                           \
    int info = 0;                                                                                                      \
    x##potri_(&uplo, &n, a, &n, &info, 1);                                                                             \
    return info;                                                                                                       \
  }                                                                                                                    \
  inline int Getrf(int m, int n, T* a, int* pivots) {                                                                  \
    int info = 0;                                                                                                      \
    x##getrf_(&m, &n, a, &m, pivots, &info);                                                                           \
    return info;                                                                                                       \
  }                                                                                                                    \
  inline int Getrs(char transpose, int n, int k, const T* a, const int* pivots, T* b) {                                \
    int info = 0;                                                                                                      \
    x##getrs_(&transpose, &n, &k, a, &n, pivots, b, &n, &info, 1);                                                     \
    return info;                                                                                                       \
  }                                                                                                                    \
  inline int Geqrf(int m, int n, T* a, T* tau) {                                                                       \
    return WithWork<T>([&](T* work, int size) {                                                                        \
      int info = 0;                                                                                                    \
      x##geqrf_(&m, &n, a, &m, tau, work, &size, &info);                                                               \
      return info;                                                                                                     \
    });                                                                                                                \
  }                                                                                                                    \
  inline int Sytrf(char uplo, int n, T* a, int* pivots) {                                                              \
    return WithWork<T>([&](T* work, int size) {                                                                        \
      int info = 0;                                                                                                    \
      x##sytrf_(&uplo, &n, a, &n, pivots, work, &size, &info, 1);                                                      \
      return info;                                                                                                     \
    });                                                                                                                \
  }                                                                                                                    \
  inline int Sytrs(char uplo, int n, int k, const T* a, const int* pivots, T* b) {                                     \
    int info = 0;                                                                                                      \
    x##sytrs_(&uplo, &n, &k, a, &n, pivots, b, &n, &info, 1);                                                          \
    return info;                                                                                                       \
  }
WHARF_LAPACK_COMMON(s, float)
WHARF_LAPACK_COMMON(d, double)
WHARF_LAPACK_COMMON(c, std::complex<float>)
WHARF_LAPACK_COMMON(z, std::complex<double>)
#undef WHARF_LAPACK_COMMON

// Q's: ormqr and orgqr, of complex ones unmqr and ungqr. The reflectors of Ormqr are columns of `rows` elements.
#define WHARF_LAPACK_Q(T, mqr, gqr)                                                                             \
  extern "C" {                                                                                                  \
  void mqr##_(const char*, const char*, const int*, const int*, const int*, const T*, const int*, const T*, T*, \
              const int*, T*, const int*, int*, size_t, size_t);                                                \
  void gqr##_(const int*, const int*, const int*, T*, const int*, const T*, T*, const int*, int*);              \
  }                                                                                                             \
  inline int Ormqr(char side, char transpose, int m, int n, int k, const T* a, int rows, const T* tau, T* c) {  \
    return WithWork<T>([&](T* work, int size) {                                                                 \
      int info = 0;                                                                                             \
      mqr##_(&side, &transpose, &m, &n, &k, a, &rows, tau, c, &m, work, &size, &info, 1, 1);                    \
      return info;                                                                                              \
    });                                                                                                         \
  }                                                                                                             \
  inline int Orgqr(int m, int n, int k, T* a, const T* tau) {                                                   \
    return WithWork<T>([&](T* work, int size) {                                                                 \
      int info = 0;                                                                                             \
      gqr##_(&m, &n, &k, a, &m, tau, work, &size, &info);                                                       \
      return info;                                                                                              \
    });                                                                                                         \
  }
WHARF_LAPACK_Q(float, sormqr, sorgqr)
WHARF_LAPACK_Q(double, dormqr, dorgqr)
WHARF_LAPACK_Q(std::complex<float>, cunmqr, cungqr)
WHARF_LAPACK_Q(std::complex<double>, zunmqr, zungqr)
#undef WHARF_LAPACK_Q

// Singular values and eigenvalues of real matrices.
#define WHARF_LAPACK_REAL(x, T)                                                                                        \
  extern "C" {                                                                                                         \
  void x##gesvd_(const char*, const char*, const int*, const int*, T*, const int*, T*, T*, const int*, T*, const int*, \
                 T*, const int*, int*, size_t, size_t);                                                                \
  void x##gesdd_(const char*, const int*, const int*, T*, const int*, T*, T*, const int*, T*, const int*, T*,          \
                 const int*, int*, int*, size_t);                                                                      \
  void x##syevd_(const char*, const char*, const int*, T*, const int*, T*, T*, const int*, int*, const int*, int*,     \
                 size_t, size_t);                                                                                      \
  void x##sygvd_(const int*, const char*, const char*, const int*, T*, const int*, T*, const int*, T*, T*, const int*, \
                 int*, const int*, int*, size_t, size_t);                                                              \
  void x##geev_(const char*, const char*, const int*, T*, const int*, T*, T*, T*, const int*, T*, const int*, T*,      \
                const int*, int*, size_t, size_t);                                                                     \
  }                                                                                                                    \
  inline int Gesvd(char left, char right, int m, int n, T* a, T* s, T* u, T* vt, int vt_rows) {                        \
    return WithWork<T>([&](T* work, int size) {                                                                        \
      int info = 0;                                                                                                    \
      x##gesvd_(&left, &right, &m, &n, a, &m, s, u, &m, vt, &vt_rows, work, &size, &info, 1, 1);                       \
      return info;                                                                                                     \
    });                                                                                                                \
  }                                                                                                                    \
  inline int Gesdd(char job, int m, int n, T* a, T* s, T* u, T* vt, int vt_rows) {                                     \
    std::vector<int> integers(8 * static_cast<size_t>(std::min(m, n)));                                                \
    return WithWork<T>([&](T* work, int size) {                                                                        \
      int info = 0;                                                                                                    \
      x##gesdd_(&job, &m, &n, a, &m, s, u, &m, vt, &vt_rows, work, &size, integers.data(), &info, 1);                  \
      return info;                                                                                                     \
    });                                                                                                                \
  }                                                                                                                    \
  inline int Syevd(char job, char uplo, int n, T* a, T* w) {                                                           \
    int whole = 3 + 5 * n, info = 0;                                                                                   \
    std::vector<int> integers(static_cast<size_t>(whole));                                                             \
    return WithWork<T>([&](T* work, int size) {                                                                        \
      const int asked = size < 0 ? -1 : whole;                                                                         \
      x##syevd_(&job, &uplo, &n, a, &n, w, work, &size, integers.data(), &asked, &info, 1, 1);                         \
      return info;                                                                                                     \
    });                                                                                                                \
  }                                                                                                                    \
  inline int Sygvd(int type, char job, char uplo, int n, T* a, T* b, T* w) {                                           \
    int whole = 3 + 5 * n, info = 0;                                                                                   \
    std::vector<int> integers(static_cast<size_t>(whole));                                                             \
    return WithWork<T>([&](T* work, int size) {                                                                        \
      const int asked = size < 0 ? -1 : whole;                                                                         \
      x##sygvd_(&type, &job, &uplo, &n, a, &n, b, &n, w, work, &size, integers.data(), &asked, &info, 1, 1);           \
      return info;                                                                                                     \
    });                                                                                                                \
  }                                                                                                                    \
  inline int Geev(char left, char right, int n, T* a, std::complex<T>* w, T* vl, T* vr) {                              \
    std::vector<T> re(static_cast<size_t>(n)), im(static_cast<size_t>(n));                                             \
    const int status = WithWork<T>([&](T* work, int size) {                                                            \
      int info = 0;                                                                                                    \
      x##geev_(&left, &right, &n, a, &n, re.data(), im.data(), vl, &n, vr, &n, work, &size, &info, 1, 1);              \
      return info;                                                                                                     \
    });                                                                                                                \
    for (size_t i = 0; i < re.size(); ++i) w[i] = {re[i], im[i]};                                                      \
    return status;                                                                                                     \
  }
WHARF_LAPACK_REAL(s, float)
WHARF_LAPACK_REAL(d, double)
#undef WHARF_LAPACK_REAL

// And of complex ones, which have real working memory too.
#define WHARF_LAPACK_COMPLEX(x, R)                                                                                     \
  extern "C" {                                                                                                         \
  void x##gesvd_(const char*, const char*, const int*, const int*, std::complex<R>*, const int*, R*, std::complex<R>*, \
                 const int*, std::complex<R>*, const int*, std::complex<R>*, const int*, R*, int*, size_t, size_t);    \
  void x##gesdd_(const char*, const int*, const int*, std::complex<R>*, const int*, R*, std::complex<R>*, const int*,  \
                 std::complex<R>*, const int*, std::complex<R>*, const int*, R*, int*, int*, size_t);                  \
  void x##heevd_(const char*, const char*, const int*, std::complex<R>*, const int*, R*, std::complex<R>*, const int*, \
                 R*, const int*, int*, const int*, int*, size_t, size_t);                                              \
  void x##hegvd_(const int*, const char*, const char*, const int*, std::complex<R>*, const int*, std::complex<R>*,     \
                 const int*, R*, std::complex<R>*, const int*, R*, const int*, int*, const int*, int*, size_t,         \
                 size_t);                                                                                              \
  void x##geev_(const char*, const char*, const int*, std::complex<R>*, const int*, std::complex<R>*,                  \
                std::complex<R>*, const int*, std::complex<R>*, const int*, std::complex<R>*, const int*, R*, int*,    \
                size_t, size_t);                                                                                       \
  }                                                                                                                    \
  inline int Gesvd(char left, char right, int m, int n, std::complex<R>* a, R* s, std::complex<R>* u,                  \
                   std::complex<R>* vt, int vt_rows) {                                                                 \
    std::vector<R> reals(5 * static_cast<size_t>(std::min(m, n)));                                                     \
    return WithWork<std::complex<R>>([&](std::complex<R>* work, int size) {                                            \
      int info = 0;                                                                                                    \
      x##gesvd_(&left, &right, &m, &n, a, &m, s, u, &m, vt, &vt_rows, work, &size, reals.data(), &info, 1, 1);         \
      return info;                                                                                                     \
    });                                                                                                                \
  }                                                                                                                    \
  inline int Gesdd(char job, int m, int n, std::complex<R>* a, R* s, std::complex<R>* u, std::complex<R>* vt,          \
                   int vt_rows) {                                                                                      \
    const auto least = static_cast<size_t>(std::min(m, n)), most = static_cast<size_t>(std::max(m, n));                \
    std::vector<R> reals(std::max(5 * least * least + 7 * least, 2 * most * least + 2 * least * least + least));       \
    std::vector<int> integers(8 * least);                                                                              \
    return WithWork<std::complex<R>>([&](std::complex<R>* work, int size) {                                            \
      int info = 0;                                                                                                    \
      x##gesdd_(&job, &m, &n, a, &m, s, u, &m, vt, &vt_rows, work, &size, reals.data(), integers.data(), &info, 1);    \
      return info;                                                                                                     \
    });                                                                                                                \
  }                                                                                                                    \
  inline int Syevd(char job, char uplo, int n, std::complex<R>* a, R* w) {                                             \
    const auto size_n = static_cast<size_t>(n);                                                                        \
    int whole = 3 + 5 * n, real_size = static_cast<int>(1 + 5 * size_n + 2 * size_n * size_n), info = 0;               \
    std::vector<int> integers(static_cast<size_t>(whole));                                                             \
    std::vector<R> reals(static_cast<size_t>(real_size));                                                              \
    return WithWork<std::complex<R>>([&](std::complex<R>* work, int size) {                                            \
      const int asked = size < 0 ? -1 : whole, asked_reals = size < 0 ? -1 : real_size;                                \
      x##heevd_(&job, &uplo, &n, a, &n, w, work, &size, reals.data(), &asked_reals, integers.data(), &asked, &info, 1, \
                1);                                                                                                    \
      return info;                                                                                                     \
    });                                                                                                                \
  }                                                                                                                    \
  inline int Sygvd(int type, char job, char uplo, int n, std::complex<R>* a, std::complex<R>* b, R* w) {               \
    const auto size_n = static_cast<size_t>(n);                                                                        \
    int whole = 3 + 5 * n, real_size = static_cast<int>(1 + 5 * size_n + 2 * size_n * size_n), info = 0;               \
    std::vector<int> integers(static_cast<size_t>(whole));                                                             \
    std::vector<R> reals(static_cast<size_t>(real_size));                                                              \
    return WithWork<std::complex<R>>([&](std::complex<R>* work, int size) {                                            \
      const int asked = size < 0 ? -1 : whole, asked_reals = size < 0 ? -1 : real_size;                                \
      x##hegvd_(&type, &job, &uplo, &n, a, &n, b, &n, w, work, &size, reals.data(), &asked_reals, integers.data(),     \
                &asked, &info, 1, 1);                                                                                  \
      return info;                                                                                                     \
    });                                                                                                                \
  }                                                                                                                    \
  inline int Geev(char left, char right, int n, std::complex<R>* a, std::complex<R>* w, std::complex<R>* vl,           \
                  std::complex<R>* vr) {                                                                               \
    std::vector<R> reals(2 * static_cast<size_t>(n));                                                                  \
    return WithWork<std::complex<R>>([&](std::complex<R>* work, int size) {                                            \
      int info = 0;                                                                                                    \
      x##geev_(&left, &right, &n, a, &n, w, vl, &n, vr, &n, work, &size, reals.data(), &info, 1, 1);                   \
      return info;                                                                                                     \
    });                                                                                                                \
  }
WHARF_LAPACK_COMPLEX(c, float)
WHARF_LAPACK_COMPLEX(z, double)
#undef WHARF_LAPACK_COMPLEX

}  // namespace wharf::device::soft::routines
