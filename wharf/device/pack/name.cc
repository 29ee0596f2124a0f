#include "wharf/device/pack/name.h"

#include <cstddef>
#include <cstdint>
#include <optional>

namespace wharf::device::pack {
namespace {

constexpr std::string_view kAnonymous = "_GLOBAL__N__", kInternal = "_INTERNAL_";
constexpr std::string_view kLibrary = "_V_", kArchitectures = "_SM_";
// Of older CCCL: "THRUST_300001_SM_750_800_NS".
constexpr std::string_view kOlderLibraries[] = {"THRUST", "CUB"}, kOlderEnd = "_NS";
constexpr size_t kHashDigits = 8;

bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsHex(char c) { return IsDigit(c) || (c >= 'a' && c <= 'f'); }

// The number at the start of `text`, of at most six digits, which it removes.
std::optional<size_t> TakeNumber(std::string_view& text) {
  size_t value = 0, digits = 0;
  while (digits < text.size() && digits < 6 && IsDigit(text[digits])) {
    value = value * 10 + static_cast<size_t>(text[digits++] - '0');
  }
  if (digits == 0) return std::nullopt;
  text.remove_prefix(digits);
  return value;
}

// Removes "df1a5ba1_16_Normalization_cu" from the start of `text` and returns "16_Normalization_cu": the file's name
// behind its length, without the hash. Nothing if it is none.
std::optional<std::string_view> TakeFile(std::string_view& text) {
  std::string_view rest = text;
  if (rest.size() <= kHashDigits || rest[kHashDigits] != '_') return std::nullopt;
  for (size_t i = 0; i < kHashDigits; ++i) {
    if (!IsHex(rest[i])) return std::nullopt;
  }
  rest.remove_prefix(kHashDigits + 1);
  const std::string_view file = rest;
  const std::optional<size_t> length = TakeNumber(rest);
  if (!length || rest.empty() || rest.front() != '_' || rest.size() - 1 < *length) return std::nullopt;
  rest.remove_prefix(1 + *length);
  text = rest;
  return file.substr(0, static_cast<size_t>(rest.data() - file.data()));
}

// How many characters before `end` in `text` are the digits of an identifier's length, as mangled names have it, if the
// identifier is to have `least` at least and lies in `most`. The fewest that make sense: what stands before may end in
// digits, too.
std::optional<size_t> LengthBefore(std::string_view text, size_t end, size_t least, size_t most, size_t* length) {
  size_t value = 0, scale = 1;
  for (size_t digits = 1; digits <= 6 && digits <= end && IsDigit(text[end - digits]); ++digits) {
    const auto digit = static_cast<size_t>(text[end - digits] - '0');
    value += digit * scale;
    scale *= 10;
    if (digit != 0 && value >= least && value <= most) {
      *length = value;
      return digits;
    }
  }
  return std::nullopt;
}

// An identifier in the name: where its length begins and where it ends, and what becomes of both.
struct Replaced {
  size_t begin = 0, end = 0;
  std::string text;
};

// "49_GLOBAL__N__df1a5ba1_16_Normalization_cu_5c384587", `at` being where the identifier begins.
std::optional<Replaced> ReplaceLocal(std::string_view name, size_t at, std::string_view prefix) {
  std::string_view rest = name.substr(at + prefix.size());
  const std::optional<std::string_view> file = TakeFile(rest);
  if (!file) return std::nullopt;
  const auto shortest = static_cast<size_t>(rest.data() - name.data()) - at;
  size_t length = 0;
  const auto digits = LengthBefore(name, at, shortest, name.size() - at, &length);
  if (!digits) return std::nullopt;
  return Replaced{at - *digits, at + length, std::string(prefix) + std::string(*file)};
}

// "38_V_300200_SM_750_800_860": as far as the digits and underscores behind SM go.
std::optional<Replaced> ReplaceLibrary(std::string_view name, size_t at) {
  std::string_view rest = name.substr(at + kLibrary.size());
  const std::optional<size_t> version = TakeNumber(rest);
  if (!version || !rest.starts_with(kArchitectures)) return std::nullopt;
  rest.remove_prefix(kArchitectures.size());
  const auto shortest = static_cast<size_t>(rest.data() - name.data()) - at;
  size_t most = shortest;
  while (at + most < name.size() && (IsDigit(name[at + most]) || name[at + most] == '_')) ++most;
  size_t length = 0;
  const auto digits = LengthBefore(name, at, shortest + 1, most, &length);
  if (!digits) return std::nullopt;
  return Replaced{at - *digits, at + length, std::string(name.substr(at, shortest))};
}

// "23THRUST_300001_SM_750_NS", `at` being where the identifier begins.
std::optional<Replaced> ReplaceOlderLibrary(std::string_view name, size_t at, std::string_view prefix) {
  std::string_view rest = name.substr(at + prefix.size() + 1);
  const std::optional<size_t> version = TakeNumber(rest);
  if (!version || !rest.starts_with(kArchitectures)) return std::nullopt;
  rest.remove_prefix(kArchitectures.size());
  const auto kept = static_cast<size_t>(rest.data() - name.data()) - at;
  while (!rest.empty() && !rest.starts_with(kOlderEnd) && (IsDigit(rest[0]) || rest[0] == '_')) rest.remove_prefix(1);
  if (!rest.starts_with(kOlderEnd)) return std::nullopt;
  const auto whole = static_cast<size_t>(rest.data() - name.data()) + kOlderEnd.size() - at;
  size_t length = 0;
  const auto digits = LengthBefore(name, at, whole, whole, &length);
  if (!digits) return std::nullopt;
  return Replaced{at - *digits, at + length, std::string(name.substr(at, kept))};
}

std::optional<Replaced> ReplaceAt(std::string_view name, size_t at) {
  const std::string_view rest = name.substr(at);
  if (rest.starts_with(kAnonymous)) return ReplaceLocal(name, at, kAnonymous);
  if (rest.starts_with(kInternal)) return ReplaceLocal(name, at, kInternal);
  if (rest.starts_with(kLibrary)) return ReplaceLibrary(name, at);
  for (const std::string_view prefix : kOlderLibraries) {
    if (name.substr(0, at).ends_with(prefix)) return ReplaceOlderLibrary(name, at - prefix.size(), prefix);
  }
  return std::nullopt;
}

}  // namespace

std::string CanonicalName(std::string_view mangled) {
  std::string canonical;
  size_t copied = 0;  // of `mangled`
  for (size_t at = mangled.find('_'); at < mangled.size(); at = mangled.find('_', at)) {
    const std::optional<Replaced> replaced = ReplaceAt(mangled, at);
    if (!replaced || replaced->begin < copied) {
      ++at;
      continue;
    }
    canonical.append(mangled.substr(copied, replaced->begin - copied));
    // A character that no name has, so that nothing else becomes the same.
    canonical.append("@").append(replaced->text).append("@");
    copied = at = replaced->end;
  }
  canonical.append(mangled.substr(copied));
  return canonical;
}

}  // namespace wharf::device::pack
