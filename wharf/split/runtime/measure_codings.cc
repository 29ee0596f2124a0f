#include "wharf/split/runtime/measure_codings.h"

#include <algorithm>
#include <utility>

#include "wharf/split/codec/row_codec.h"

namespace wharf::split {
namespace {

constexpr int64_t kSampleBytes = 256 << 10;

class Measuring {
 public:
  Measuring(const Model& model, const std::vector<Encoding>& encodings, const Clock& work)
      : model_(model), encodings_(encodings), work_(work), operators_(model.Operators().operators.size()) {}

  absl::StatusOr<CodingCosts> Measure(const exec::TensorPtr& input) {
    WHARF_ASSIGN_OR_RETURN(const std::vector<std::vector<exec::Part>> parts, PartsByOperator(input));
    for (size_t op = 0; op < operators_; ++op) {
      for (const Encoding& encoding : encodings_) {
        WHARF_RETURN_IF_ERROR(Add(parts[op], op, op == 0 ? encoding.input : encoding.rows));
      }
    }
    CodingCosts costs;
    for (auto& [coding, sum] : sums_) {
      costs[coding] = {std::move(sum.size), sum.bytes > 0 ? sum.ms / static_cast<double>(sum.bytes) : 0};
    }
    return costs;
  }

 private:
  struct Sum {
    std::vector<double> size;    // by operator; 1 where there is nothing to encode
    std::vector<bool> measured;  // several encodings may code alike
    double ms = 0;
    int64_t bytes = 0;
  };

  // Rows from the middle of everything that operators make; of the input too, nothing of the output.
  absl::StatusOr<std::vector<std::vector<exec::Part>>> PartsByOperator(const exec::TensorPtr& input) {
    const exec::Program& program = model_.Program();
    const auto& values = model_.Operators().values;
    std::vector<exec::Rows> wanted;
    for (size_t op = 1; op < operators_; ++op) {
      for (const int value : values[op]) wanted.push_back({value, exec::AllRows(program, value)});
    }
    const exec::Rows whole{values[0][0], exec::AllRows(program, values[0][0])};
    const exec::Part given{whole, input};
    WHARF_ASSIGN_OR_RETURN(const std::vector<exec::TensorPtr> made, program.Run({&given, 1}, wanted));
    std::vector<std::vector<exec::Part>> parts(operators_);
    parts[0].push_back(Middle(given));
    auto next = made.begin();
    auto rows = wanted.begin();
    for (size_t op = 1; op < operators_; ++op) {
      for (size_t i = 0; i < values[op].size(); ++i) parts[op].push_back(Middle({*rows++, *next++}));
    }
    return parts;
  }

  exec::Part Middle(const exec::Part& part) const {
    const RowRange all = part.rows.range;
    const int64_t row_bytes = part.tensor->Type().Bytes() / std::max(all.Size(), 1);
    const auto rows =
        static_cast<int>(std::min<int64_t>(all.Size(), 1 + kSampleBytes / std::max<int64_t>(row_bytes, 1)));
    const int first = all.lo + (all.Size() - rows) / 2;
    return rows == all.Size() ? part : model_.Program().Cut(part, {first, first + rows});
  }

  absl::Status Add(const std::vector<exec::Part>& parts, size_t op, RowCodec codec) {
    if (codec.coding == RowCoding::kPlain) return absl::OkStatus();
    Sum& sum = sums_[codec.coding];
    sum.size.resize(operators_, 1);
    sum.measured.resize(operators_);
    if (sum.measured[op]) return absl::OkStatus();
    sum.measured[op] = true;
    int64_t plain_bytes = 0, coded_bytes = 0;
    for (const exec::Part& part : parts) {
      const graph::TensorType type = part.tensor->Type();
      std::vector<std::byte> plain(type.Bytes());
      part.tensor->Read(plain);
      const TimePoint start = work_.Now();
      std::vector<std::byte> coded = EncodeRows(type, codec, std::move(plain));
      coded_bytes += static_cast<int64_t>(coded.size());
      WHARF_RETURN_IF_ERROR(DecodeRows(type, codec, std::move(coded)).status());
      sum.ms += Milliseconds(work_.Now() - start);
      plain_bytes += type.Bytes();
    }
    sum.bytes += plain_bytes;
    if (plain_bytes > 0) sum.size[op] = static_cast<double>(coded_bytes) / static_cast<double>(plain_bytes);
    return absl::OkStatus();
  }

  const Model& model_;
  const std::vector<Encoding>& encodings_;
  const Clock& work_;
  const size_t operators_;
  std::map<RowCoding, Sum> sums_;
};

}  // namespace

absl::StatusOr<CodingCosts> MeasureCodings(const Model& model, const exec::TensorPtr& input,
                                           const std::vector<Encoding>& encodings, const Clock& work) {
  return Measuring(model, encodings, work).Measure(input);
}

}  // namespace wharf::split
