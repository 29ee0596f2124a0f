// The random number engines, for the library's generators on the host and for nvcc's kernels. An engine is divided into
// streams, which a generator takes in turns; a stream's state is some words, of which word i of all streams lie
// together.
//
// A generator counts units: numbers of a sequence, or pairs of normals. A slot is what a stream gives in its turn:
// kUnits units, of which a call may want the last or the first only. XORWOW: Marsaglia, "Xorshift RNGs" (2003);
// MRG32k3a: L'Ecuyer, "Good parameters and implementations for combined multiple recursive random number generators"
// (1999); Philox4x32-10: Salmon et al., "Parallel random numbers: as easy as 1, 2, 3" (2011); MTGP32: Saito and
// Matsumoto, "Variants of Mersenne Twister suitable for graphic processors" (2013). How seeds become states is as in
// cuRAND's device API.
#pragma once

#include "wharf/cudashim/curand/distributions.h"

namespace wharf::rng {

// What a kernel, or its like on the host, is given.
struct Generation {
  const uint64_t* position;  // in units, before this call
  uint32_t* words;
  uint32_t streams;
  uint64_t units;
  void* out;
  double mean, deviation;  // of normals
  PoissonTable poisson;
};

// Values of a slot go to where they belong; of those outside of the call nothing is kept.
template <int kUnits, typename Value>
WHARF_RNG void Put(const Generation& call, uint64_t position, uint64_t slot, const Value* values) {
  auto* const out = static_cast<Value*>(call.out);
  for (int i = 0; i < kUnits; ++i) {
    const uint64_t unit = slot * kUnits + i - position;  // wraps before the first
    if (unit < call.units) out[unit] = values[i];
  }
}

// Engines whose unit is the next word of a stream, or two or four of them.
template <Form kForm, class Engine>
WHARF_RNG void PutNext(Engine& engine, const Generation& call, uint64_t unit) {
  const auto next = [&] { return engine.Next(); };
  if constexpr (kForm == Form::kBits) {
    static_cast<uint32_t*>(call.out)[unit] = next();
  } else if constexpr (kForm == Form::kUniform) {
    static_cast<float*>(call.out)[unit] = Uniform(next());
  } else if constexpr (kForm == Form::kUniformDouble) {
    const uint32_t low = next(), high = next();
    static_cast<double*>(call.out)[unit] = UniformDouble(low, high);
  } else if constexpr (kForm == Form::kPoisson) {
    static_cast<uint32_t*>(call.out)[unit] = engine.normal.NextPoisson(call.poisson, next, [&] {
      const uint32_t a = next(), b = next();
      return Normals(a, b);
    });
  } else if constexpr (IsDouble(kForm)) {
    const uint32_t a = next(), b = next(), c = next(), d = next();
    PutPair<kForm>(NormalsDouble(a, b, c, d), call.mean, call.deviation, static_cast<double*>(call.out) + 2 * unit);
  } else {
    const uint32_t a = next(), b = next();
    PutPair<kForm>(Normals(a, b), call.mean, call.deviation, static_cast<float*>(call.out) + 2 * unit);
  }
}

// Engines that make a number of each word.
template <Form kForm, typename Word>
WHARF_RNG void PutOne(Word word, const Generation& call, uint64_t unit) {
  if constexpr (kForm == Form::kBits) {
    static_cast<Word*>(call.out)[unit] = word;
  } else if constexpr (kForm == Form::kUniform) {
    static_cast<float*>(call.out)[unit] = Uniform(word);
  } else if constexpr (kForm == Form::kUniformDouble) {
    static_cast<double*>(call.out)[unit] = UniformDouble(word);
  } else if constexpr (kForm == Form::kPoisson) {
    static_cast<uint32_t*>(call.out)[unit] = call.poisson.limits != nullptr
                                                 ? PoissonOf(call.poisson, UniformDouble(word))
                                                 : PoissonOfNormal(call.poisson, Quantile(word));
  } else if constexpr (IsDouble(kForm)) {
    static_cast<double*>(call.out)[unit] = Scaled<kForm>(QuantileDouble(word), call.mean, call.deviation);
  } else {
    static_cast<float*>(call.out)[unit] = Scaled<kForm>(Quantile(word), call.mean, call.deviation);
  }
}

// The second of a pair of normals, which a stream keeps for the next that it is asked for singly.
struct KeptNormal {
  static constexpr int kWords = 2;
  float value;
  uint32_t is_there;

