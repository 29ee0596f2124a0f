// Products of matrices by tensor-core instructions, on suspendable threads and in the lanes of vectors, against what
// the PTX ISA says of the elements of each lane and a plain product of matrices.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "wharf/device/soft/testing/tensor_testing.h"

namespace wharf::device::soft::testing {
namespace {

// --- elements, as this test has them: in a double, which holds all of them, and their bits ---

struct Format {
  std::string name;
  uint32_t bits;
};
bool IsFloat(const Format& format) { return format.name.find_first_of("fe") != std::string::npos; }

double FromHalfBits(uint32_t bits) {
  const double sign = (bits & 0x8000) != 0 ? -1 : 1;
  const int exponent = static_cast<int>(bits >> 10 & 31);
  const double mantissa = bits & 0x3ff;
  if (exponent == 31) {
    return mantissa != 0 ? std::numeric_limits<double>::quiet_NaN() : sign * std::numeric_limits<double>::infinity();
  }
  return sign * (exponent == 0 ? std::ldexp(mantissa, -24) : std::ldexp(1024 + mantissa, exponent - 25));
}

// The nearest of all, the even one of two: by search, so that it is right.
uint32_t ToHalfBits(float value) {
  if (std::isnan(value)) return 0x7fff;
  const uint32_t sign = std::signbit(value) ? 0x8000 : 0;
  const double magnitude = std::abs(static_cast<double>(value));
  if (magnitude >= 65520) return sign | 0x7c00;
  uint32_t low = 0, high = 0x7c00;  // finite numbers in order
  while (high - low > 1) {
    const uint32_t middle = (low + high) / 2;
    (FromHalfBits(middle) <= magnitude ? low : high) = middle;
  }
  const double below = magnitude - FromHalfBits(low),
               above = high == 0x7c00 ? 65536 - magnitude : FromHalfBits(high) - magnitude;
  return sign | (below < above || (below == above && low % 2 == 0) ? low : high);
}

double Decode(const Format& format, uint64_t bits) {
  const auto integer = [&](bool sign) {
    const auto value = static_cast<double>(bits);
    return sign && (bits >> (format.bits - 1) & 1) != 0 ? value - std::ldexp(1, static_cast<int>(format.bits)) : value;
  };
  if (format.name == "f16") return FromHalfBits(static_cast<uint32_t>(bits));
  if (format.name == "e5m2") return FromHalfBits(static_cast<uint32_t>(bits << 8));
  if (format.name == "e4m3") {
    const double sign = (bits & 0x80) != 0 ? -1 : 1, mantissa = static_cast<double>(bits & 7);
    const int exponent = static_cast<int>(bits >> 3 & 15);
    if (exponent == 15 && mantissa == 7) return std::numeric_limits<double>::quiet_NaN();
    return sign * (exponent == 0 ? std::ldexp(mantissa, -9) : std::ldexp(8 + mantissa, exponent - 10));
  }
  if (format.name == "bf16") return static_cast<double>(std::bit_cast<float>(static_cast<uint32_t>(bits << 16)));
  if (format.name == "tf32") {
    return static_cast<double>(std::bit_cast<float>(static_cast<uint32_t>(bits) / 0x2000 * 0x2000));
  }
  if (format.name == "f32") return static_cast<double>(std::bit_cast<float>(static_cast<uint32_t>(bits)));
  if (format.name == "f64") return std::bit_cast<double>(bits);
  return integer(format.name[0] == 's');
}

// How random elements are chosen.
enum class Kind { kPlain, kSpecial, kTiny, kLarge };

// --- products ---

struct ProductCase {
  uint32_t m, n, k;
  Format a, b, c, d;
  std::string flags;        // .satfinite, .xor.popc, .and.popc
  std::string sparse = "";  // .sp, .sp::ordered_metadata
  uint32_t selector = 0;

