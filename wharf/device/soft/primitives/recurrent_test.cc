// Recurrent networks against the plainest loops there are: every cell, in all layouts, types and forms.
#include <gtest/gtest.h>

#include <cmath>

#include "wharf/base/random.h"
#include "wharf/device/soft/primitives/blocks.h"
#include "wharf/device/soft/primitives/primitives.h"

namespace wharf::device::soft {
namespace {

using Numbers = std::vector<double>;

double Logistic(double value) { return 1 / (1 + std::exp(-value)); }

// Memory in a type, and what it holds in double.
class Memory {
 public:
  Memory(ElementType type, int64_t count, Random& random, double scale)
      : type_(type), bytes_(static_cast<size_t>(count) * ElementBytes(type)) {
    Numbers values(static_cast<size_t>(count));
    for (double& value : values) value = scale * (random.Between(-16, 16) / 16.0);
    // Double only for tensors of double.
    if (type == ElementType::kF64) {
      StoreRow(type, address(), 1, count, values.data());
    } else {
      const std::vector<float> narrow(values.begin(), values.end());
      StoreRow(type, address(), 1, count, narrow.data());
    }
  }
  DeviceAddress address() const { return reinterpret_cast<DeviceAddress>(bytes_.data()); }
  Numbers Get() const {
    const size_t count = bytes_.size() / ElementBytes(type_);
    Numbers values(count);
    if (type_ == ElementType::kF64) {
      LoadRow(type_, address(), 1, static_cast<int64_t>(count), values.data());
      return values;
    }
    std::vector<float> narrow(count);
    LoadRow(type_, address(), 1, static_cast<int64_t>(count), narrow.data());
    return {narrow.begin(), narrow.end()};
  }

 private:
  ElementType type_;
  std::vector<std::byte> bytes_;
};

// One sequence after the other, one element after the other.
class Reference {
 public:
  Reference(const Recurrent& r, Numbers x, Numbers weights, Numbers hx, Numbers cx)
      : r_(r), places_(r), x_(std::move(x)), weights_(std::move(weights)), hy(std::move(hx)), cy(std::move(cx)) {
    size_t row = 0;
    for (int step = 0; step < r.steps; ++step) {
      steps_.push_back(row);
      for (int sequence = 0; sequence < r.batch; ++sequence) row += r.LengthOf(sequence) > step ? 1 : 0;
    }
  }

  // `y` begins as what was there.
  void Run(Numbers& y) {
    const size_t width = static_cast<size_t>(r_.Directions()) * r_.outputs;
    for (int sequence = 0; sequence < r_.batch; ++sequence) {
      const int length = r_.LengthOf(sequence);
      std::vector<Numbers> below;
      for (int step = 0; step < length; ++step) {
        const auto at = x_.begin() + static_cast<std::ptrdiff_t>(Row(step, sequence) * r_.inputs);
        below.emplace_back(at, at + r_.inputs);
      }
      for (int layer = 0; layer < r_.layers; ++layer) {
        std::vector<Numbers> above(static_cast<size_t>(length), Numbers(width));
        for (int direction = 0; direction < r_.Directions(); ++direction) {
          for (int i = 0; i < length; ++i) {
            const int step = direction == 0 ? i : length - 1 - i;
            const Numbers h = Step(layer * r_.Directions() + direction, sequence, below[step]);
            std::copy(h.begin(), h.end(), above[step].begin() + static_cast<std::ptrdiff_t>(direction) * r_.outputs);
          }
        }
        below = std::move(above);
      }
      const bool packed = r_.layout == SequenceLayout::kPacked;
      for (int step = 0; step < (packed ? length : r_.steps); ++step) {
        if (step >= length && !r_.fills) continue;
        const Numbers row = step < length ? below[step] : Numbers(width, r_.filling);
        std::copy(row.begin(), row.end(), y.begin() + static_cast<std::ptrdiff_t>(Row(step, sequence) * width));
      }
    }
  }