  WHARF_RNG void Load(const uint32_t* words, uint32_t streams, uint32_t stream) {
    union {
      uint32_t bits;
      float number;
    } kept = {words[stream]};
    value = kept.number;
    is_there = words[streams + stream];
  }
  WHARF_RNG void Save(uint32_t* words, uint32_t streams, uint32_t stream) const {
    union {
      float number;
      uint32_t bits;
    } kept = {value};
    words[stream] = kept.bits;
    words[streams + stream] = is_there;
  }
  template <class Next, class NextPair>
  WHARF_RNG uint32_t NextPoisson(const PoissonTable& table, const Next& next, const NextPair& next_pair) {
    if (table.limits != nullptr) return PoissonOf(table, UniformDouble(next()));
    if (is_there != 0) {
      is_there = 0;
      return PoissonOfNormal(table, value);
    }
    const Pair<float> pair = next_pair();
    value = pair.second, is_there = 1;
    return PoissonOfNormal(table, pair.first);
  }
};

struct Xorwow {
  static constexpr int kWords = 6 + KeptNormal::kWords, kSharedWords = 0, kStateBits = 160;
  static constexpr uint64_t kUnits = 1;
  static constexpr uint32_t kWeyl = 362437;
  WHARF_RNG static constexpr int Outputs(Form form) { return IsNormal(form) ? 2 : 1; }

  uint32_t x[5], weyl;
  KeptNormal normal;

  WHARF_RNG void Seed(uint64_t seed) {
    const uint32_t low = static_cast<uint32_t>(seed) ^ 0xaad26b49u,
                   high = static_cast<uint32_t>(seed >> 32) ^ 0xf7dcefddu;
    const uint32_t a = 1099087573u * low, b = 2591861531u * high;
    weyl = 6615241u + b + a;
    normal = {};
    x[0] = 123456789u + a, x[1] = 362436069u ^ a, x[2] = 521288629u + b, x[3] = 88675123u ^ b, x[4] = 5783321u + a;
  }
  WHARF_RNG void Load(const uint32_t* words, uint32_t streams, uint32_t stream) {
    for (int i = 0; i < 5; ++i) x[i] = words[i * streams + stream];
    weyl = words[5 * streams + stream];
    normal.Load(words + 6 * streams, streams, stream);
  }
  WHARF_RNG void Save(uint32_t* words, uint32_t streams, uint32_t stream) const {
    for (int i = 0; i < 5; ++i) words[i * streams + stream] = x[i];
    words[5 * streams + stream] = weyl;
    normal.Save(words + 6 * streams, streams, stream);
  }
  WHARF_RNG void Step() {
    const uint32_t t = x[0] ^ (x[0] >> 2);
    x[0] = x[1], x[1] = x[2], x[2] = x[3], x[3] = x[4];
    x[4] = x[4] ^ (x[4] << 4) ^ t ^ (t << 1);
  }
  WHARF_RNG uint32_t Next() {
    Step();
    weyl += kWeyl;
    return x[4] + weyl;
  }
  // Jumps by a polynomial in the step (jump.h): 5 words, the lowest coefficients first. Not what Weyl's sequence adds.
  WHARF_RNG void Jump(const uint32_t* polynomial) {
    Xorwow sum{};
    for (int i = kStateBits - 1; i >= 0; --i) {
      sum.Step();
      if ((polynomial[i / 32] >> (i % 32)) & 1) {
        for (int k = 0; k < 5; ++k) sum.x[k] ^= x[k];
      }
    }
    for (int k = 0; k < 5; ++k) x[k] = sum.x[k];
  }
  template <Form kForm>
  WHARF_RNG void Slot(const Generation& call, uint64_t position, uint64_t slot) {
    PutNext<kForm>(*this, call, slot - position);
  }
};

struct Mrg32k3a {
  static constexpr int kWords = 6 + KeptNormal::kWords, kSharedWords = 0;
  static constexpr uint64_t kUnits = 1;
  WHARF_RNG static constexpr int Outputs(Form form) { return IsNormal(form) ? 2 : 1; }