  bool Floats() const { return IsFloat(a); }
  std::string Shape() const { return fmt::format("m{}n{}k{}", m, n, k); }
};

struct Matrix {
  uint32_t columns = 0;
  std::vector<uint64_t> bits;
  Matrix(uint32_t rows, uint32_t width) : columns(width), bits(size_t{rows} * width) {}
  uint64_t& At(uint32_t row, uint32_t column) { return bits[size_t{row} * columns + column]; }
};

// d as bits; a, b and c are rows by columns. What a sparse a does not have is kNone.
constexpr uint64_t kNone = uint64_t{1} << 40;
Matrix Multiply(const ProductCase& p, Matrix& a, Matrix& b, Matrix& c) {
  Matrix d(p.m, p.n);
  for (uint32_t i = 0; i < p.m; ++i) {
    for (uint32_t j = 0; j < p.n; ++j) {
      if (!p.Floats()) {
        int64_t sum = static_cast<int64_t>(Decode(p.c, c.At(i, j)));
        for (uint32_t k = 0; k < p.k; ++k) {
          if (a.At(i, k) == kNone) continue;
          if (p.a.bits == 1) {
            const uint64_t x = a.At(i, k), y = b.At(k, j);
            sum += static_cast<int64_t>(p.flags == ".and.popc" ? x & y : x ^ y);
          } else {
            sum += static_cast<int64_t>(Decode(p.a, a.At(i, k)) * Decode(p.b, b.At(k, j)));
          }
        }
        if (p.flags == ".satfinite") sum = std::clamp<int64_t>(sum, INT32_MIN, INT32_MAX);
        d.At(i, j) = static_cast<uint32_t>(sum);
      } else if (p.a.name == "f64") {
        double sum = Decode(p.c, c.At(i, j));
        for (uint32_t k = 0; k < p.k; ++k) sum = std::fma(Decode(p.a, a.At(i, k)), Decode(p.b, b.At(k, j)), sum);
        d.At(i, j) = std::bit_cast<uint64_t>(sum);
      } else {
        auto sum = static_cast<float>(Decode(p.c, c.At(i, j)));
        for (uint32_t k = 0; k < p.k; ++k) {
          if (a.At(i, k) == kNone) continue;
          sum = std::fma(static_cast<float>(Decode(p.a, a.At(i, k))), static_cast<float>(Decode(p.b, b.At(k, j))), sum);
        }
        d.At(i, j) = p.d.name == "f16" ? ToHalfBits(sum) : std::bit_cast<uint32_t>(sum);
      }
    }
  }
  return d;
}

bool Same(const Format& format, uint64_t got, uint64_t want) {
  return got == want || (std::isnan(Decode(format, got)) && std::isnan(Decode(format, want)));
}

// Which element of the matrix is element `i` of a lane's fragment, as the ISA's page of each shape has it.
struct Place {
  uint32_t row, column;
};
Place OfA(const ProductCase& p, uint32_t lane, uint32_t i) {
  const uint32_t group = lane >> 2, in_group = lane % 4, neighbours = p.a.bits == 64 ? 1 : 32 / p.a.bits;
  const uint32_t chunk = i / neighbours;
  const uint32_t row = p.m == 8 || chunk % 2 == 0 ? group : group + 8;
  const uint32_t step = p.m == 8 ? chunk : chunk / 2;
  return {row, in_group * neighbours + i % neighbours + 4 * neighbours * step};
}
Place OfB(const ProductCase& p, uint32_t lane, uint32_t i) {
  const uint32_t neighbours = p.b.bits == 64 ? 1 : 32 / p.b.bits;
  return {lane % 4 * neighbours + i % neighbours + 4 * neighbours * (i / neighbours), lane >> 2};
}
Place OfC(uint32_t lane, uint32_t i) { return {(lane >> 2) + (i < 2 ? 0 : 8), lane % 4 * 2 + i % 2}; }

// Whose indices nibble `i` of a lane's metadata has, as the ISA's figures have it: a row and a chunk, column zero of -1
// lanes that do not count.
struct Chunk {
  uint32_t row = 0;
  int chunk = -1;
};
Chunk OfMetadata(const ProductCase& p, uint32_t lane, uint32_t i) {
  const uint32_t group = lane / 4, t = lane % 4;
  const bool halves = p.a.bits >= 16;  // of a register: a row's, and those of the row 8 below
  const uint32_t chunks = p.k / (p.a.bits == 32 ? 2 : p.a.bits == 4 ? 8 : 4);
  switch (chunks) {
    case 4:  // one lane for two rows
      if (t != p.selector) return {};
      return {i < 4 ? group : group + 8, static_cast<int>(i % 4)};
    case 8:  // a pair of lanes: the first and the second half of two rows, or a row each
      if (t / 2 != p.selector) return {};
      if (!halves) return {t % 2 == 0 ? group : group + 8, static_cast<int>(i)};
      return {i < 4 ? group : group + 8, static_cast<int>(t % 2 * 4 + i % 4)};
    default:  // all lanes: two rows' first halves, then their second ones
      return {t % 2 == 0 ? group : group + 8, static_cast<int>(t / 2 * 8 + i)};
  }
}

class TensorProducts : public TensorTest {
 protected:
  // Takes half of a's elements away; `stored` gets the others, each lane its metadata.
  void MakeSparse(const ProductCase& p, Matrix* a, Matrix* stored, uint32_t (&metadata)[32]) {
    const uint32_t of = p.a.bits == 32 ? 2 : 4, pairs = p.a.bits == 4 ? 2 : 1;  // kept or not together
    for (uint32_t lane = 0; lane < 32; ++lane) {
      metadata[lane] = static_cast<uint32_t>(Below(uint64_t{1} << 32));
      for (uint32_t i = 0; i < 8; ++i) {
        const auto [row, chunk] = OfMetadata(p, lane, i);
        if (chunk < 0) continue;
        uint32_t first = static_cast<uint32_t>(Below(of)), second = static_cast<uint32_t>(Below(of - 1));
        if (second >= first) ++second;
        // In any order where no sum shows it.
        if (first > second && (p.Floats() || p.sparse != ".sp")) std::swap(first, second);
        if (of == 2) first = static_cast<uint32_t>(Below(2));
        const uint32_t nibble = of == 2 ? (first == 0 ? 0b0100 : 0b1110) : first | second << 2;
        metadata[lane] = (metadata[lane] & ~(15U << (4 * i))) | nibble << (4 * i);
        const uint32_t column = static_cast<uint32_t>(chunk) * of * pairs, at = column / 2;
        for (uint32_t e = 0; e < pairs; ++e) {
          stored->At(row, at + e) = a->At(row, column + first * pairs + e);
          if (of == 4) stored->At(row, at + pairs + e) = a->At(row, column + second * pairs + e);
        }
        for (uint32_t e = 0; e < of * pairs; ++e) {
          const uint32_t index = e / pairs;
          if (index != first && (of == 2 || index != second)) a->At(row, column + e) = kNone;
        }
      }
    }
  }

