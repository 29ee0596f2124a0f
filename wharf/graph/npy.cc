#include "wharf/graph/npy.h"

#include <fmt/ranges.h>
#include <zlib.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <optional>

namespace wharf::graph {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr size_t kVersionEnd = 8;  // the magic, major, minor

absl::Status Malformed() { return InvalidArgument("a .npy file whose header is malformed"); }

// What follows `key` in a header like {'descr': '<f4', 'fortran_order': False, 'shape': (1, 3), }.
std::optional<std::string_view> After(std::string_view header, std::string_view key) {
  const size_t at = header.find(key);
  if (at == std::string_view::npos) return std::nullopt;
  header.remove_prefix(at + key.size());
  const size_t colon = header.find_first_not_of(' ');
  if (colon == std::string_view::npos || header[colon] != ':') return std::nullopt;
  header.remove_prefix(colon + 1);
  header.remove_prefix(std::min(header.find_first_not_of(' '), header.size()));
  return header;
}

struct Known {
  std::string_view text;
  ElementType element;
};
constexpr Known kKnown[] = {{"<f4", ElementType::kFloat}, {"<f8", ElementType::kDouble}, {"|i1", ElementType::kInt8},
                            {"|u1", ElementType::kUint8}, {"<i2", ElementType::kInt16},  {"<i4", ElementType::kInt32},
                            {"<i8", ElementType::kInt64}, {"|b1", ElementType::kBool}};

absl::StatusOr<ElementType> ElementOf(std::string_view description) {
  for (const Known& known : kKnown) {
    if (known.text == description) return known.element;
  }
  return InvalidArgument("a .npy file of elements '{}', which tensors do not have", description);
}

absl::StatusOr<Shape> ShapeOf(std::string_view text) {
  if (text.empty() || text.front() != '(') return Malformed();
  text.remove_prefix(1);
  Shape shape;
  while (true) {
    text.remove_prefix(std::min(text.find_first_not_of(" ,"), text.size()));
    if (text.empty()) return Malformed();
    if (text.front() == ')') return shape;
    int64_t size = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), size);
    if (error != std::errc()) return Malformed();
    text.remove_prefix(static_cast<size_t>(end - text.data()));
    shape.push_back(size);
  }
}

// The header's text, and where the elements begin.
absl::StatusOr<std::pair<std::string_view, size_t>> HeaderOf(std::string_view file) {
  if (file.size() < kVersionEnd + 2) return Malformed();
  const auto byte = [&](size_t i) { return static_cast<size_t>(static_cast<unsigned char>(file[i])); };
  const size_t major = byte(6);
  const size_t length_bytes = major == 1 ? 2 : 4, begin = kVersionEnd + length_bytes;
  if (major < 1 || major > 3) return InvalidArgument("a .npy file of format version {}", major);
  if (file.size() < begin) return Malformed();
  size_t length = 0;
  for (size_t i = 0; i < length_bytes; ++i) length |= byte(kVersionEnd + i) << (8 * i);
  if (length > file.size() - begin) return Malformed();
  return std::pair(file.substr(begin, length), begin + length);
}

std::string_view DescriptionOf(ElementType element) {
  return std::find_if(std::begin(kKnown), std::end(kKnown),
                      [&](const Known& known) { return known.element == element; })
      ->text;
}

// Numbers of so many bytes, the lowest first.
void Append(std::vector<std::byte>& to, std::initializer_list<std::pair<uint64_t, int>> numbers) {
  for (const auto& [number, bytes] : numbers) {
    for (int i = 0; i < bytes; ++i) to.push_back(static_cast<std::byte>(number >> (8 * i)));
  }
}

void Append(std::vector<std::byte>& to, std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text));
  to.insert(to.end(), bytes.begin(), bytes.end());
}

uint32_t Crc32(std::span<const std::byte> bytes) {
  return static_cast<uint32_t>(crc32_z(0, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size()));
}

}  // namespace

bool IsNpy(std::span<const std::byte> bytes) {
  return bytes.size() >= kMagic.size() &&
         std::string_view(reinterpret_cast<const char*>(bytes.data()), kMagic.size()) == kMagic;
}