  uint32_t s[2][3];
  KeptNormal normal;

  WHARF_RNG static uint64_t Modulus(int part) { return part == 0 ? 4294967087u : 4294944443u; }
  // The next of a recurrence's last three: the coefficients that are not zero are those of the latest but one and the
  // earliest, or of the latest and the earliest.
  WHARF_RNG static uint32_t After(int part, const uint32_t* last) {
    const uint64_t m = Modulus(part);
    const uint64_t plus = part == 0 ? uint64_t{1403580} * last[1] : uint64_t{527612} * last[2];
    const uint64_t minus = (part == 0 ? uint64_t{810728} : uint64_t{1370589}) * (m - last[0]);
    return static_cast<uint32_t>((plus + minus) % m);
  }

  WHARF_RNG void Seed(uint64_t seed) {
    const uint64_t halves[2] = {static_cast<uint32_t>(seed) ^ 0x55555555u,
                                static_cast<uint32_t>(seed >> 32) ^ 0xaaaaaaaau};
    normal = {};
    for (int part = 0; part < 2; ++part) {
      for (int i = 0; i < 3; ++i) {
        s[part][i] = 12345;
        if (seed != 0) s[part][i] = static_cast<uint32_t>(halves[(part + i) % 2] * 12345 % Modulus(part));
      }
    }
  }
  WHARF_RNG void Load(const uint32_t* words, uint32_t streams, uint32_t stream) {
    for (int i = 0; i < 6; ++i) s[i / 3][i % 3] = words[i * streams + stream];
    normal.Load(words + 6 * streams, streams, stream);
  }
  WHARF_RNG void Save(uint32_t* words, uint32_t streams, uint32_t stream) const {
    for (int i = 0; i < 6; ++i) words[i * streams + stream] = s[i / 3][i % 3];
    normal.Save(words + 6 * streams, streams, stream);
  }
  // From 1 to the first modulus.
  WHARF_RNG uint32_t Next() {
    for (int part = 0; part < 2; ++part) {
      const uint32_t next = After(part, s[part]);
      s[part][0] = s[part][1], s[part][1] = s[part][2], s[part][2] = next;
    }
    const uint32_t difference = s[0][2] - s[1][2];
    return s[0][2] <= s[1][2] ? difference + static_cast<uint32_t>(Modulus(0)) : difference;
  }
  // Jumps by a polynomial for each recurrence (jump.h): 3 words each, the lowest coefficients first.
  WHARF_RNG void Jump(const uint32_t* polynomials) {
    for (int part = 0; part < 2; ++part) {
      const uint64_t m = Modulus(part);
      uint32_t sum[3] = {0, 0, 0};
      for (int i = 2; i >= 0; --i) {
        const uint32_t next = After(part, sum);
        sum[0] = sum[1], sum[1] = sum[2], sum[2] = next;
        const uint64_t coefficient = polynomials[3 * part + i];
        for (int k = 0; k < 3; ++k) sum[k] = static_cast<uint32_t>((coefficient * s[part][k] + sum[k]) % m);
      }
      for (int k = 0; k < 3; ++k) s[part][k] = sum[k];
    }
  }
  WHARF_RNG uint32_t NextBits() { return static_cast<uint32_t>(Next() * 1.000000048662); }
  WHARF_RNG double NextDouble() { return Next() * 2.3283065498378288e-10; }
  WHARF_RNG Pair<float> NextNormals() {
    const auto radius = static_cast<float>(NextDouble()), turn = static_cast<float>(NextDouble());
    return BoxMuller(radius, turn * kTwoPi);
  }