  uint64_t Element(const Format& format, Kind kind) {
    const uint64_t any = Below(uint64_t{1} << 63) * 2 + Below(2);
    const uint64_t bits = format.bits == 64 ? any : any & ((uint64_t{1} << format.bits) - 1);
    if (!IsFloat(format)) return bits;
    // Fields of the exponent and the mantissa.
    const uint32_t mantissa = format.name == "f16"    ? 10
                              : format.name == "bf16" ? 7
                              : format.name == "e4m3" ? 3
                              : format.name == "e5m2" ? 2
                              : format.name == "f64"  ? 52
                                                      : 23;
    const uint32_t exponents = format.bits - 1 - mantissa;
    const uint64_t bias = (uint64_t{1} << (exponents - 1)) - 1, most = (uint64_t{1} << exponents) - 1;
    const uint64_t sign_and_mantissa = bits & ~(most << mantissa);
    const bool special = kind == Kind::kSpecial && Below(24) == 0;
    const uint64_t exponent = special                ? (Below(2) == 0 ? most : 0)
                              : kind == Kind::kTiny  ? Below(bias / 2)
                              : kind == Kind::kLarge ? most - 1 - Below(3)
                                                     : bias - 4 + Below(8);
    if (special && Below(2) == 0)
      return (sign_and_mantissa >> mantissa << mantissa) | exponent << mantissa;  // infinity, 0
    return sign_and_mantissa | exponent << mantissa;
  }

