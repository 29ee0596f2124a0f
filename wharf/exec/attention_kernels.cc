// Attention, whole (graph/fuse.h) and in parts (graph/split_attention.h). Heads are computed one after the other, so
// that a head's scores stay in the cache; results lie as tokens of heads, which is how networks go on with them.
#include <ATen/ATen.h>

#include "wharf/exec/kernels.h"

namespace wharf::exec {
namespace {

using Result = absl::StatusOr<Outputs>;

// The dimensions before the last two as one.
at::Tensor Heads(const at::Tensor& x) { return x.dim() == 3 ? x : x.reshape({-1, x.size(-2), x.size(-1)}); }

// [heads, tokens, columns], for results of the queries.
at::Tensor TokensOfHeads(const at::Tensor& queries, int64_t columns) {
  return at::empty({queries.size(1), queries.size(0), columns}, queries.options()).transpose(0, 1);
}

// scores = scale Q Kᵀ of one head.
void Score(const at::Tensor& queries, const at::Tensor& keys, double scale, at::Tensor& scores) {
  at::addmm_out(scores, scores, queries, keys.t(), /*beta=*/0, scale);
}

Result Attention(const Call& call) {
  const at::Tensor queries = Heads(call.in[0]), keys = Heads(call.in[1]), values = Heads(call.in[2]);
  const double scale = call.node.Float("scale", 1);
  at::Tensor result = TokensOfHeads(queries, values.size(2));
  at::Tensor scores = at::empty({queries.size(1), keys.size(1)}, queries.options());
  for (int64_t head = 0; head < queries.size(0); ++head) {
    Score(queries[head], keys[head], scale, scores);
    at::_softmax_out(scores, scores, 1, false);
    at::Tensor out = result[head];
    at::mm_out(out, scores, values[head]);
  }
  return Outputs{result.reshape(call.OutShape())};
}

// Keys or values [first, last), of which exactly those are here where they are cut into rows.
at::Tensor Band(const Call& call, size_t index) {
  const at::Tensor rows = Heads(call.in[index]);
  const int64_t first = call.node.Int("first", 0), count = call.node.Int("last", 0) - first;
  return rows.size(1) == count ? rows : rows.narrow(1, first, count);
}

Result PartialAttention(const Call& call) {
  const at::Tensor queries = Heads(call.in[0]), keys = Band(call, 1), values = Band(call, 2);
  const double scale = call.node.Float("scale", 1);
  const int64_t columns = values.size(2);
  at::Tensor result = TokensOfHeads(queries, columns + 2);
  at::Tensor scores = at::empty({queries.size(1), keys.size(1)}, queries.options());
  for (int64_t head = 0; head < queries.size(0); ++head) {
    Score(queries[head], keys[head], scale, scores);
    const at::Tensor out = result[head];
    at::Tensor products = out.narrow(1, 0, columns), largest = out.narrow(1, columns, 1),
               sum = out.narrow(1, columns + 1, 1);
    at::amax_out(largest, scores, {1}, true);
    scores.sub_(largest).exp_();
    at::sum_out(sum, scores, {1}, true);
    at::mm_out(products, scores, values[head]);
  }
  return Outputs{result.reshape(call.OutShape())};
}

Result MergeAttention(const Call& call) {
  const int64_t columns = call.in[0].size(-1) - 2;
  const auto largest_of = [&](const at::Tensor& part) { return part.narrow(-1, columns, 1); };
  at::Tensor largest = largest_of(call.in[0]);
  for (const at::Tensor& part : call.in) largest = at::maximum(largest, largest_of(part));
  at::Tensor products, sum;
  for (const at::Tensor& part : call.in) {
    const at::Tensor weight = at::exp(largest_of(part) - largest);
    const at::Tensor weighted = part.narrow(-1, 0, columns) * weight,
                     weights = part.narrow(-1, columns + 1, 1) * weight;
    products = products.defined() ? products.add_(weighted) : weighted;
    sum = sum.defined() ? sum.add_(weights) : weights;
  }
  return Outputs{products.div_(sum)};
}

constexpr NamedKernel kAttentionKernels[] = {
    {"Attention", Attention}, {"MergeAttention", MergeAttention}, {"PartialAttention", PartialAttention}};

}  // namespace

std::span<const NamedKernel> AttentionKernels() { return kAttentionKernels; }

}  // namespace wharf::exec