  template <Form kForm>
  WHARF_RNG void Slot(const Generation& call, uint64_t position, uint64_t slot) {
    const uint64_t unit = slot - position;
    if constexpr (kForm == Form::kBits) {
      static_cast<uint32_t*>(call.out)[unit] = NextBits();
    } else if constexpr (kForm == Form::kUniform) {
      static_cast<float*>(call.out)[unit] = static_cast<float>(NextDouble());
    } else if constexpr (kForm == Form::kUniformDouble) {
      static_cast<double*>(call.out)[unit] = NextDouble();
    } else if constexpr (kForm == Form::kPoisson) {
      static_cast<uint32_t*>(call.out)[unit] = normal.NextPoisson(
          call.poisson, [&] { return NextBits(); }, [&] { return NextNormals(); });
    } else if constexpr (IsDouble(kForm)) {
      const double radius = NextDouble(), turn = NextDouble();
      PutPair<kForm>(BoxMuller(radius, turn * 2), call.mean, call.deviation, static_cast<double*>(call.out) + 2 * unit);
    } else {
      PutPair<kForm>(NextNormals(), call.mean, call.deviation, static_cast<float*>(call.out) + 2 * unit);
    }
  }
};

// A stream's state is how often its counter was taken. Numbers come by fours, of one counter or, in double, of two.
struct Philox {
  static constexpr int kWords = 2, kSharedWords = 2;  // behind those of the streams: the key
  static constexpr uint64_t kUnits = 4;
  WHARF_RNG static constexpr int Outputs(Form) { return 1; }

  uint64_t taken;
  uint32_t key[2], stream;

  struct Four {
    uint32_t v[4];
  };

  WHARF_RNG void Load(const uint32_t* words, uint32_t streams, uint32_t number) {
    taken = words[number] | static_cast<uint64_t>(words[streams + number]) << 32;
    key[0] = words[2 * streams], key[1] = words[2 * streams + 1];
    stream = number;
  }
  WHARF_RNG void Save(uint32_t* words, uint32_t streams, uint32_t number) const {
    words[number] = static_cast<uint32_t>(taken), words[streams + number] = static_cast<uint32_t>(taken >> 32);
  }
  WHARF_RNG Four At(uint64_t counter) const {
    uint32_t c[4] = {static_cast<uint32_t>(counter), static_cast<uint32_t>(counter >> 32), stream, 0};
    uint32_t k0 = key[0], k1 = key[1];
    for (int round = 0; round < 10; ++round) {
      const uint64_t a = uint64_t{0xD2511F53u} * c[0], b = uint64_t{0xCD9E8D57u} * c[2];
      c[0] = static_cast<uint32_t>(b >> 32) ^ c[1] ^ k0, c[1] = static_cast<uint32_t>(b);
      c[2] = static_cast<uint32_t>(a >> 32) ^ c[3] ^ k1, c[3] = static_cast<uint32_t>(a);
      k0 += 0x9E3779B9u, k1 += 0xBB67AE85u;
    }
    return {{c[0], c[1], c[2], c[3]}};
  }

  template <Form kForm>
  WHARF_RNG void Slot(const Generation& call, uint64_t position, uint64_t slot) {
    const Four a = At(taken);
    if constexpr (IsDouble(kForm)) {
      const Four b = At(taken + 1);
      double values[4];
      if constexpr (kForm == Form::kUniformDouble) {
        values[0] = UniformDouble(a.v[0], a.v[1]), values[1] = UniformDouble(a.v[2], a.v[3]);
        values[2] = UniformDouble(b.v[0], b.v[1]), values[3] = UniformDouble(b.v[2], b.v[3]);
      } else {
        PutPair<kForm>(NormalsDouble(a.v[0], a.v[1], a.v[2], a.v[3]), call.mean, call.deviation, values);
        PutPair<kForm>(NormalsDouble(b.v[0], b.v[1], b.v[2], b.v[3]), call.mean, call.deviation, values + 2);
      }
      Put<4>(call, position, slot, values);
    } else if constexpr (kForm == Form::kBits) {
      Put<4>(call, position, slot, a.v);
    } else if constexpr (kForm == Form::kUniform) {
      const float values[4] = {Uniform(a.v[0]), Uniform(a.v[1]), Uniform(a.v[2]), Uniform(a.v[3])};
      Put<4>(call, position, slot, values);
    } else if constexpr (kForm == Form::kPoisson) {
      uint32_t values[4];
      if (call.poisson.limits != nullptr) {
        for (int i = 0; i < 4; ++i) values[i] = PoissonOf(call.poisson, UniformDouble(a.v[i]));
      } else {
        const Pair<float> first = Normals(a.v[0], a.v[1]), second = Normals(a.v[2], a.v[3]);
        values[0] = PoissonOfNormal(call.poisson, first.first), values[1] = PoissonOfNormal(call.poisson, first.second);
        values[2] = PoissonOfNormal(call.poisson, second.first),
        values[3] = PoissonOfNormal(call.poisson, second.second);
      }
      Put<4>(call, position, slot, values);
    } else {
      float values[4];
      PutPair<kForm>(Normals(a.v[0], a.v[1]), call.mean, call.deviation, values);
      PutPair<kForm>(Normals(a.v[2], a.v[3]), call.mean, call.deviation, values + 2);
      Put<4>(call, position, slot, values);
    }
    if (slot * 4 + 4 <= position + call.units) taken += IsDouble(kForm) ? 2 : 1;
  }
};

// Every stream has parameters of its own, and gives 256 numbers in its turn.
struct Mtgp32 {
  static constexpr int kState = 351, kTable = 16;
  static constexpr int kPlace = kState, kPos = kState + 1, kShift1 = kState + 2, kShift2 = kState + 3,
                       kMask = kState + 4, kRecursion = kState + 5, kTempering = kRecursion + kTable,
                       kWords = kTempering + kTable, kSharedWords = 0;
  static constexpr uint64_t kUnits = 256;
  WHARF_RNG static constexpr int Outputs(Form) { return 1; }

