// Splitting attention over its keys: two machines that each hold some rows need not
// exchange keys and values, which every query reads. Each band of keys is attended to apart, and what comes out are
// partial results of the softmax with their statistics, from which the whole follows exactly (as in online softmax:
// Milakov and Gimelshein, 2018; FlashAttention, Dao et al., 2022).
//
//   PartialAttention(Q, K, V; scale, first, last)   Q [..., n, d], K [..., m, d], V [..., m, e] make [..., n, e + 2]
//   MergeAttention(P1, P2, ...)                     any number of these make [..., n, e]
//
// A row of a partial result is, over keys [first, last): the sum of exp(score - largest) times the key's value, then
// `largest`, the largest score, then the sum of exp(score - largest). It reads its own row of Q and of K and V the
// band.
#pragma once

#include <string_view>

#include "wharf/graph/graph.h"

namespace wharf::graph {

// Of a model's file (metadata_props): where its attention is to be split, a number of keys (WithSplitAttention).
inline constexpr std::string_view kSplitAttentionProperty = "wharf.split_attention";

// Every Attention whose keys have more than `key_row` rows, as two partial ones over the keys before and from that row,
// and their merger. Results stay as they are up to rounding. REQUIRES: Validate(graph).ok(), key_row > 0. O(values +
// nodes).
Graph SplitAttention(Graph graph, int key_row);

}  // namespace wharf::graph