  void TestMma(const ProductCase& p) {
    SCOPED_TRACE(
        fmt::format("{} {} {} {}{}{} {}", p.Shape(), p.a.name, p.b.name, p.c.name, p.flags, p.sparse, p.selector));
    const bool sparse = !p.sparse.empty();
    const bool wide = p.a.name == "f64";
    const auto words = [](uint32_t elements, const Format& f) { return elements * f.bits / 32 / 32; };  // of a lane
    const uint32_t a_words = words(p.m * p.k / (sparse ? 2 : 1), p.a), b_words = words(p.k * p.n, p.b),
                   c_words = words(p.m * p.n, p.c);
    const uint32_t inputs = a_words + b_words + c_words + (sparse ? 1 : 0);
    std::vector<uint32_t> in(size_t{kWarps} * 32 * inputs);
    std::vector<Matrix> want;
    for (uint32_t warp = 0; warp < kWarps; ++warp) {
      const auto kind = static_cast<Kind>(warp);
      Matrix a(p.m, p.k), b(p.k, p.n), c(p.m, p.n);
      for (const auto& [matrix, format] : {std::pair(&a, &p.a), std::pair(&b, &p.b), std::pair(&c, &p.c)}) {
        for (uint64_t& bits : matrix->bits) bits = Element(*format, kind);
      }
      Matrix stored = a;
      uint32_t metadata[32];
      if (sparse) {
        stored = Matrix(p.m, p.k / 2);
        MakeSparse(p, &a, &stored, metadata);
      }
      want.push_back(Multiply(p, a, b, c));
      for (uint32_t lane = 0; lane < 32; ++lane) {
        uint32_t* to = &in[(size_t{warp} * 32 + lane) * inputs];
        const auto put = [&](uint32_t* at, uint32_t i, const Format& f, uint64_t bits) {
          at[i * f.bits / 32] |= static_cast<uint32_t>(bits << (i * f.bits % 32));
          if (f.bits == 64) at[2 * i + 1] = static_cast<uint32_t>(bits >> 32);
        };
        for (uint32_t i = 0; i < a_words * 32 / p.a.bits; ++i) {
          const Place at = OfA(p, lane, i);
          put(to, i, p.a, stored.At(at.row, at.column));
        }
        for (uint32_t i = 0; i < b_words * 32 / p.b.bits; ++i) {
          const Place at = OfB(p, lane, i);
          put(to + a_words, i, p.b, b.At(at.row, at.column));
        }
        for (uint32_t i = 0; i < c_words * 32 / p.c.bits; ++i) {
          const Place at = OfC(lane, i);
          put(to + a_words + b_words, i, p.c, c.At(at.row, at.column));
        }
        if (sparse) to[inputs - 1] = metadata[lane];
      }
    }
    // a and b in %r or %d from 10 on, c and d in %r, %f or %d.
    const std::string plain = wide ? "%d" : "%r", sums = wide ? "%d" : p.c.name == "f32" ? "%f" : "%r";
    const uint32_t each = wide ? 2 : 1, bytes = 4 * each;
    std::string body;
    uint32_t at = 0;
    const auto load = [&](const std::string& prefix, uint32_t first, uint32_t count) {
      for (uint32_t i = 0; i < count; ++i, at += bytes) {
        body += fmt::format("  ld.global.{} {}{}, [%rd1+{}];\n",
                            prefix == "%d"   ? "f64"
                            : prefix == "%f" ? "f32"
                                             : "b32",
                            prefix, first + i, at);
      }
      return Registers(prefix, first, count);
    };
    const std::string a = load(plain, 10, a_words / each), b = load(plain, 20, b_words / each),
                      c = load(sums, 30, c_words / each);
    std::string metadata;
    if (sparse) {
      load("%r", 9, 1);
      metadata = fmt::format(", %r9, {}", p.selector);
    }
    const std::string types = fmt::format(".{}.{}.{}.{}", p.d.name, p.a.name, p.b.name, p.c.name);
    const bool counts = p.flags.find("popc") != std::string::npos;
    body += fmt::format("  mma{}.sync.aligned.{}.row.col{}{}{} {}, {}, {}, {}{};\n", p.sparse, p.Shape(),
                        counts ? "" : p.flags, types, counts ? p.flags : "", Registers(sums, 40, c_words / each), a, b,
                        c, metadata);
    for (uint32_t i = 0; i < c_words / each; ++i) {
      body += fmt::format("  st.global.{} [%rd2+{}], {}{};\n",
                          sums == "%d"   ? "f64"
                          : sums == "%f" ? "f32"
                                         : "b32",
                          bytes * i, sums, 40 + i);
    }
    const uint32_t* device_in = runner_.Upload(in);
    auto* out = runner_.Allocate<uint32_t>(size_t{kWarps} * 32 * c_words);
    RunBothWays(ElementKernel(body, 4 * inputs, 4 * c_words), Parameters().Add(device_in).Add(out), [&] {
      for (uint32_t thread = 0; thread < kWarps * 32; ++thread) {
        const uint32_t* got = out + size_t{thread} * c_words;
        for (uint32_t i = 0; i < c_words * 32 / p.d.bits; ++i) {
          const Place place = OfC(thread % 32, i);
          uint64_t bits = got[i * p.d.bits / 32] >> (i * p.d.bits % 32);
          if (p.d.bits == 16) bits &= 0xffff;
          if (p.d.bits == 64) bits |= uint64_t{got[2 * i + 1]} << 32;
          const uint64_t expected = want[thread / 32].At(place.row, place.column);
          ASSERT_TRUE(Same(p.d, bits, expected))
              << "warp " << thread / 32 << ", row " << place.row << ", column " << place.column << ": " << std::hex
              << bits << ", expected " << expected;
        }
      }
    });
  }

