#include "wharf/device/soft/printf/printf.h"

#include <algorithm>
#include <cinttypes>
#include <cmath>
#include <cstdio>
#include <cstring>

namespace wharf::device::soft {
namespace {

constexpr int kMaxField = 1024;
constexpr uint64_t kMaxStringArgument = 64 << 10;

// One conversion: flags, width, precision, length, letter.
struct Specification {
  std::string flags;
  int width = -1, precision = -1;
  bool is_long = false;
  int narrow = 0;  // 1: short, 2: char
  char letter = 0;
};

class Formatter {
 public:
  Formatter(std::string_view format, uint64_t arguments, const ReadableBytes& readable)
      : rest_(format), next_(arguments), readable_(readable) {}

  std::optional<FormattedText> Run() {
    while (!rest_.empty() && ok_) {
      const size_t percent = rest_.find('%');
      out_.text += rest_.substr(0, percent);
      if (percent == std::string_view::npos) break;
      rest_.remove_prefix(percent);
      Conversion();
    }
    if (!ok_) return std::nullopt;
    return std::move(out_);
  }

 private:
  char Take() {
    if (rest_.empty()) return 0;
    const char c = rest_.front();
    rest_.remove_prefix(1);
    return c;
  }

  template <typename T>
  T Argument() {
    next_ = (next_ + sizeof(T) - 1) / sizeof(T) * sizeof(T);
    T value{};
    if (readable_(next_) < sizeof(T)) {
      ok_ = false;
      return value;
    }
    std::memcpy(&value, reinterpret_cast<const void*>(next_), sizeof(T));
    next_ += sizeof(T);
    ++out_.arguments;
    return value;
  }

  int Number() {
    if (!rest_.empty() && rest_.front() == '*') {
      Take();
      return std::clamp(Argument<int32_t>(), -kMaxField, kMaxField);
    }
    int value = 0;
    while (!rest_.empty() && rest_.front() >= '0' && rest_.front() <= '9') {
      value = std::min(value * 10 + (Take() - '0'), kMaxField);
    }
    return value;
  }

  Specification Parse() {
    Specification spec;
    Take();  // '%'
    while (!rest_.empty() && std::string_view("-+ #0").find(rest_.front()) != std::string_view::npos) {
      const char flag = Take();
      if (spec.flags.find(flag) == std::string::npos) spec.flags += flag;
    }
    spec.width = Number();
    if (spec.width < 0) {
      if (spec.flags.find('-') == std::string::npos) spec.flags += '-';
      spec.width = -spec.width;
    }
    if (!rest_.empty() && rest_.front() == '.') {
      Take();
      spec.precision = std::max(Number(), -1);
    }
    while (!rest_.empty() && std::string_view("hlzjtL").find(rest_.front()) != std::string_view::npos) {
      const char length = Take();
      if (length == 'h') spec.narrow = std::min(spec.narrow + 1, 2);
      if (length != 'h' && length != 'L') spec.is_long = true;
    }
    spec.letter = Take();
    return spec;
  }

  void Conversion() {
    const std::string_view start = rest_;
    const Specification spec = Parse();
    switch (spec.letter) {
      case 'd':
      case 'i':
        return Signed(spec);
      case 'u':
      case 'o':
      case 'x':
      case 'X':
        return Unsigned(spec);
      case 'a':
      case 'A':
      case 'e':
      case 'E':
      case 'f':
      case 'F':
      case 'g':
      case 'G':
        return Float(spec);
      case 'c':
        return Print(spec, "", Argument<int32_t>());
      case 'p':
        return Print(spec, "", reinterpret_cast<void*>(Argument<uint64_t>()));
      case 's':
        return String(spec);
      case '%':
        out_.text += '%';
        return;
      default:
        out_.text += start.substr(0, start.size() - rest_.size());
    }
  }

  void Signed(const Specification& spec) {
    if (spec.is_long) return Print(spec, "l", static_cast<long>(Argument<int64_t>()));
    const auto value = Argument<int32_t>();
    if (spec.narrow == 1) return Print(spec, "", static_cast<int>(static_cast<int16_t>(value)));
    if (spec.narrow == 2) return Print(spec, "", static_cast<int>(static_cast<int8_t>(value)));
    Print(spec, "", value);
  }

  void Unsigned(const Specification& spec) {
    if (spec.is_long) return Print(spec, "l", static_cast<unsigned long>(Argument<uint64_t>()));
    const auto value = Argument<uint32_t>();
    if (spec.narrow == 1) return Print(spec, "", value & 0xffffu);
    if (spec.narrow == 2) return Print(spec, "", value & 0xffu);
    Print(spec, "", value);
  }

  // The NaNs that arithmetic makes have no sign on a GPU; this CPU's have one.
  void Float(const Specification& spec) {
    const auto value = Argument<double>();
    Print(spec, "", std::isnan(value) ? std::fabs(value) : value);
  }

  void String(const Specification& spec) {
    const auto address = Argument<uint64_t>();
    if (!ok_) return;
    const uint64_t limit = spec.precision >= 0 ? static_cast<uint64_t>(spec.precision) : kMaxStringArgument;
    std::string text = "(null)";
    if (address != 0) text = ReadString(address, readable_, limit).value_or("(invalid)");
    Print(spec, "", text.c_str());
  }

  template <typename T>
  void Print(const Specification& spec, const char* length, T value) {
    if (!ok_) return;
    std::string format = "%" + spec.flags + "*" + (spec.precision >= 0 ? ".*" : "") + length + spec.letter;
    char buffer[512];
    const auto print = [&](char* to, size_t size) {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
#pragma GCC diagnostic ignored "-Wformat-security"
      return spec.precision >= 0 ? std::snprintf(to, size, format.c_str(), spec.width, spec.precision, value)
                                 : std::snprintf(to, size, format.c_str(), spec.width, value);
#pragma GCC diagnostic pop
    };
    const int needed = print(buffer, sizeof buffer);
    if (needed < 0) return;
    if (static_cast<size_t>(needed) < sizeof buffer) {
      out_.text.append(buffer, static_cast<size_t>(needed));
      return;
    }
    std::string large(static_cast<size_t>(needed) + 1, 0);
    print(large.data(), large.size());
    large.pop_back();
    out_.text += large;
  }

  std::string_view rest_;
  uint64_t next_;
  const ReadableBytes& readable_;
  bool ok_ = true;
  FormattedText out_;
};

}  // namespace

std::optional<std::string> ReadString(uint64_t address, const ReadableBytes& readable, uint64_t limit) {
  const uint64_t available = std::min(readable(address), limit);
  const auto* text = reinterpret_cast<const char*>(address);
  const uint64_t length = available == 0 ? 0 : strnlen(text, available);
  if (length == available && available < limit) return std::nullopt;
  return std::string(text, length);
}

std::optional<FormattedText> FormatPrintf(std::string_view format, uint64_t arguments, const ReadableBytes& readable) {
  return Formatter(format, arguments, readable).Run();
}

}  // namespace wharf::device::soft
