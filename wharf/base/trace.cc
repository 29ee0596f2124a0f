#include "wharf/base/trace.h"

#include <pthread.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <memory>

namespace wharf {
namespace {

constexpr size_t kChunk = size_t{1} << 20;

std::string Microseconds(Nanoseconds duration) {
  return fmt::format("{}.{:03}", duration.count() / 1000, duration.count() % 1000);
}

std::string ArgsField(const TraceArgs& args) {
  return args.fields().empty() ? "" : fmt::format(",\"args\":{{{}}}", args.fields());
}

// The calling thread's number, asked of the kernel once a thread. A forked child does not trace.
int ThreadNumber() {
  thread_local const int number = gettid();
  return number;
}

std::string ProcessName() { return program_invocation_short_name; }

}  // namespace

std::string JsonQuote(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      quoted += '\\';
      quoted += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      quoted += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    } else {
      quoted += c;
    }
  }
  return quoted += '"';
}

TraceArgs& TraceArgs::AddJson(std::string_view key, std::string_view json) {
  if (!fields_.empty()) fields_ += ',';
  fields_ += JsonQuote(key);
  fields_ += ':';
  fields_ += json;
  return *this;
}

std::atomic<Trace*> Trace::current_{nullptr};

bool Trace::FromEnvironment() {
  const char* path = std::getenv("WHARF_TRACE");
  if (path == nullptr || *path == '\0') return false;
  // Leaked on purpose: programs trace from threads that outlive static destructors.
  current_.store(new Trace(path), std::memory_order_release);
  // The child's file would be the parent's, and another of the parent's threads may hold the mutex.
  pthread_atfork(nullptr, nullptr, [] { current_.store(nullptr); });
  return true;
}

Trace::Trace(std::string path, size_t limit_bytes, const Clock& clock)
    : path_(std::move(path)), limit_bytes_(limit_bytes), clock_(clock), process_(getpid()) {
  Record('M', "process_name", "", clock_.Now(), fmt::format(",\"args\":{{\"name\":{}}}", JsonQuote(ProcessName())));
}

void Trace::Complete(std::string_view name, std::string_view category, TimePoint begin, TimePoint end,
                     const TraceArgs& args) {
  Record('X', name, category, begin, fmt::format(",\"dur\":{}{}", Microseconds(end - begin), ArgsField(args)));
}

void Trace::Instant(std::string_view name, std::string_view category, const TraceArgs& args) {
  Record('i', name, category, clock_.Now(), ",\"s\":\"t\"" + ArgsField(args));
}

void Trace::Counter(std::string_view name, std::string_view category, double value) {
  Record('C', name, category, clock_.Now(), ArgsField(TraceArgs().Add("value", value)));
}

void Trace::Record(char phase, std::string_view name, std::string_view category, TimePoint when,
                   std::string_view more) {
  Append(fmt::format("{{\"ph\":\"{}\",\"name\":{},\"cat\":{},\"ts\":{},\"pid\":{},\"tid\":{}{}}},\n", phase,
                     JsonQuote(name), JsonQuote(category), Microseconds(when.since_epoch), process_, ThreadNumber(),
                     more));
}

void Trace::Append(std::string_view event) {
  absl::MutexLock lock(&mutex_);
  if (dropped_ > 0 || bytes_ + event.size() > limit_bytes_) {
    ++dropped_;  // and all that follow, so that what is kept has no gaps
    return;
  }
  if (chunks_.empty() || chunks_.back().size() + event.size() > kChunk) {
    chunks_.emplace_back();
    chunks_.back().reserve(kChunk);
  }
  chunks_.back() += event;
  bytes_ += event.size();
}

uint64_t Trace::dropped() const {
  absl::MutexLock lock(&mutex_);
  return dropped_;
}

absl::Status Trace::Flush() {
  absl::MutexLock lock(&mutex_);
  const auto close = [](std::FILE* file) { std::fclose(file); };
  const std::unique_ptr<std::FILE, decltype(close)> file(std::fopen(path_.c_str(), "we"), close);
  if (file == nullptr) return ErrnoStatus(errno, fmt::format("cannot write the trace to {}", path_));
  std::fputs("[\n", file.get());
  for (const std::string& chunk : chunks_) std::fwrite(chunk.data(), 1, chunk.size(), file.get());
  // Every event before this one ends in a comma; this one also says whether any is missing.
  std::fprintf(file.get(),
               "{\"ph\":\"i\",\"name\":\"end of trace\",\"cat\":\"\",\"ts\":%s,\"pid\":%d,\"tid\":%d,\"s\":\"p\","
               "\"args\":{\"dropped events\":%llu}}\n]\n",
               Microseconds(clock_.Now().since_epoch).c_str(), process_, process_,
               static_cast<unsigned long long>(dropped_));
  if (std::fflush(file.get()) != 0 || std::ferror(file.get()) != 0) {
    return ErrnoStatus(errno, fmt::format("cannot write the trace to {}", path_));
  }
  return absl::OkStatus();
}

}  // namespace wharf