  uint32_t* words;
  uint32_t streams, place, pos, shift1, shift2, mask;

  WHARF_RNG void Load(uint32_t* all, uint32_t count, uint32_t stream) {
    words = all + stream, streams = count;
    place = Word(kPlace), pos = Word(kPos), shift1 = Word(kShift1), shift2 = Word(kShift2), mask = Word(kMask);
  }
  WHARF_RNG void Save(uint32_t*, uint32_t, uint32_t) const { words[uint64_t{kPlace} * streams] = place; }
  WHARF_RNG uint32_t Word(uint32_t i) const { return words[static_cast<uint64_t>(i) * streams]; }
  // The i-th behind the oldest.
  WHARF_RNG uint32_t Behind(uint32_t i) const {
    const uint32_t at = place + i;
    return Word(at < kState ? at : at - kState);
  }
  WHARF_RNG uint32_t Next() {
    uint32_t x = (Word(place) & mask) ^ Behind(1);
    x ^= x << shift1;
    const uint32_t y = x ^ (Behind(pos) >> shift2);
    const uint32_t next = y ^ Word(kRecursion + (y & 15));
    uint32_t helper = Behind(pos - 1);
    helper ^= helper >> 16;
    helper ^= helper >> 8;
    words[static_cast<uint64_t>(place) * streams] = next;
    place = place + 1 == kState ? 0 : place + 1;
    return next ^ Word(kTempering + (helper & 15));
  }