  void TestWmma(const ProductCase& p, int round) {
    const auto layout = [&] { return Below(2) == 0; };  // by rows
    const bool small = p.a.bits < 8;
    const bool a_rows = small || layout(), b_rows = !small && layout(), c_rows = layout(), d_rows = layout();
    SCOPED_TRACE(fmt::format("{} {} {} {} {}{}, by rows: {} {} {} {}, round {}", p.Shape(), p.a.name, p.b.name,
                             p.c.name, p.d.name, p.flags, a_rows, b_rows, c_rows, d_rows, round));
    // Strides are as long as they must be, or longer.
    const auto stride = [&](uint32_t least, const Format& f) {
      const uint32_t unit = std::max(1U, 128 / f.bits);
      return round == 0 ? least : least + unit * static_cast<uint32_t>(Below(4));
    };
    struct Placed {
      Matrix matrix;
      Format format;
      bool rows;
      uint32_t stride;
      std::vector<uint8_t> bytes;
      uint64_t BitAt(uint32_t row, uint32_t column) const {
        const uint64_t index = rows ? uint64_t{row} * stride + column : uint64_t{column} * stride + row;
        return index * format.bits;
      }
      uint32_t Height() const { return static_cast<uint32_t>(matrix.bits.size() / matrix.columns); }
    };
    const auto place = [&](uint32_t rows, uint32_t columns, const Format& f, bool by_rows) {
      Placed placed{Matrix(rows, columns), f, by_rows, stride(by_rows ? columns : rows, f), {}};
      placed.bytes.assign(size_t{by_rows ? rows : columns} * placed.stride * f.bits / 8, 0xa5);
      return placed;
    };
    Placed a = place(p.m, p.k, p.a, a_rows), b = place(p.k, p.n, p.b, b_rows), c = place(p.m, p.n, p.c, c_rows),
           d = place(p.m, p.n, p.d, d_rows);
    const auto write = [](Placed& to, uint32_t row, uint32_t column, uint64_t bits) {
      const uint64_t at = to.BitAt(row, column);
      for (uint32_t bit = 0; bit < to.format.bits; ++bit) {
        uint8_t& byte = to.bytes[(at + bit) / 8];
        const auto mask = static_cast<uint8_t>(1U << ((at + bit) % 8));
        byte = static_cast<uint8_t>((bits >> bit & 1) != 0 ? byte | mask : byte & ~mask);
      }
    };
    const auto kind = round == 0 ? Kind::kPlain : Kind::kSpecial;
    for (Placed* placed : {&a, &b, &c}) {
      for (uint32_t row = 0; row < placed->Height(); ++row) {
        for (uint32_t column = 0; column < placed->matrix.columns; ++column) {
          const uint64_t bits = Element(placed->format, kind);
          placed->matrix.At(row, column) = bits;
          write(*placed, row, column, bits);
        }
      }
    }
    Matrix want = Multiply(p, a.matrix, b.matrix, c.matrix);
    const uint8_t *device_a = runner_.Upload(a.bytes), *device_b = runner_.Upload(b.bytes),
                  *device_c = runner_.Upload(c.bytes);
    uint8_t* device_d = runner_.Upload(d.bytes);
    const std::string text = WmmaKernel(p, {a.stride, b.stride, c.stride, d.stride}, {a_rows, b_rows, c_rows, d_rows},
                                        round % 2 == 0 ? ".global" : "", round != 0);
    const auto parameters = Parameters().Add(device_a).Add(device_b).Add(device_c).Add(device_d);
    RunBothWays(text, parameters, [&] {
      std::vector<uint8_t> untouched(d.bytes.size(), 0xa5);
      for (uint32_t row = 0; row < p.m; ++row) {
        for (uint32_t column = 0; column < p.n; ++column) {
          const uint64_t at = d.BitAt(row, column) / 8;
          uint64_t bits = 0;
          std::memcpy(&bits, device_d + at, p.d.bits / 8);
          std::memcpy(&untouched[at], device_d + at, p.d.bits / 8);
          const uint64_t expected = want.At(row, column);
          ASSERT_TRUE(Same(p.d, bits, expected))
              << "row " << row << ", column " << column << ": " << std::hex << bits << ", expected " << expected;
        }
      }
      EXPECT_EQ(std::vector<uint8_t>(device_d, device_d + d.bytes.size()), untouched);
      std::fill_n(device_d, d.bytes.size(), uint8_t{0xa5});
    });
  }

