#include "examples/cuda_decode/decoder.h"

#include <stdexcept>
#include <string>

namespace decode {
namespace {

void Check(cudaError_t status, const char* what) {
  if (status == cudaSuccess) return;
  throw std::runtime_error(std::string(what) + ": " + cudaGetErrorName(status) + " (" + cudaGetErrorString(status) +
                           ")");
}

void Check(cublasStatus_t status, const char* what) {
  if (status != CUBLAS_STATUS_SUCCESS)
    throw std::runtime_error(std::string(what) + ": " + cublasGetStatusString(status));
}

__device__ int Index() { return int(blockIdx.x * blockDim.x + threadIdx.x); }

__global__ void Embed(const int* tokens, const float* embedding, const float* positions, float* x, int position) {
  const int i = Index();
  if (i < kWidth) x[i] = embedding[tokens[position] * kWidth + i] + positions[position * kWidth + i];
}

__global__ void RmsNorm(const float* x, const float* gain, float* out) {
  const int i = Index();
  if (i >= kWidth) return;
  float sum = 0;
  for (int j = 0; j < kWidth; ++j) sum += x[j] * x[j];
  out[i] = x[i] * gain[i] / sqrtf(sum / kWidth + kNormEpsilon);
}

__global__ void AppendKeyAndValue(const float* qkv, float* keys, float* values, int position) {
  const int i = Index();
  if (i >= kWidth) return;
  keys[position * kWidth + i] = qkv[kWidth + i];
  values[position * kWidth + i] = qkv[2 * kWidth + i];
}

// Row by row of heads: how much this token's query likes each token's key.
__global__ void Scores(const float* query, const float* keys, float* scores, int length) {
  const int i = Index();
  if (i >= kHeads * length) return;
  const int head = i / length, token = i % length;
  float sum = 0;
  for (int j = 0; j < kHeadWidth; ++j)
    sum += query[head * kHeadWidth + j] * keys[token * kWidth + head * kHeadWidth + j];
  scores[i] = sum * rsqrtf(float(kHeadWidth));
}

__global__ void Softmax(float* scores, int length) {
  const int head = Index();
  if (head >= kHeads) return;
  float* row = scores + head * length;
  float most = row[0], sum = 0;
  for (int j = 1; j < length; ++j) most = fmaxf(most, row[j]);
  for (int j = 0; j < length; ++j) sum += row[j] = expf(row[j] - most);
  for (int j = 0; j < length; ++j) row[j] /= sum;
}

__global__ void Mix(const float* weights, const float* values, float* out, int length) {
  const int i = Index();
  if (i >= kWidth) return;
  float sum = 0;
  for (int j = 0; j < length; ++j) sum += weights[i / kHeadWidth * length + j] * values[j * kWidth + i];
  out[i] = sum;
}

__global__ void AddTo(float* x, const float* more) {
  const int i = Index();
  if (i < kWidth) x[i] += more[i];
}

__global__ void Gelu(float* x, int n) {
  const int i = Index();
  if (i < n) x[i] = 0.5f * x[i] * (1.0f + erff(x[i] * 0.70710678f));
}

// The experts' first halves: each its own kernel, as their activations differ.
__device__ float Dot(const float* x, const float* up, int hidden, int i) {
  float sum = 0;
  for (int j = 0; j < kWidth; ++j) sum += x[j] * up[j * hidden + i];
  return sum;
}
__global__ void ExpertRelu(const float* x, const float* up, float* out, int hidden) {
  const int i = Index();
  if (i < hidden) out[i] = fmaxf(0.0f, Dot(x, up, hidden, i));
}
__global__ void ExpertTanh(const float* x, const float* up, float* out, int hidden) {
  const int i = Index();
  if (i < hidden) out[i] = tanhf(Dot(x, up, hidden, i));
}
__global__ void ExpertSilu(const float* x, const float* up, float* out, int hidden) {
  const int i = Index();
  if (i >= hidden) return;
  const float y = Dot(x, up, hidden, i);
  out[i] = y / (1.0f + expf(-y));
}
__global__ void ExpertSquare(const float* x, const float* up, float* out, int hidden) {
  const int i = Index();
  if (i >= hidden) return;
  const float y = fmaxf(0.0f, Dot(x, up, hidden, i));
  out[i] = y * y;
}

using ExpertKernel = void (*)(const float*, const float*, float*, int);
constexpr ExpertKernel kExpertKernels[kExperts] = {ExpertRelu, ExpertTanh, ExpertSilu, ExpertSquare};

// The first of the largest.
__global__ void ArgMax(const float* values, int n, int* out) {
  if (Index() != 0) return;
  int best = 0;
  for (int i = 1; i < n; ++i)
    if (values[i] > values[best]) best = i;
  *out = best;
}

// Where proposals begin among tokens [first, last), and how many there are.
__global__ void FindProposals(const int* tokens, int first, int last, int* starts, int* count) {
  if (Index() != 0) return;
  int found = 0;
  for (int i = first; i < last; ++i)
    if (tokens[i] % kProposalEvery == 0) starts[found++] = i;
  *count = found;
}

// A proposal reaches to the next one's start: the mean of its tokens' states, times a matrix.
__global__ void DescribeProposal(const float* history, const int* starts, const float* matrix, float* out, int index,
                                 int count, int last) {
  const int i = Index();
  if (i >= kProposalFields) return;
  const int begin = starts[index], end = index + 1 < count ? starts[index + 1] : last;
  float sum = 0;
  for (int t = begin; t < end; ++t)
    for (int j = 0; j < kWidth; ++j) sum += history[t * kWidth + j] * matrix[j * kProposalFields + i];
  out[index * kProposalFields + i] = sum / float(end - begin);
}

}  // namespace

template <class T>
Buffer<T>::Buffer(size_t count) {
  void* memory = nullptr;
  Check(cudaMalloc(&memory, count * sizeof(T)), "cudaMalloc");
  memory_.reset(static_cast<T*>(memory));
}

Buffer<float> Decoder::Upload(const std::vector<float>& values) {
  if (values.empty()) return {};
  Buffer<float> buffer(values.size());
  Check(cudaMemcpy(buffer.data(), values.data(), values.size() * sizeof(float), cudaMemcpyHostToDevice), "weights");
  return buffer;
}

Decoder::Decoder(const Model& model) {
  Check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
  Check(cublasCreate(&blas_), "cublasCreate");
  Check(cublasSetStream(blas_, stream_), "cublasSetStream");
  for (int l = 0; l < kLayers; ++l) {
    const Layer& from = model.layers[l];
    DeviceLayer& to = layers_[l];
    to.is_mixture = from.is_mixture;
    to.attention_norm = Upload(from.attention_norm), to.qkv = Upload(from.qkv), to.projection = Upload(from.projection);
    to.feed_norm = Upload(from.feed_norm), to.up = Upload(from.up), to.down = Upload(from.down);
    to.gate = Upload(from.gate);
    for (int e = 0; e < kExperts; ++e)
      to.experts[e].up = Upload(from.experts[e].up), to.experts[e].down = Upload(from.experts[e].down);
    to.keys = Buffer<float>(kContext * kWidth), to.values = Buffer<float>(kContext * kWidth);
  }
  embedding_ = Upload(model.embedding), positions_ = Upload(model.positions), final_norm_ = Upload(model.final_norm);
  logits_matrix_ = Upload(model.logits), proposal_matrix_ = Upload(model.proposal);
  for (Buffer<float>* buffer : {&x_, &normed_, &mixed_, &projected_}) *buffer = Buffer<float>(kWidth);
  qkv_ = Buffer<float>(3 * kWidth), scores_ = Buffer<float>(kHeads * kContext), hidden_ = Buffer<float>(kHidden);
  gate_ = Buffer<float>(kExperts), logits_ = Buffer<float>(kVocabulary), history_ = Buffer<float>(kContext * kWidth);
  proposals_ = Buffer<float>(kContext * kProposalFields);
  tokens_ = Buffer<int>(kContext), expert_ = Buffer<int>(1), starts_ = Buffer<int>(kContext);
  start_count_ = Buffer<int>(1);
}

Decoder::~Decoder() {
  cublasDestroy(blas_);
  cudaStreamDestroy(stream_);
}

template <class... Parameters, class... Arguments>
void Decoder::Launch(void (*kernel)(Parameters...), int threads, Arguments... arguments) {
  constexpr int kBlock = 64;
  kernel<<<unsigned((threads + kBlock - 1) / kBlock), kBlock, 0, stream_>>>(static_cast<Parameters>(arguments)...);
  ++counts_.launches, ++counts_.get_last_error;
  Check(cudaGetLastError(), "launch");
}

void Decoder::Multiply(const float* x, const float* matrix, float* out, int k, int n) {
  const float one = 1, zero = 0;
  ++counts_.gemms;
  // cuBLAS is column-major: it computes the transposed product of the transposed matrices.
  Check(cublasSgemm(blas_, CUBLAS_OP_N, CUBLAS_OP_N, n, 1, k, &one, matrix, n, x, k, &zero, out, n), "cublasSgemm");
}

void Decoder::CopyToHost(void* host, const void* device, size_t bytes) {
  ++counts_.device_to_host, ++counts_.synchronise;
  Check(cudaMemcpyAsync(host, device, bytes, cudaMemcpyDeviceToHost, stream_), "copy to the host");
  Check(cudaStreamSynchronize(stream_), "cudaStreamSynchronize");
}

void Decoder::Attend(const DeviceLayer& layer, int position) {
  const int length = position + 1;
  Launch(RmsNorm, kWidth, x_.data(), layer.attention_norm.data(), normed_.data());
  Multiply(normed_.data(), layer.qkv.data(), qkv_.data(), kWidth, 3 * kWidth);
  Launch(AppendKeyAndValue, kWidth, qkv_.data(), layer.keys.data(), layer.values.data(), position);
  Launch(Scores, kHeads * length, qkv_.data(), layer.keys.data(), scores_.data(), length);
  Launch(Softmax, kHeads, scores_.data(), length);
  Launch(Mix, kWidth, scores_.data(), layer.values.data(), mixed_.data(), length);
  Multiply(mixed_.data(), layer.projection.data(), projected_.data(), kWidth, kWidth);
  Launch(AddTo, kWidth, x_.data(), projected_.data());
}

int Decoder::FeedForward(const DeviceLayer& layer) {
  int chosen = -1;
  Launch(RmsNorm, kWidth, x_.data(), layer.feed_norm.data(), normed_.data());
  if (layer.is_mixture) {
    Multiply(normed_.data(), layer.gate.data(), gate_.data(), kWidth, kExperts);
    Launch(ArgMax, 1, gate_.data(), kExperts, expert_.data());
    CopyToHost(&chosen, expert_.data(), sizeof(chosen));
    if (chosen < 0 || chosen >= kExperts) throw std::runtime_error("the gate chose no expert");
    const DeviceExpert& expert = layer.experts[chosen];
    const int hidden = kExpertHidden[chosen];
    Launch(kExpertKernels[chosen], hidden, normed_.data(), expert.up.data(), hidden_.data(), hidden);
    Multiply(hidden_.data(), expert.down.data(), projected_.data(), hidden, kWidth);
  } else {
    Multiply(normed_.data(), layer.up.data(), hidden_.data(), kWidth, kHidden);
    Launch(Gelu, kHidden, hidden_.data(), kHidden);
    Multiply(hidden_.data(), layer.down.data(), projected_.data(), kHidden, kWidth);
  }
  Launch(AddTo, kWidth, x_.data(), projected_.data());
  return chosen;
}

// The token at `position` through all layers; its last state goes into the history.
void Decoder::Forward(int position, std::vector<int>* experts) {
  Launch(Embed, kWidth, tokens_.data(), embedding_.data(), positions_.data(), x_.data(), position);
  for (const DeviceLayer& layer : layers_) {
    Attend(layer, position);
    const int chosen = FeedForward(layer);
    if (layer.is_mixture) experts->push_back(chosen);
  }
  Launch(RmsNorm, kWidth, x_.data(), final_norm_.data(), history_.data() + position * kWidth);
}

// What follows the token at `position`; it stays on the device as the next input.
int Decoder::NextToken(int position) {
  Multiply(history_.data() + position * kWidth, logits_matrix_.data(), logits_.data(), kWidth, kVocabulary);
  Launch(ArgMax, 1, logits_.data(), kVocabulary, tokens_.data() + position + 1);
  int token = 0;
  CopyToHost(&token, tokens_.data() + position + 1, sizeof(token));
  return token;
}

// Of the tokens [first, last): one launch a proposal.
std::vector<float> Decoder::Propose(int first, int last) {
  Launch(FindProposals, 1, tokens_.data(), first, last, starts_.data(), start_count_.data());
  int count = 0;
  CopyToHost(&count, start_count_.data(), sizeof(count));
  if (count == 0) return {};
  for (int i = 0; i < count; ++i)
    Launch(DescribeProposal, kProposalFields, history_.data(), starts_.data(), proposal_matrix_.data(),
           proposals_.data(), i, count, last);
  std::vector<float> proposals(static_cast<size_t>(count * kProposalFields));
  CopyToHost(proposals.data(), proposals_.data(), proposals.size() * sizeof(float));
  return proposals;
}

Answer Decoder::Infer(const std::vector<int>& prompt) {
  Answer answer;
  answer.tokens = prompt, answer.prompt = int(prompt.size());
  ++counts_.host_to_device;
  Check(cudaMemcpyAsync(tokens_.data(), prompt.data(), prompt.size() * sizeof(int), cudaMemcpyHostToDevice, stream_),
        "copy to the device");
  int position = 0;
  while (position + 1 < int(prompt.size())) Forward(position++, &answer.experts);
  for (bool stop = false; !stop && position + 1 < kContext; ++position) {
    Forward(position, &answer.experts);
    answer.tokens.push_back(NextToken(position));
    stop = answer.tokens.back() < kStopTokens;
  }
  answer.proposals = Propose(answer.prompt, position);
  return answer;
}

}  // namespace decode