 private:
  size_t Row(int step, int sequence) const {
    if (r_.layout == SequenceLayout::kStepsFirst) return static_cast<size_t>(step) * r_.batch + sequence;
    if (r_.layout == SequenceLayout::kSequencesFirst) return static_cast<size_t>(sequence) * r_.steps + step;
    return steps_[static_cast<size_t>(step)] + sequence;
  }
  // Of one result of a gate.
  double Product(int layer, int id, int row, const Numbers& with) const {
    const RecurrentWeights::Part part = places_.Matrix(layer, id);
    if (part.rows == 0) return with[row];
    double sum = 0;
    for (int i = 0; i < part.columns; ++i) {
      sum += weights_[static_cast<size_t>(part.offset + int64_t{row} * part.columns + i)] * with[i];
    }
    return sum;
  }
  double Bias(int layer, int id, int row) const {
    const RecurrentWeights::Part part = places_.Bias(layer, id);
    return part.rows == 0 ? 0 : weights_[static_cast<size_t>(part.offset + row)];
  }
  Numbers Step(int layer, int sequence, const Numbers& x) {
    double* const h = hy.data() + (static_cast<size_t>(layer) * r_.batch + sequence) * r_.outputs;
    double* const c = cy.empty() ? nullptr : cy.data() + (static_cast<size_t>(layer) * r_.batch + sequence) * r_.hidden;
    const Numbers before(h, h + r_.outputs);
    Numbers after(static_cast<size_t>(r_.hidden));
    for (int i = 0; i < r_.hidden; ++i) {
      const auto of_input = [&](int gate) { return Product(layer, gate, i, x) + Bias(layer, gate, i); };
      const auto of_state = [&](int gate) {
        return Product(layer, r_.Gates() + gate, i, before) + Bias(layer, r_.Gates() + gate, i);
      };
      const auto sum = [&](int gate) { return of_input(gate) + of_state(gate); };
      switch (r_.cell) {
        case RecurrentCell::kRelu:
          after[i] = std::max(0.0, sum(0));
          break;
        case RecurrentCell::kTanh:
          after[i] = std::tanh(sum(0));
          break;
        case RecurrentCell::kLstm:
          c[i] = Logistic(sum(1)) * c[i] + Logistic(sum(0)) * std::tanh(sum(2));
          after[i] = Logistic(sum(3)) * std::tanh(c[i]);
          break;
        case RecurrentCell::kGru: {
          const double z = Logistic(sum(1));
          after[i] = (1 - z) * std::tanh(of_input(2) + Logistic(sum(0)) * of_state(2)) + z * before[i];
          break;
        }
      }
    }
    Numbers result = after;
    if (r_.Projects()) {
      result.resize(static_cast<size_t>(r_.outputs));
      for (int i = 0; i < r_.outputs; ++i) result[i] = Product(layer, 2 * r_.Gates(), i, after);
    }
    std::copy(result.begin(), result.end(), h);
    return result;
  }

  const Recurrent& r_;
  const RecurrentWeights places_;
  const Numbers x_, weights_;
  std::vector<size_t> steps_;  // where each begins if they are packed

