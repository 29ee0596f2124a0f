#include "wharf/offload/search/exchange_log.h"

#include <algorithm>

namespace wharf::offload {

void ExchangeLog::Segment::Reset(uint64_t begin_at, uint64_t exchange) {
  begin = begin_at;
  number = exchange;
  operators = {};
  sources.clear();
  too_many_sources = false;
}

void ExchangeLog::Segment::Use(uint64_t exchange, uint64_t first_use) {
  const auto known = std::ranges::find(sources, exchange, &Source::exchange);
  if (known != sources.end()) {
    ++known->reads;
    known->first_use = std::min(known->first_use, first_use);
  } else if (sources.size() < kSources) {
    sources.push_back({exchange, 1, first_use});
  } else {
    too_many_sources = true;
  }
}

ExchangeLog::ExchangeLog() : exchanges_(kCapacity) {
  for (Segment* segment : {&current_, &ended_, &pending_}) segment->sources.reserve(kSources);
  kinds_.reserve(kCapacity + 1);
}

ExchangeLog::Change ExchangeLog::Add(const OperatorRecord& record, uint64_t key, uint64_t index) {
  Change change = Change::kNone;
  const bool input = record.operator_class == OperatorClass::kHostToDevice;
  const bool after_output = boundary_.AfterOutput();
  if (boundary_.Before(record.operator_class) &&
      !input) {  // the output is over; whether a turn follows is not known yet
    in_doubt_ = true;
    ended_ = current_;
    pending_.Reset(index, current_.number + 1);
  } else if (input && in_doubt_) {  // it does
    change = Close(ended_, pending_.begin);
    std::swap(current_, pending_);
    in_doubt_ = false;
  } else if (input && after_output) {
    change = Close(current_, index);
    current_.Reset(index, size_);
  } else if (record.operator_class == OperatorClass::kDeviceToHost) {
    in_doubt_ = false;
  }
  for (uint64_t address : record.reads) Read(address);
  for (uint64_t address : record.writes) Write(address, index);
  current_.operators = Append(current_.operators, key);
  if (in_doubt_) pending_.operators = Append(pending_.operators, key);
  return change;
}

void ExchangeLog::Read(uint64_t address) {
  const auto found = buffers_.find(address);
  if (found == buffers_.end()) return;
  Buffer& buffer = found->second;
  const uint64_t newest = in_doubt_ ? pending_.begin : current_.begin;
  if (buffer.operator_index >= newest) return;
  if (buffer.first_use == kNever) buffer.first_use = current_.number;
  if (buffer.longest_interval == 0 && buffer.operator_index < current_.begin) return;
  const uint64_t source = ExchangeOf(buffer);
  const bool settled = buffer.longest_interval == 0 || current_.number - source > 2 * buffer.longest_interval;
  if (buffer.operator_index < current_.begin && !settled) current_.Use(source, buffer.first_use);
  if (in_doubt_ && !settled) pending_.Use(source, buffer.first_use);
}

void ExchangeLog::Write(uint64_t address, uint64_t index) {
  const uint64_t number = in_doubt_ ? pending_.number : current_.number;
  const auto [entry, is_new] = buffers_.try_emplace(address, Buffer{index, number});
  if (is_new) return;
  Buffer& buffer = entry->second;
  if (buffer.operator_index < current_.begin) {
    buffer.longest_interval = std::max(buffer.longest_interval, number - ExchangeOf(buffer));
  }
  buffer.operator_index = index;
  buffer.exchange = number;
}

// A write between an output and a turn is put down to the exchange after, one before an output to the same exchange:
// both may be off by one.
uint64_t ExchangeLog::ExchangeOf(const Buffer& buffer) const {
  if (buffer.operator_index >= current_.begin) return current_.number;
  const uint64_t number = std::min(buffer.exchange, size_ - 1);
  if (size_ - number > kCapacity) return number;
  if (buffer.operator_index < At(number).begin) return number - 1;
  return buffer.operator_index >= At(number).end ? number + 1 : number;
}

ExchangeLog::Change ExchangeLog::Close(const Segment& segment, uint64_t end) {
  Exchange& exchange = exchanges_[size_ % kCapacity];
  if (size_ >= kCapacity) {  // its kind, unless it came again
    const auto oldest = kinds_.find(exchange.operators);
    if (oldest != kinds_.end() && oldest->second.last == size_ - kCapacity) kinds_.erase(oldest);
  }
  const auto [kind, is_new] = kinds_.try_emplace(segment.operators, Kind{next_kind_, size_, size_});
  if (is_new) ++next_kind_;
  kind->second.last = size_;
  Describe(segment, end, kind->second, exchange);
  ++size_;
  if (buffers_.size() <= kMaxBuffers) return Change::kClosed;
  buffers_.clear();
  return Change::kForgotten;
}

void ExchangeLog::Describe(const Segment& segment, uint64_t end, const Kind& kind, Exchange& exchange) const {
  exchange.begin = segment.begin;
  exchange.end = end;
  exchange.operators = segment.operators;
  exchange.kind = kind.number;
  exchange.since = kind.since;
  exchange.source_count = 0;
  exchange.too_many_sources = segment.too_many_sources;
  exchange.sequence = exchange.repeat = 0;
  for (const Source& source : segment.sources) {
    if (source.exchange < kind.since) continue;
    if (exchange.source_count == Exchange::kSources) {
      exchange.too_many_sources = true;
      return;
    }
    exchange.sources[exchange.source_count++] = source;
  }
}

void ExchangeLog::MarkRepeat(uint64_t sequence, uint64_t first) {
  for (uint64_t i = size_; i > 0 && size_ - i < kCapacity; --i) {
    Exchange& exchange = exchanges_[(i - 1) % kCapacity];
    if (exchange.begin < first) return;
    exchange.sequence = sequence;
    exchange.repeat = first;
  }
}

const Exchange* ExchangeLog::Tentative(uint64_t end) {
  if (!boundary_.AfterOutput()) return nullptr;
  const auto kind = kinds_.find(current_.operators);
  if (kind == kinds_.end()) return nullptr;
  Describe(current_, end, kind->second, tentative_);
  return &tentative_;
}

}  // namespace wharf::offload