  template <Form kForm>
  WHARF_RNG void Slot(const Generation& call, uint64_t position, uint64_t slot) {
    const uint64_t end = position + call.units;
    const uint64_t first = slot * kUnits < position ? position : slot * kUnits;
    const uint64_t last = (slot + 1) * kUnits < end ? (slot + 1) * kUnits : end;
    WHARF_ROLLED
    for (uint64_t unit = first; unit < last; ++unit) PutOne<kForm>(Next(), call, unit - position);
  }
};

// How a generator's streams begin.
struct Seeding {
  uint64_t* position;
  uint32_t* words;
  uint32_t streams;
  uint64_t start;         // in units
  uint32_t state[8];      // of the first stream; the key
  const uint32_t* table;  // jumps or parameters
};

// The jump to a stream is one for each of its number's digits, of which the table has all.
inline constexpr uint32_t kDigitBits = 4, kDigit = 1 << kDigitBits;
template <class Engine, int kJumpWords>
WHARF_RNG void SeedByJumps(const Seeding& seeding, uint32_t stream) {
  Engine engine;
  engine.Load(seeding.state, 1, 0);
  const uint32_t* digits = seeding.table;
  for (uint32_t rest = stream; rest != 0; rest >>= kDigitBits, digits += kDigit * kJumpWords) {
    if (rest % kDigit != 0) engine.Jump(digits + rest % kDigit * kJumpWords);
  }
  if (stream < seeding.start % seeding.streams) engine.Next();
  engine.Save(seeding.words, seeding.streams, stream);
}
WHARF_RNG void Begin(Xorwow*, const Seeding& seeding, uint32_t stream) { SeedByJumps<Xorwow, 5>(seeding, stream); }
WHARF_RNG void Begin(Mrg32k3a*, const Seeding& seeding, uint32_t stream) { SeedByJumps<Mrg32k3a, 6>(seeding, stream); }
WHARF_RNG void Begin(Philox*, const Seeding& seeding, uint32_t stream) {
  const uint64_t slot = seeding.start / Philox::kUnits;
  Philox engine;
  engine.taken = slot / seeding.streams + (stream < slot % seeding.streams ? 1 : 0);
  engine.Save(seeding.words, seeding.streams, stream);
  uint32_t* const key = seeding.words + 2 * seeding.streams;
  if (stream == 0) key[0] = seeding.state[0], key[1] = seeding.state[1];
}
// The table has what stands behind the states, in the same order.
WHARF_RNG void Begin(Mtgp32*, const Seeding& seeding, uint32_t stream) {
  const uint32_t streams = seeding.streams;
  uint32_t* const words = seeding.words + stream;
  for (uint32_t i = 0; i < Mtgp32::kWords - Mtgp32::kState; ++i) {
    words[(Mtgp32::kState + i) * streams] = seeding.table[i * streams + stream];
  }
  const uint32_t hidden = words[(Mtgp32::kRecursion + 4) * streams] ^ words[(Mtgp32::kRecursion + 8) * streams] << 16;
  uint32_t fill = hidden;
  fill += fill >> 16;
  fill += fill >> 8;
  fill = (fill & 0xff) * 0x01010101u;
  uint32_t before = seeding.state[0] + stream + 1;
  words[0] = before;
  for (uint32_t i = 1; i < Mtgp32::kState; ++i) {
    before = (i == 1 ? hidden : fill) ^ (1812433253u * (before ^ before >> 30) + i);
    words[i * streams] = before;
  }
}

// Sobol's sequence has a stream for each dimension, whose words are its direction vectors. They take no turns: all
// units of one dimension stand in front of those of the next. No unit needs another, so threads divide them.
template <typename Bits>
struct Sobol {
  using Word = Bits;
  static constexpr int kBits = 8 * sizeof(Word);

  // Of the point so many behind the first.
  WHARF_RNG static Word At(const Word* vectors, uint64_t point) {
    const Word gray = static_cast<Word>(point) ^ static_cast<Word>(point) >> 1;
    Word word = 0;
    WHARF_ROLLED
    for (int i = 0; i < kBits; ++i) word ^= (gray >> i & 1) != 0 ? vectors[i] : 0;
    return word;
  }
  template <Form kForm>
  WHARF_RNG static void Run(const Generation& call, uint64_t position, uint64_t thread, uint64_t threads) {
    for (uint64_t at = thread; at < call.units * call.streams; at += threads) {
      const auto* const vectors = reinterpret_cast<const Word*>(call.words) + at / call.units * kBits;
      PutOne<kForm>(At(vectors, position + at % call.units), call, at);
    }
  }
};
using Sobol32 = Sobol<uint32_t>;
using Sobol64 = Sobol<uint64_t>;
template <typename Word>
WHARF_RNG void Begin(Sobol<Word>*, const Seeding&, uint32_t) {}
template <class Engine>
inline constexpr bool kIsQuasi = false;
template <typename Word>
inline constexpr bool kIsQuasi<Sobol<Word>> = true;

template <class Engine>
WHARF_RNG void Begin(const Seeding& seeding, uint32_t stream) {
  Begin(static_cast<Engine*>(nullptr), seeding, stream);
  if (stream == 0) *seeding.position = seeding.start;
}

// The `index`-th stream of those that a call uses gives what is wanted of it.
template <class Engine, Form kForm>
WHARF_RNG void Generate(const Generation& call, uint64_t position, uint64_t index) {
  const uint64_t end = position + call.units;
  uint64_t slot = position / Engine::kUnits + index;
  if (index >= call.streams || slot * Engine::kUnits >= end) return;
  const auto stream = static_cast<uint32_t>(slot % call.streams);
  Engine engine;
  engine.Load(call.words, call.streams, stream);
  for (; slot * Engine::kUnits < end; slot += call.streams) engine.template Slot<kForm>(call, position, slot);
  engine.Save(call.words, call.streams, stream);
}

}  // namespace wharf::rng