 public:
  Numbers hy, cy;
};

void ExpectNear(const Numbers& got, const Numbers& want, double tolerance, const char* what) {
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < got.size(); ++i) ASSERT_NEAR(got[i], want[i], tolerance) << what << " " << i;
}

double ToleranceOf(ElementType type) {
  return type == ElementType::kF64 ? 1e-12 : type == ElementType::kF32 ? 1e-5 : type == ElementType::kF16 ? 2e-3 : 2e-2;
}

// Runs it with memory of its own, if it is accepted, and compares everything that it writes.
void Compare(Recurrent r, Random& random) {
  const auto states = int64_t{r.layers} * r.Directions() * r.batch;
  ASSERT_EQ(CheckShape(r), absl::OkStatus());
  const Memory x(r.type, r.Rows() * r.inputs, random, 1), weights(r.type, RecurrentWeights(r).Elements(), random, 0.5);
  const Memory hx(r.type, states * r.outputs, random, 1), cx(r.type, states * r.hidden, random, 1);
  const Memory hy(r.type, states * r.outputs, random, 1), cy(r.type, states * r.hidden, random, 1);
  const Memory y(r.type, r.Rows() * r.Directions() * r.outputs, random, 1);
  r.x = x.address(), r.y = y.address(), r.weights = weights.address();
  const bool begins = random.Chance(0.8);
  if (begins) r.hx = hx.address(), r.cx = cx.address();
  r.hy = hy.address(), r.cy = cy.address();
  const auto none = [](const Memory& memory) { return Numbers(memory.Get().size()); };
  Reference reference(r, x.Get(), weights.Get(), begins ? hx.Get() : none(hx), begins ? cx.Get() : none(cx));
  Numbers want = y.Get();
  reference.Run(want);
  RunPrimitive(r);
  const double tolerance = ToleranceOf(r.type);
  ExpectNear(y.Get(), want, tolerance, "y");
  ExpectNear(hy.Get(), reference.hy, tolerance, "hy");
  if (r.cell == RecurrentCell::kLstm) ExpectNear(cy.Get(), reference.cy, 4 * tolerance, "cy");
}

constexpr RecurrentCell kCells[] = {RecurrentCell::kRelu, RecurrentCell::kTanh, RecurrentCell::kLstm,
                                    RecurrentCell::kGru};

TEST(SoftRecurrentTest, EveryFormAgainstLoops) {
  constexpr ElementType kAll[] = {ElementType::kF32, ElementType::kF64, ElementType::kF16, ElementType::kBF16};
  for (uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    Recurrent r;
    r.cell = kCells[seed % 4];
    r.type = kAll[seed / 4 % 4];
    r.bias = static_cast<RecurrentBias>(random.Below(4));
    r.layout = static_cast<SequenceLayout>(random.Below(3));
    r.both_directions = random.Chance(0.5);
    r.fills = random.Chance(0.5);
    r.filling = -3;
    r.inputs = random.Between(1, 9), r.hidden = r.outputs = random.Between(1, 9);
    r.layers = random.Between(1, 3), r.steps = random.Between(1, 7), r.batch = random.Between(1, 5);
    if (r.cell == RecurrentCell::kLstm && random.Chance(0.4)) r.outputs = random.Between(1, r.hidden);
    if (random.Chance(0.2)) r.skips_input = true, r.inputs = r.hidden;
    if (random.Chance(0.6)) {
      for (int i = 0; i < r.batch; ++i) r.lengths.push_back(random.Between(0, r.steps));
      r.lengths[random.Below(r.batch)] = random.Between(1, r.steps);
      if (r.layout == SequenceLayout::kPacked) std::sort(r.lengths.rbegin(), r.lengths.rend());
    }
    Compare(r, random);
    if (HasFatalFailure()) return;
  }
}

// So many sequences, and so many steps, that they are computed in parts: 74 sequences at a time, 1771 steps of them.
TEST(SoftRecurrentTest, LongSequencesInParts) {
  Random random(7);
  Recurrent r;
  r.cell = RecurrentCell::kGru;
  r.layout = SequenceLayout::kPacked;
  r.both_directions = true;
  r.inputs = 1, r.hidden = r.outputs = 2, r.layers = 2;
  r.steps = 3500, r.batch = 80;
  for (int i = 0; i < r.batch; ++i) r.lengths.push_back(std::max(1, r.steps - 200 * i));
  Compare(r, random);
}

// 34 sequences at a time, one step of them.
TEST(SoftRecurrentTest, WideInputsInParts) {
  Random random(8);
  Recurrent r;
  r.cell = RecurrentCell::kLstm;
  r.both_directions = true;
  r.type = ElementType::kF64;
  r.inputs = 30'000, r.hidden = r.outputs = 2, r.layers = 2;
  r.steps = 3, r.batch = 50;
  Compare(r, random);
}

// A program may take the states where they are.
TEST(SoftRecurrentTest, StatesInPlace) {
  Random random(3);
  Recurrent r;
  r.cell = RecurrentCell::kLstm;
  r.inputs = r.hidden = r.outputs = 4, r.layers = 2, r.steps = 3, r.batch = 2;
  const Memory x(r.type, 24, random, 1), weights(r.type, RecurrentWeights(r).Elements(), random, 0.5);
  const Memory h(r.type, 16, random, 1), c(r.type, 16, random, 1), y(r.type, 24, random, 1);
  Reference reference(r, x.Get(), weights.Get(), h.Get(), c.Get());
  Numbers want = y.Get();
  reference.Run(want);
  r.x = x.address(), r.y = y.address(), r.weights = weights.address();
  r.hx = r.hy = h.address(), r.cx = r.cy = c.address();
  RunPrimitive(r);
  ExpectNear(y.Get(), want, 1e-5, "y");
  ExpectNear(h.Get(), reference.hy, 1e-5, "h");
  ExpectNear(c.Get(), reference.cy, 1e-5, "c");
}

}  // namespace
}  // namespace wharf::device::soft