  // The fragments' registers as the ISA has them.
  static uint32_t Listed(const Format& f, uint32_t elements, bool sum) {
    if (!sum && f.name == "f16") return 8;
    return f.bits == 64 ? elements / 32 : elements * f.bits / 32 / 32;
  }

  static std::string WmmaKernel(const ProductCase& p, const std::vector<uint32_t>& strides,
                                const std::vector<bool>& rows, const std::string& space, bool always_strides) {
    const bool wide = p.a.name == "f64";
    const std::string plain = wide ? "%d" : "%r";
    const auto sums = [&](const Format& f) { return std::string(wide ? "%d" : f.name == "f32" ? "%f" : "%r"); };
    const std::string a = Registers(plain, 10, Listed(p.a, p.m * p.k, false)),
                      b = Registers(plain, 20, Listed(p.b, p.k * p.n, false)),
                      c = Registers(sums(p.c), 30, Listed(p.c, p.m * p.n, true)),
                      d = Registers(sums(p.d), 40, Listed(p.d, p.m * p.n, true));
    const auto layout = [&](size_t i) { return rows[i] ? "row" : "col"; };
    // Of what has no gaps the stride may be left out.
    const auto stride = [&](size_t i) { return always_strides ? fmt::format(", {}", strides[i]) : std::string(); };
    const bool halves = p.a.name == "f16", counts = p.flags.find("popc") != std::string::npos;
    const std::string types = halves ? fmt::format(".{}.{}", p.d.name, p.c.name)
                                     : fmt::format(".{}.{}.{}.{}", p.d.name, p.a.name, p.b.name, p.c.name);
    std::string body;
    const auto load = [&](char name, size_t i, const std::string& registers, const Format& f) {
      body += fmt::format("  wmma.load.{}.sync.aligned.{}.{}{}.{} {}, [%rd{}]{};\n", name, layout(i), p.Shape(), space,
                          f.name, registers, i + 1, stride(i));
    };
    load('a', 0, a, p.a);
    load('b', 1, b, p.b);
    load('c', 2, c, p.c);
    body += fmt::format("  wmma.mma{}.sync.aligned.{}.{}.{}{}{} {}, {}, {}, {};\n", counts ? p.flags : "", layout(0),
                        layout(1), p.Shape(), types, counts ? "" : p.flags, d, a, b, c);
    body += fmt::format("  wmma.store.d.sync.aligned.{}.{}{}.{} [%rd4], {}{};\n", layout(3), p.Shape(), space, p.d.name,
                        d, stride(3));
    return fmt::format(R"(.version 8.8
.target sm_90
.address_size 64
.visible .entry k(.param .u64 a, .param .u64 b, .param .u64 c, .param .u64 d)
{{
  .reg .b32 %r<50>; .reg .b64 %rd<9>; .reg .f32 %f<50>; .reg .f64 %d<50>;
  ld.param.u64 %rd1, [a];
  ld.param.u64 %rd2, [b];
  ld.param.u64 %rd3, [c];
  ld.param.u64 %rd4, [d];
{}
  ret;
}}
)",
                       body);
  }
};

const Format kF16{"f16", 16}, kBF16{"bf16", 16}, kTF32{"tf32", 32}, kF32{"f32", 32}, kF64{"f64", 64}, kS8{"s8", 8},
    kU8{"u8", 8}, kS4{"s4", 4}, kU4{"u4", 4}, kE4M3{"e4m3", 8}, kE5M2{"e5m2", 8}, kB1{"b1", 1}, kS32{"s32", 32};

TEST_F(TensorProducts, MmaOfFloats) {
  for (const uint32_t k : {8U, 16U}) {
    TestMma({16, 8, k, kF16, kF16, kF32, kF32, ""});
    TestMma({16, 8, k, kF16, kF16, kF16, kF16, ""});
    TestMma({16, 8, k, kBF16, kBF16, kF32, kF32, ""});
  }
  TestMma({16, 8, 4, kTF32, kTF32, kF32, kF32, ""});
  TestMma({16, 8, 8, kTF32, kTF32, kF32, kF32, ""});
  for (const uint32_t k : {16U, 32U}) {
    for (const auto& [a, b] : {std::pair(kE4M3, kE4M3), std::pair(kE5M2, kE4M3)}) {
      TestMma({16, 8, k, a, b, kF32, kF32, ""});
      TestMma({16, 8, k, b, a, kF16, kF16, ""});
    }
  }
}

TEST_F(TensorProducts, MmaOfDoubles) {
  TestMma({8, 8, 4, kF64, kF64, kF64, kF64, ""});
  for (const uint32_t k : {4U, 8U, 16U}) TestMma({16, 8, k, kF64, kF64, kF64, kF64, ""});
}

TEST_F(TensorProducts, MmaOfIntegers) {
  for (const auto& [a, b] : {std::pair(kU8, kS8), std::pair(kS8, kU8)}) {
    TestMma({8, 8, 16, a, b, kS32, kS32, ""});
    TestMma({16, 8, 16, a, b, kS32, kS32, ".satfinite"});
    TestMma({16, 8, 32, a, b, kS32, kS32, ""});
  }
  TestMma({8, 8, 32, kS4, kU4, kS32, kS32, ".satfinite"});
  TestMma({16, 8, 32, kU4, kS4, kS32, kS32, ""});
  TestMma({16, 8, 64, kS4, kS4, kS32, kS32, ""});
  TestMma({8, 8, 128, kB1, kB1, kS32, kS32, ".xor.popc"});
  TestMma({16, 8, 128, kB1, kB1, kS32, kS32, ".and.popc"});
  TestMma({16, 8, 256, kB1, kB1, kS32, kS32, ".xor.popc"});
}

TEST_F(TensorProducts, SparseMmaOfFloats) {
  for (const std::string sparse : {".sp", ".sp::ordered_metadata"}) {
    for (const uint32_t selector : {0U, 1U, 2U, 3U}) {
      TestMma({16, 8, 16, kF16, kF16, kF32, kF32, "", sparse, selector});
      TestMma({16, 8, 16, kBF16, kBF16, kF32, kF32, "", sparse, selector});
      TestMma({16, 8, 8, kTF32, kTF32, kF32, kF32, "", sparse, selector});
      if (selector > 1) continue;
      TestMma({16, 8, 32, kF16, kF16, kF16, kF16, "", sparse, selector});
      TestMma({16, 8, 32, kBF16, kBF16, kF32, kF32, "", sparse, selector});
      TestMma({16, 8, 16, kTF32, kTF32, kF32, kF32, "", sparse, selector});
    }
    TestMma({16, 8, 64, kE4M3, kE5M2, kF32, kF32, "", sparse});
  }
}

TEST_F(TensorProducts, SparseMmaOfIntegers) {
  for (const std::string sparse : {".sp", ".sp::ordered_metadata"}) {
    for (const uint32_t selector : {0U, 1U}) {
      TestMma({16, 8, 32, kS8, kU8, kS32, kS32, "", sparse, selector});
      TestMma({16, 8, 64, kU4, kS4, kS32, kS32, ".satfinite", sparse, selector});
    }
    TestMma({16, 8, 64, kU8, kU8, kS32, kS32, ".satfinite", sparse});
    TestMma({16, 8, 128, kS4, kS4, kS32, kS32, "", sparse});
  }
}

TEST_F(TensorProducts, WmmaOfFloats) {
  for (int round = 0; round < 2; ++round) {
    for (const auto& [m, n] : {std::pair(16U, 16U), std::pair(32U, 8U), std::pair(8U, 32U)}) {
      TestWmma({m, n, 16, kF16, kF16, kF16, round == 0 ? kF16 : kF32, ""}, round);
      TestWmma({m, n, 16, kF16, kF16, kF32, round == 0 ? kF32 : kF16, ""}, round);
      TestWmma({m, n, 16, kBF16, kBF16, kF32, kF32, ""}, round);
    }
    TestWmma({16, 16, 8, kTF32, kTF32, kF32, kF32, ""}, round);
    TestWmma({8, 8, 4, kF64, kF64, kF64, kF64, ""}, round);
  }
}

TEST_F(TensorProducts, WmmaOfIntegers) {
  for (int round = 0; round < 2; ++round) {
    for (const auto& [m, n] : {std::pair(16U, 16U), std::pair(32U, 8U), std::pair(8U, 32U)}) {
      TestWmma({m, n, 16, kS8, kS8, kS32, kS32, round == 0 ? ".satfinite" : ""}, round);
      TestWmma({m, n, 16, kU8, kU8, kS32, kS32, ""}, round);
    }
    TestWmma({8, 8, 32, kS4, kS4, kS32, kS32, ".satfinite"}, round);
    TestWmma({8, 8, 32, kU4, kU4, kS32, kS32, ""}, round);
    TestWmma({8, 8, 128, kB1, kB1, kS32, kS32, ".xor.popc"}, round);
    TestWmma({8, 8, 128, kB1, kB1, kS32, kS32, ".and.popc"}, round);
  }
}

// A loop and a branch that a warp takes as one: both warps have sums of their own.
TEST_F(TensorProducts, WarpsGoTheirOwnWays) {
  const std::string body = R"(
  mov.b32 %r10, 0x3C003C00; mov.f32 %f1, 0f00000000; mov.f32 %f2, %f1; mov.f32 %f3, %f1; mov.f32 %f4, %f1;
  shr.u32 %r20, %r3, 5; add.u32 %r20, %r20, 1; setp.ge.u32 %p1, %r3, 32;
again:
  mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%f1, %f2, %f3, %f4}, {%r10, %r10}, {%r10}, {%f1, %f2, %f3, %f4};
  @%p1 mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%f1, %f2, %f3, %f4}, {%r10, %r10}, {%r10}, {%f1, %f2, %f3, %f4};
  sub.u32 %r20, %r20, 1; setp.ne.u32 %p2, %r20, 0;
  @%p2 bra again;
  st.global.f32 [%rd2], %f3;
)";
  const uint32_t* in = runner_.Upload(std::vector<uint32_t>(kWarps * 32, 0));
  auto* out = runner_.Allocate<float>(kWarps * 32);
  RunBothWays(ElementKernel(body, 4, 4), Parameters().Add(in).Add(out), [&] {
    for (uint32_t i = 0; i < kWarps * 32; ++i) ASSERT_EQ(out[i], i / 32 % 2 == 0 ? 8 : 32) << i;
  });
}

