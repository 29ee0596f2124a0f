// The decoder's sizes and weights, and the record of one inference.
//
// A GPT in small: tokens and positions are embedded, four layers of attention over all tokens so far and of a
// feed-forward network follow, and the largest logit names the next token. In every other layer the feed-forward
// network is a mixture of experts: a gate picks one of four, which differ in width and activation.
#pragma once

#include <vector>

namespace decode {

constexpr int kVocabulary = 256, kWidth = 64, kHeads = 4, kHeadWidth = kWidth / kHeads;
constexpr int kLayers = 4, kHidden = 256, kContext = 64;  // tokens, prompt and answer together
constexpr int kExperts = 4;
constexpr int kExpertHidden[kExperts] = {64, 128, 192, 256};
constexpr int kStopTokens = 6;      // the first of the vocabulary end an answer
constexpr int kProposalEvery = 7;   // tokens divisible by it begin a proposal
constexpr int kProposalFields = 8;  // what a proposal is described by
constexpr int kLongestPrompt = 12, kShortestPrompt = 4;
constexpr float kNormEpsilon = 1e-5f;

// Matrices are row-major, in x out: y = x * matrix.
struct Expert {
  std::vector<float> up, down;  // kWidth x hidden, hidden x kWidth
};
struct Layer {
  std::vector<float> attention_norm, qkv, projection;  // kWidth, kWidth x 3 kWidth, kWidth x kWidth
  std::vector<float> feed_norm;
  bool is_mixture = false;
  std::vector<float> up, down;  // kWidth x kHidden, kHidden x kWidth; empty in a mixture
  std::vector<float> gate;      // kWidth x kExperts; empty unless a mixture
  Expert experts[kExperts];
};
struct Model {
  std::vector<float> embedding, positions;  // kVocabulary x kWidth, kContext x kWidth
  Layer layers[kLayers];
  std::vector<float> final_norm, logits;  // kWidth, kWidth x kVocabulary
  std::vector<float> proposal;            // kWidth x kProposalFields
};

// Pseudo-random, not trained: see README.md. The same on every machine.
Model BuildModel();

// The prompt of inference `number`: kShortestPrompt to kLongestPrompt tokens.
std::vector<int> PromptOf(int number);

// What one inference decided and gave.
struct Answer {
  std::vector<int> tokens;                              // the prompt, then what was decoded
  int prompt = 0;                                       // how many of them are the prompt
  std::vector<int> experts;                             // chosen, by token and mixture layer
  std::vector<float> proposals;                         // rows of kProposalFields
  int Steps() const { return int(tokens.size()) - 1; }  // forward passes: one for each token but the last
  int Proposals() const { return int(proposals.size()) / kProposalFields; }
};

}  // namespace decode