absl::StatusOr<Constant> ParseNpy(std::span<const std::byte> bytes) {
  if (!IsNpy(bytes)) return InvalidArgument("this is no .npy file");
  WHARF_ASSIGN_OR_RETURN(const auto header_and_end,
                         HeaderOf({reinterpret_cast<const char*>(bytes.data()), bytes.size()}));
  const auto& [header, end] = header_and_end;
  const auto description = After(header, "'descr'"), order = After(header, "'fortran_order'"),
             shape = After(header, "'shape'");
  if (!description || !order || !shape || description->empty() || description->front() != '\'') return Malformed();
  if (!order->starts_with("False")) return InvalidArgument("a .npy file in Fortran order: save it in C order");
  Constant constant;
  WHARF_ASSIGN_OR_RETURN(constant.type.element, ElementOf(description->substr(1, description->substr(1).find('\''))));
  WHARF_ASSIGN_OR_RETURN(constant.type.shape, ShapeOf(*shape));
  WHARF_RETURN_IF_ERROR(Validate(constant.type));
  const auto elements = bytes.subspan(end);
  if (static_cast<int64_t>(elements.size()) != constant.type.Bytes()) {
    return InvalidArgument("a .npy file of {} that holds {} bytes", constant.type.Text(), elements.size());
  }
  constant.bytes = std::make_shared<const std::vector<std::byte>>(elements.begin(), elements.end());
  return constant;
}

std::vector<std::byte> ToNpy(const Constant& array) {
  constexpr size_t kAlignment = 64;  // of the elements
  const Shape& shape = array.type.shape;
  std::string header =
      fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}{}), }}", DescriptionOf(array.type.element),
                  fmt::join(shape, ", "), shape.size() == 1 ? "," : "");
  const size_t before = kVersionEnd + 2 + header.size() + 1;
  header.append((kAlignment - before % kAlignment) % kAlignment, ' ');
  header += '\n';
  std::vector<std::byte> file;
  Append(file, kMagic);
  Append(file, {{1, 1}, {0, 1}, {header.size(), 2}});
  Append(file, header);
  file.insert(file.end(), array.bytes->begin(), array.bytes->end());
  return file;
}

// Source: PKWARE's APPNOTE.TXT, 4.3.7, 4.3.12 and 4.3.16: each file behind a header, a directory of all, its end.
absl::StatusOr<std::vector<std::byte>> ToNpz(std::span<const std::pair<std::string, Constant>> arrays) {
  constexpr uint64_t kVersion = 20, kUtf8 = 0x800, kStored = 0, kNewYear1980 = 0x21, kMostName = 60'000;
  constexpr uint64_t kMost = std::numeric_limits<uint32_t>::max();
  if (arrays.size() > std::numeric_limits<uint16_t>::max()) return ResourceExhausted("too many arrays for one archive");
  std::vector<std::byte> archive, directory;
  for (const auto& [array_name, array] : arrays) {
    const std::string name = array_name + ".npy";
    if (name.size() > kMostName) return InvalidArgument("an array's name of {} bytes", name.size());
    const std::vector<std::byte> file = ToNpy(array);
    const uint64_t place = archive.size();
    if (place + file.size() + directory.size() + 2 * kMostName > kMost) {
      return ResourceExhausted("arrays of more than 4 GiB do not fit in one archive");
    }
    const auto about = [&](std::vector<std::byte>& to) {
      Append(to, {{kVersion, 2},
                  {kUtf8, 2},
                  {kStored, 2},
                  {0, 2},
                  {kNewYear1980, 2},
                  {Crc32(file), 4},
                  {file.size(), 4},
                  {file.size(), 4},
                  {name.size(), 2},
                  {0, 2}});
    };
    Append(archive, "PK\3\4");
    about(archive);
    Append(archive, name);
    archive.insert(archive.end(), file.begin(), file.end());
    Append(directory, "PK\1\2");
    Append(directory, {{kVersion, 2}});
    about(directory);
    Append(directory, {{0, 2}, {0, 2}, {0, 2}, {0, 4}, {place, 4}});
    Append(directory, name);
  }
  const uint64_t begin = archive.size();
  archive.insert(archive.end(), directory.begin(), directory.end());
  Append(archive, "PK\5\6");
  Append(archive, {{0, 2}, {0, 2}, {arrays.size(), 2}, {arrays.size(), 2}, {directory.size(), 4}, {begin, 4}, {0, 2}});
  return archive;
}

}  // namespace wharf::graph
