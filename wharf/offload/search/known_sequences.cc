#include "wharf/offload/search/known_sequences.h"

#include <algorithm>
#include <functional>

namespace wharf::offload {

SearchEvent KnownSequences::Follow(uint64_t key, uint64_t index, bool begins) {
  std::erase_if(in_play_, [&](size_t i) {
    const std::vector<uint64_t>& keys = sequences_[i].keys;
    return keys.size() <= index - start_ || keys[index - start_] != key;
  });
  bool left = in_play_.empty();
  if (left && begins) {
    left = !current_ || current_->first + current_->length != index;  // the last sequence was broken off
    if (left) followed_since_.reset();
    Begin(key, index);
    left = left || in_play_.empty();
  }
  if (in_play_.empty()) followed_since_.reset();
  if (left) {
    if (!current_) return SearchEvent::kNone;
    current_.reset();
    return SearchEvent::kLeft;
  }
  for (size_t i : in_play_) {
    Sequence& sequence = sequences_[i];
    if (sequence.keys.size() != index - start_ + 1) continue;
    sequence.last_end = index;
    current_ = {sequence.id, start_, sequence.keys.size(), ++sequence.repeats};
    return SearchEvent::kInferenceEnd;
  }
  return SearchEvent::kNone;
}

void KnownSequences::Begin(uint64_t key, uint64_t index) {
  start_ = index;
  for (size_t i = 0; i < sequences_.size(); ++i) {
    if (!sequences_[i].is_part && sequences_[i].keys[0] == key) in_play_.push_back(i);
  }
  if (!followed_since_) followed_since_ = index;
}

bool KnownSequences::Knows(const OperatorLog& log, uint64_t length) const {
  const uint64_t first = log.Size() - length;
  return std::ranges::any_of(sequences_, [&](const Sequence& sequence) {
    if (sequence.keys.size() != length) return false;
    for (uint64_t i = 0; i < length; ++i) {
      if (sequence.keys[i] != log.At(first + i)) return false;
    }
    return true;
  });
}

void KnownSequences::Learn(const OperatorLog& log, uint64_t length) {
  if (sequences_.size() >= options_.max_sequences) Forget();
  const uint64_t first = log.Size() - length;
  Sequence learnt{(*next_id_)++, {}, options_.repeats, log.Size() - 1, false};
  learnt.keys.reserve(length);
  for (uint64_t i = first; i < log.Size(); ++i) learnt.keys.push_back(log.At(i));
  for (Sequence& other : sequences_) {
    if (other.keys.size() >= length) continue;
    const std::boyer_moore_searcher searcher(other.keys.begin(), other.keys.end());
    if (std::search(learnt.keys.begin(), learnt.keys.end(), searcher) != learnt.keys.end()) other.is_part = true;
  }
  current_ = {learnt.id, first, length, learnt.repeats};
  sequences_.push_back(std::move(learnt));
  in_play_.clear();
  in_play_.reserve(options_.max_sequences);
  followed_since_ = first;
}

void KnownSequences::Forget() {
  sequences_.erase(std::ranges::min_element(sequences_, {}, &Sequence::last_end));
  in_play_.clear();
}

}  // namespace wharf::offload
