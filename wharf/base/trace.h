// Trace: what this process did when, as Chrome trace events (the "JSON array format"), which Perfetto and
// chrome://tracing open. On when WHARF_TRACE=FILE is set; off it costs a load and a branch.
//
//   TraceSpan span("replay", "offload");                       // until the end of the scope
//   span.Add("sequence", id).Add("bytes", bytes);
//   if (Trace* trace = Trace::Get()) trace->Instant("miss", "offload", TraceArgs().Add("reason", reason));
//
// Times are the monotonic clock's, so that the files of several processes of one machine lie on one axis.
// Source of the format: "Trace Event Format" of the Chromium project.
#pragma once

#include <fmt/format.h>

#include <atomic>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "wharf/base/clock.h"
#include "wharf/base/status.h"

namespace wharf {

// `text` (UTF-8) between quotes, escaped as JSON wants it.
std::string JsonQuote(std::string_view text);

// The fields of an event's "args", in the order they were added.
class TraceArgs {
 public:
  // Numbers stay numbers (those that are not finite become null), everything else becomes text.
  template <typename T>
  TraceArgs& Add(std::string_view key, const T& value) {
    if constexpr (std::same_as<T, bool>) {
      return AddJson(key, value ? "true" : "false");
    } else if constexpr (std::integral<T>) {
      return AddJson(key, fmt::format("{}", value));
    } else if constexpr (std::floating_point<T>) {
      return AddJson(key, std::isfinite(value) ? fmt::format("{}", value) : "null");
    } else {
      return AddJson(key, JsonQuote(std::string_view(value)));
    }
  }
  // `json` as it is.
  TraceArgs& AddJson(std::string_view key, std::string_view json);
  const std::string& fields() const { return fields_; }  // "key": value, … without braces

 private:
  std::string fields_;
};

// Thread-safe. An event costs about a microsecond while tracing is on. The first events are kept, those after the limit
// are counted and dropped: a program's start, where its sequences are found, is what traces are taken for.
class Trace {
 public:
  static constexpr size_t kDefaultLimit = size_t{64} << 20;  // bytes of text, about 400 000 events

  // The process's trace, or nullptr when it is off, and in a process forked from one that had begun to trace.
  static Trace* Get() {
    static const bool looked = FromEnvironment();
    return looked ? current_.load(std::memory_order_acquire) : nullptr;
  }

  // A trace of one's own, for tests; `clock` outlives it.
  explicit Trace(std::string path, size_t limit_bytes = kDefaultLimit, const Clock& clock = Clock::Real());
  Trace(const Trace&) = delete;
  Trace& operator=(const Trace&) = delete;

  TimePoint Now() const { return clock_.Now(); }
  // Something that took from `begin` to `end` on the calling thread.
  void Complete(std::string_view name, std::string_view category, TimePoint begin, TimePoint end,
                const TraceArgs& args = {});
  void Instant(std::string_view name, std::string_view category, const TraceArgs& args = {});
  // A value over time, drawn as a graph.
  void Counter(std::string_view name, std::string_view category, double value);

  uint64_t dropped() const;
  // Writes all events so far to the file, replacing what it held. The owner calls it at the process's end; the events
  // are kept, so it may be called again. Fails as opening and writing files do (ErrnoStatus).
  absl::Status Flush();

 private:
  static bool FromEnvironment();
  void Record(char phase, std::string_view name, std::string_view category, TimePoint when, std::string_view more);
  void Append(std::string_view event);

  static std::atomic<Trace*> current_;

  const std::string path_;
  const size_t limit_bytes_;
  const Clock& clock_;
  const int process_;
  mutable absl::Mutex mutex_;
  std::vector<std::string> chunks_ ABSL_GUARDED_BY(mutex_);  // so that growing never copies
  size_t bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t dropped_ ABSL_GUARDED_BY(mutex_) = 0;
};

// What the scope it lives in took. Used by one thread.
class TraceSpan {
 public:
  // `name` and `category` outlive it.
  TraceSpan(std::string_view name, std::string_view category, Trace* trace = Trace::Get())
      : trace_(trace), name_(name), category_(category) {
    if (trace_ != nullptr) begin_ = trace_->Now();
  }
  ~TraceSpan() {
    if (trace_ != nullptr) trace_->Complete(name_, category_, begin_, trace_->Now(), args_);
  }
  TraceSpan(const TraceSpan&) = delete;
  TraceSpan& operator=(const TraceSpan&) = delete;

  template <typename T>
  TraceSpan& Add(std::string_view key, const T& value) {
    if (trace_ != nullptr) args_.Add(key, value);
    return *this;
  }

 private:
  Trace* const trace_;
  const std::string_view name_, category_;
  TimePoint begin_;
  TraceArgs args_;
};

}  // namespace wharf