// Two products with different numbers of registers give results that meet in one.
TEST_F(TensorProducts, ProductsInBranchesThatMeet) {
  const std::string body = R"(
  mov.b32 %r10, 0x3C003C00; mov.f32 %f1, 0f00000000; mov.f32 %f2, %f1; mov.f32 %f3, %f1; mov.f32 %f4, %f1;
  setp.ge.u32 %p1, %r1, 1;
  @%p1 bra OTHER;
  mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%f1, %f2, %f3, %f4}, {%r10, %r10}, {%r10}, {%f1, %f2, %f3, %f4};
  bra MEET;
OTHER:
  mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f1, %f2, %f3, %f4}, {%r10, %r10, %r10, %r10}, {%r10, %r10},
      {%f1, %f2, %f3, %f4};
MEET:
  st.global.f32 [%rd2], %f1;
)";
  const uint32_t* in = runner_.Upload(std::vector<uint32_t>(kWarps * 32, 0));
  auto* out = runner_.Allocate<float>(kWarps * 32);
  RunBothWays(ElementKernel(body, 4, 4), Parameters().Add(in).Add(out), [&] {
    for (uint32_t i = 0; i < kWarps * 32; ++i) ASSERT_EQ(out[i], i < 64 ? 8 : 16) << i;
  });
}

}  // namespace
}  // namespace wharf::device::soft::testing
