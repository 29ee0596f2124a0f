#include "examples/cuda_decode/reference.h"

#include <algorithm>
#include <cmath>

namespace decode {
namespace {

using Vector = std::vector<float>;

// Of values that are around 1.
constexpr float kTolerance = 1e-3f;

Vector Times(const Vector& x, const Vector& matrix) {
  const size_t out = matrix.size() / x.size();
  Vector y(out);
  for (size_t i = 0; i < x.size(); ++i)
    for (size_t j = 0; j < out; ++j) y[j] += x[i] * matrix[i * out + j];
  return y;
}

Vector Normalised(const Vector& x, const Vector& gain) {
  double squares = 0;
  for (float v : x) squares += double(v) * double(v);
  const float scale = float(1 / std::sqrt(squares / double(x.size()) + double(kNormEpsilon)));
  Vector y = x;
  for (size_t i = 0; i < y.size(); ++i) y[i] *= gain[i] * scale;
  return y;
}

float Activated(int expert, float x) {
  switch (expert) {
    case 0:
      return std::max(0.0f, x);
    case 1:
      return std::tanh(x);
    case 2:
      return x / (1 + std::exp(-x));
    default:
      return std::max(0.0f, x) * std::max(0.0f, x);
  }
}

float Gelu(float x) { return 0.5f * x * std::erfc(-x / std::sqrt(2.0f)); }

void AddTo(Vector* x, const Vector& more) {
  for (size_t i = 0; i < x->size(); ++i) (*x)[i] += more[i];
}

// Whether no value is larger than the chosen one by more than the tolerance.
bool IsLargest(const Vector& values, int chosen) {
  return chosen >= 0 && size_t(chosen) < values.size() &&
         values[size_t(chosen)] >= *std::max_element(values.begin(), values.end()) - kTolerance;
}

// The tokens so far in one layer.
struct Cache {
  std::vector<Vector> keys, values;
};

Vector Attention(const Vector& qkv, const Cache& cache) {
  Vector out(kWidth);
  for (size_t head = 0; head < size_t(kHeads); ++head) {
    const size_t first = head * size_t(kHeadWidth), end = first + size_t(kHeadWidth);
    Vector weights;
    for (const Vector& key : cache.keys) {
      float score = 0;
      for (size_t i = first; i < end; ++i) score += qkv[i] * key[i];
      weights.push_back(std::exp(score / std::sqrt(float(kHeadWidth))));
    }
    float sum = 0;
    for (float weight : weights) sum += weight;
    for (size_t t = 0; t < weights.size(); ++t)
      for (size_t i = first; i < end; ++i) out[i] += weights[t] / sum * cache.values[t][i];
  }
  return out;
}

class Judge {
 public:
  Judge(const Model& model, const Answer& answer) : model_(model), answer_(answer) {}

  std::string Run() {
    const size_t steps = size_t(answer_.Steps());
    if (answer_.experts.size() != steps * kLayers / 2)
      return "another number of experts than layers and tokens call for";
    for (size_t position = 0; position < steps; ++position) {
      if (!Forward(position)) return "token " + std::to_string(position) + ": the gate chose another expert";
      const bool decoded = position + 1 >= size_t(answer_.prompt);
      if (decoded && !IsLargest(Times(history_[position], model_.logits), answer_.tokens[position + 1]))
        return "token " + std::to_string(position + 1) + ": not the one with the largest logit";
    }
    if (!EndsWhereItShould()) return "it stopped too early or too late";
    return ProposalsAgree() ? "" : "the proposals differ";
  }

 private:
  bool Forward(size_t position) {
    const size_t token = size_t(answer_.tokens[position]);
    Vector x(kWidth);
    for (size_t i = 0; i < x.size(); ++i)
      x[i] = model_.embedding[token * kWidth + i] + model_.positions[position * kWidth + i];
    for (size_t l = 0; l < size_t(kLayers); ++l) {
      const Layer& layer = model_.layers[l];
      const Vector qkv = Times(Normalised(x, layer.attention_norm), layer.qkv);
      caches_[l].keys.emplace_back(qkv.begin() + kWidth, qkv.begin() + 2 * kWidth);
      caches_[l].values.emplace_back(qkv.begin() + 2 * kWidth, qkv.end());
      AddTo(&x, Times(Attention(qkv, caches_[l]), layer.projection));
      const Vector normed = Normalised(x, layer.feed_norm);
      int expert = -1;
      if (layer.is_mixture) {
        expert = answer_.experts[next_expert_++];
        if (!IsLargest(Times(normed, layer.gate), expert)) return false;
      }
      Vector hidden = Times(normed, expert < 0 ? layer.up : layer.experts[expert].up);
      for (float& h : hidden) h = expert < 0 ? Gelu(h) : Activated(expert, h);
      AddTo(&x, Times(hidden, expert < 0 ? layer.down : layer.experts[expert].down));
    }
    history_.push_back(Normalised(x, model_.final_norm));
    return true;
  }

  bool EndsWhereItShould() const {
    const auto is_stop = [](int token) { return token < kStopTokens; };
    const auto first = std::find_if(answer_.tokens.begin() + answer_.prompt, answer_.tokens.end(), is_stop);
    const bool full = answer_.tokens.size() == size_t(kContext);
    return first == answer_.tokens.end() ? full : first + 1 == answer_.tokens.end();
  }

  bool ProposalsAgree() const {
    std::vector<size_t> starts;
    const size_t last = history_.size();
    for (size_t i = size_t(answer_.prompt); i < last; ++i)
      if (answer_.tokens[i] % kProposalEvery == 0) starts.push_back(i);
    if (starts.size() != size_t(answer_.Proposals())) return false;
    for (size_t p = 0; p < starts.size(); ++p) {
      const size_t end = p + 1 < starts.size() ? starts[p + 1] : last;
      Vector mean(kWidth);
      for (size_t t = starts[p]; t < end; ++t) AddTo(&mean, history_[t]);
      for (float& v : mean) v /= float(end - starts[p]);
      const Vector want = Times(mean, model_.proposal);
      for (size_t i = 0; i < want.size(); ++i)
        if (!(std::fabs(want[i] - answer_.proposals[p * kProposalFields + i]) <= kTolerance)) return false;
    }
    return true;
  }

  const Model& model_;
  const Answer& answer_;
  Cache caches_[kLayers];
  std::vector<Vector> history_;
  size_t next_expert_ = 0;
};

}  // namespace

std::string Disagreement(const Model& model, const Answer& answer) { return Judge(model, answer).Run(); }

}  // namespace decode
