#include "examples/cuda_decode/model.h"

#include <cmath>
#include <cstdint>

namespace decode {
namespace {

// Numbers from a counter, the same everywhere (SplitMix64's mixing).
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  uint64_t Next() {
    uint64_t z = state_ += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
  }
  // Uniform in (-1, 1), times `scale`.
  float Symmetric(float scale) { return scale * (float(Next() >> 40) / float(1 << 23) - 1.0f); }

 private:
  uint64_t state_;
};

// Keeps the variance of what a matrix with `in` rows gives near that of what it gets, times gain squared.
std::vector<float> Matrix(Random& random, int in, int out, float gain) {
  std::vector<float> matrix(size_t(in) * size_t(out));
  const float scale = gain * std::sqrt(3.0f / float(in));
  for (float& value : matrix) value = random.Symmetric(scale);
  return matrix;
}

std::vector<float> Gains(Random& random) {
  std::vector<float> gains(kWidth);
  for (float& gain : gains) gain = 1.0f + random.Symmetric(0.1f);
  return gains;
}

}  // namespace

Model BuildModel() {
  Random random(20);
  Model model;
  model.embedding = Matrix(random, 1, kVocabulary * kWidth, 1.0f);
  model.positions = Matrix(random, 1, kContext * kWidth, 0.7f);
  for (int l = 0; l < kLayers; ++l) {
    Layer& layer = model.layers[l];
    layer.attention_norm = Gains(random);
    layer.qkv = Matrix(random, kWidth, 3 * kWidth, 1.0f);
    layer.projection = Matrix(random, kWidth, kWidth, 0.7f);
    layer.feed_norm = Gains(random);
    layer.is_mixture = l % 2 == 1;
    if (!layer.is_mixture) {
      layer.up = Matrix(random, kWidth, kHidden, 1.0f);
      layer.down = Matrix(random, kHidden, kWidth, 1.0f);
      continue;
    }
    layer.gate = Matrix(random, kWidth, kExperts, 1.0f);
    for (int e = 0; e < kExperts; ++e) {
      layer.experts[e].up = Matrix(random, kWidth, kExpertHidden[e], 1.0f);
      layer.experts[e].down = Matrix(random, kExpertHidden[e], kWidth, 1.0f);
    }
  }
  model.final_norm = Gains(random);
  model.logits = Matrix(random, kWidth, kVocabulary, 1.0f);
  model.proposal = Matrix(random, kWidth, kProposalFields, 1.0f);
  return model;
}

std::vector<int> PromptOf(int number) {
  Random random(1000 + uint64_t(number));
  const int length = kShortestPrompt + int(random.Next() % (kLongestPrompt - kShortestPrompt + 1));
  std::vector<int> prompt(static_cast<size_t>(length));
  for (int& token : prompt) token = kStopTokens + int(random.Next() % (kVocabulary - kStopTokens));
  return prompt;
}

}  // namespace decode
