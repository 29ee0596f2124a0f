#include "wharf/device/fatbin/fatbin.h"

#include <elf.h>
#include <gmock/gmock.h>
#include <lz4.h>
#include <rapidcheck/gtest.h>
#include <zstd.h>

#include <cstring>
#include <filesystem>
#include <fstream>

#include "wharf/device/cuda_error.h"

namespace wharf::device::fatbin {
namespace {

using ::testing::HasSubstr;
using Bytes = std::vector<std::byte>;

Bytes FromText(std::string_view text) {
  const auto* begin = reinterpret_cast<const std::byte*>(text.data());
  return Bytes(begin, begin + text.size());
}

std::string ToText(const Bytes& bytes) {
  return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

template <typename T>
void Put(Bytes& bytes, size_t offset, T value) {
  std::memcpy(bytes.data() + offset, &value, sizeof(value));
}

enum class Compression { kNone, kLz4, kZstd };

Bytes Compress(const Bytes& data, Compression compression) {
  if (compression == Compression::kNone) return data;
  Bytes out(compression == Compression::kLz4 ? LZ4_compressBound(static_cast<int>(data.size()))
                                             : ZSTD_compressBound(data.size()));
  if (compression == Compression::kLz4) {
    out.resize(LZ4_compress_default(reinterpret_cast<const char*>(data.data()), reinterpret_cast<char*>(out.data()),
                                    static_cast<int>(data.size()), static_cast<int>(out.size())));
  } else {
    out.resize(ZSTD_compress(out.data(), out.size(), data.data(), data.size(), 3));
  }
  return out;
}

// One entry as nvcc lays it out: a header, then the payload padded to eight bytes.
struct EntrySpec {
  uint16_t kind = 1;
  uint32_t sm = 75;
  std::string data;
  Compression compression = Compression::kNone;
  uint32_t header_bytes = 64;
};

Bytes MakeEntry(const EntrySpec& spec) {
  const Bytes data = FromText(spec.data);
  const Bytes payload = Compress(data, spec.compression);
  const uint64_t padded = (payload.size() + 7) / 8 * 8;
  Bytes entry(spec.header_bytes + padded);
  Put<uint16_t>(entry, 0, spec.kind);
  Put<uint16_t>(entry, 2, 0x0101);
  Put<uint32_t>(entry, 4, spec.header_bytes);
  Put<uint64_t>(entry, 8, padded);
  Put<uint32_t>(entry, 28, spec.sm);
  Put<uint64_t>(entry, 40, 0x11);
  if (spec.compression != Compression::kNone) {
    Put<uint32_t>(entry, 16, static_cast<uint32_t>(payload.size()));
    Put<uint64_t>(entry, 40, spec.compression == Compression::kLz4 ? 0x2011 : 0x8011);
    Put<uint64_t>(entry, 56, data.size());
  }
  std::copy(payload.begin(), payload.end(), entry.begin() + spec.header_bytes);
  return entry;
}

Bytes MakeContainer(const std::vector<EntrySpec>& specs) {
  Bytes container(16);
  for (const EntrySpec& spec : specs) {
    const Bytes entry = MakeEntry(spec);
    container.insert(container.end(), entry.begin(), entry.end());
  }
  Put<uint32_t>(container, 0, kContainerMagic);
  Put<uint16_t>(container, 4, 1);
  Put<uint16_t>(container, 6, 16);
  Put<uint64_t>(container, 8, container.size() - 16);
  return container;
}

std::string Ptx(uint32_t sm) {
  return fmt::format(".version 9.0\n.target sm_{}\n.address_size 64\n// {}\n", sm, std::string(500, 'x'));
}

void ExpectInvalid(const Bytes& bytes, std::string_view message) {
  const auto entries = Read(bytes);
  ASSERT_EQ(entries.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(CudaErrorOf(entries.status()), CudaError::kInvalidImage);
  EXPECT_THAT(std::string(Message(entries.status())), HasSubstr(std::string(message)));
  EXPECT_FALSE(FindPtx(bytes).ok());
}

TEST(ContainerBytes, IsHeaderAndBody) {
  const Bytes container = MakeContainer({{.data = Ptx(75)}});
  EXPECT_EQ(ContainerBytes(std::span(container).first(16)).value(), container.size());
}

TEST(ContainerBytes, RefusesOtherThings) {
  Bytes container = MakeContainer({});
  EXPECT_EQ(ContainerBytes(std::span(container).first(15)).status().code(), absl::StatusCode::kInvalidArgument);
  Put<uint64_t>(container, 8, ~uint64_t{0});
  EXPECT_EQ(ContainerBytes(container).status().code(), absl::StatusCode::kInvalidArgument);
  Put<uint16_t>(container, 4, 2);
  EXPECT_THAT(std::string(Message(ContainerBytes(container).status())), HasSubstr("version 2"));
  Put<uint32_t>(container, 0, kWrapperMagic);
  EXPECT_THAT(std::string(Message(ContainerBytes(container).status())), HasSubstr("not a fat binary"));
}

TEST(Read, DecompressesEveryKindOfEntry) {
  const Bytes container =
      MakeContainer({{.sm = 75, .data = Ptx(75) + std::string(5, '\0')},
                     {.sm = 80, .data = Ptx(80), .compression = Compression::kLz4},
                     {.sm = 90, .data = Ptx(90), .compression = Compression::kZstd, .header_bytes = 80},
                     {.kind = 2, .sm = 90, .data = "\177ELF machine code"},
                     {.kind = 7, .data = "something new"}});
  const auto entries = Read(container);
  ASSERT_TRUE(entries.ok()) << entries.status();
  ASSERT_EQ(entries->size(), 4U);
  EXPECT_EQ(ToText(entries->at(0).data), Ptx(75));
  EXPECT_EQ(ToText(entries->at(1).data), Ptx(80));
  EXPECT_EQ(ToText(entries->at(2).data), Ptx(90));
  EXPECT_EQ(entries->at(2).sm, 90U);
  EXPECT_EQ(entries->at(3).kind, Kind::kElf);
  EXPECT_THAT(ToText(entries->at(3).data), HasSubstr("machine code"));
}

TEST(Read, ContainersFollowOneAnother) {
  Bytes all = MakeContainer({{.sm = 75, .data = Ptx(75)}});
  all.resize(all.size() + 24);  // zeroes between
  const Bytes second = MakeContainer({{.sm = 86, .data = Ptx(86)}});
  all.insert(all.end(), second.begin(), second.end());
  const auto entries = Read(all);
  ASSERT_TRUE(entries.ok()) << entries.status();
  ASSERT_EQ(entries->size(), 2U);
  EXPECT_EQ(entries->at(1).sm, 86U);
}

TEST(Read, AnEmptyContainerHasNoEntries) { EXPECT_TRUE(Read(MakeContainer({})).value().empty()); }

TEST(Read, RefusesLengthsThatDoNotFit) {
  const Bytes good = MakeContainer({{.data = Ptx(75), .compression = Compression::kLz4}});
  ExpectInvalid({}, "less than 16 bytes");
  ExpectInvalid(Bytes(good.begin(), good.end() - 1), "cut short");
  Bytes bad = good;
  Put<uint32_t>(bad, 16 + 4, 63);  // header size
  ExpectInvalid(bad, "does not fit");
  bad = good;
  Put<uint32_t>(bad, 16 + 4, 0xFFFFFFFF);
  ExpectInvalid(bad, "does not fit");
  bad = good;
  Put<uint64_t>(bad, 16 + 8, ~uint64_t{0});  // payload size
  ExpectInvalid(bad, "does not fit");
  bad = good;
  Put<uint32_t>(bad, 16 + 16, 0xFFFFFFFF);  // compressed size
  ExpectInvalid(bad, "larger than its payload");
  bad = good;
  bad.push_back(std::byte{1});  // neither padding nor a container
  ExpectInvalid(bad, "less than 16 bytes");
  bad = MakeContainer({});
  bad.resize(bad.size() + 40, std::byte{1});
  Put<uint64_t>(bad, 8, 40);
  ExpectInvalid(bad, "entry is cut short");
}

TEST(Read, CorruptDataIsDataLoss) {
  for (const Compression compression : {Compression::kLz4, Compression::kZstd}) {
    Bytes bad = MakeContainer({{.data = Ptx(75), .compression = compression}});
    Put<uint64_t>(bad, 16 + 56, Ptx(75).size() + 1);
    EXPECT_EQ(Read(bad).status().code(), absl::StatusCode::kDataLoss);
    EXPECT_EQ(CudaErrorOf(Read(bad).status()), CudaError::kInvalidImage);
    bad = MakeContainer({{.data = Ptx(75), .compression = compression}});
    for (size_t i = 16 + 64; i < bad.size(); ++i) bad[i] = std::byte{0xFF};
    EXPECT_EQ(Read(bad).status().code(), absl::StatusCode::kDataLoss);
  }
}

TEST(Read, CapsWhatAnEntryMayGrowTo) {
  Bytes bad = MakeContainer({{.data = Ptx(75), .compression = Compression::kZstd}});
  Put<uint64_t>(bad, 16 + 56, kMaxEntryBytes + 1);
  EXPECT_EQ(Read(bad).status().code(), absl::StatusCode::kResourceExhausted);
  bad = MakeContainer({{.data = Ptx(75), .compression = Compression::kLz4}});
  Put<uint64_t>(bad, 16 + 56, kMaxEntryBytes);  // refused before anything is allocated
  EXPECT_EQ(Read(bad).status().code(), absl::StatusCode::kDataLoss);
}

// An image of machine code with sections of these names, each a few bytes long.
std::string MakeImage(const std::vector<std::string>& names) {
  std::string text("\0.shstrtab\0", 11);
  std::vector<Elf64_Shdr> sections(2 + names.size());
  for (size_t i = 0; i < names.size(); ++i) {
    sections[2 + i] = {.sh_name = static_cast<Elf64_Word>(text.size()), .sh_type = SHT_PROGBITS, .sh_size = 16};
    text += names[i] + '\0';
  }
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_shoff = sizeof(header) + text.size();
  header.e_shentsize = sizeof(Elf64_Shdr);
  header.e_shnum = static_cast<Elf64_Half>(sections.size());
  header.e_shstrndx = 1;
  sections[1] = {.sh_name = 1, .sh_type = SHT_STRTAB, .sh_offset = sizeof(header), .sh_size = text.size()};
  std::string image(header.e_shoff + sections.size() * sizeof(Elf64_Shdr), '\0');
  std::memcpy(image.data(), &header, sizeof(header));
  std::memcpy(image.data() + sizeof(header), text.data(), text.size());
  std::memcpy(image.data() + header.e_shoff, sections.data(), sections.size() * sizeof(Elf64_Shdr));
  return image;
}

TEST(HasMachineCode, LooksForFunctionsAndVariables) {
  const auto has = [](const std::vector<std::string>& names) {
    return HasMachineCode(MakeContainer({{1, 75, "ptx"}, {2, 75, MakeImage(names), Compression::kZstd}})).value();
  };
  EXPECT_FALSE(has({}));
  EXPECT_FALSE(has({".symtab", ".note.nv.tkinfo", ".nv.callgraph", ".nv.rel.action"}));
  EXPECT_TRUE(has({".symtab", ".text._Z6Kernelv"}));
  EXPECT_TRUE(has({".nv.global"}));
  EXPECT_TRUE(has({".nv.constant3"}));
  EXPECT_FALSE(HasMachineCode(MakeContainer({})).value());
  EXPECT_EQ(HasMachineCode({}).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(HasMachineCode, AnImageThatCannotBeReadMayHaveSome) {
  const std::string image = MakeImage({".nv.callgraph"});
  for (size_t size = 0; size + 8 <= image.size(); ++size) {  // payloads are padded to eight bytes
    EXPECT_TRUE(HasMachineCode(MakeContainer({{2, 75, image.substr(0, size)}})).value()) << size;
  }
}

TEST(FindPtx, TakesTheHighestArchitecture) {
  const Bytes container = MakeContainer({{.sm = 75, .data = Ptx(75)},
                                         {.sm = 90, .data = Ptx(90), .compression = Compression::kZstd},
                                         {.sm = 80, .data = Ptx(80)},
                                         {.kind = 2, .sm = 100, .data = "code"}});
  EXPECT_EQ(FindPtx(container).value(), Ptx(90));
}

TEST(FindPtxFor, FollowsTheDriversChoice) {
  const auto ptx = [](uint32_t sm) { return EntrySpec{.sm = sm, .data = Ptx(sm)}; };
  const auto code = [](uint32_t sm) { return EntrySpec{.kind = 2, .sm = sm, .data = "code"}; };
  const Bytes container = MakeContainer({ptx(75), code(80), ptx(80), code(86), ptx(90), code(100), ptx(100)});
  EXPECT_EQ(FindPtxFor(container, 75).value(), Ptx(75));
  EXPECT_EQ(FindPtxFor(container, 80).value(), Ptx(80));
  EXPECT_EQ(FindPtxFor(container, 87).status().code(), absl::StatusCode::kUnimplemented);  // runs sm_86: whose PTX?
  EXPECT_EQ(FindPtxFor(container, 90).value(), Ptx(90));
  EXPECT_EQ(FindPtxFor(container, 120).value(), Ptx(100));
  EXPECT_EQ(FindPtxFor(container, 70).status().code(), absl::StatusCode::kUnimplemented);
  EXPECT_EQ(FindPtxFor(FromText(Ptx(75)), 90).value(), Ptx(75));
  EXPECT_EQ(FindPtxFor(FromText("\177ELF and so on, sixteen bytes"), 90).status().code(),
            absl::StatusCode::kUnimplemented);
}

TEST(FindPtx, ReturnsPlainTextAsItIs) { EXPECT_EQ(FindPtx(FromText(Ptx(75))).value(), Ptx(75)); }

TEST(FindPtx, SaysHowToRebuildWithoutPtx) {
  const auto ptx =
      FindPtx(MakeContainer({{.kind = 2, .sm = 90, .data = "code"}, {.kind = 2, .sm = 80, .data = "code"}}));
  EXPECT_EQ(ptx.status().code(), absl::StatusCode::kUnimplemented);
  EXPECT_EQ(CudaErrorOf(ptx.status()), CudaError::kNoBinaryForDevice);
  EXPECT_THAT(std::string(Message(ptx.status())), HasSubstr("only machine code for sm_80, sm_90"));
  EXPECT_THAT(std::string(Message(ptx.status())), HasSubstr("-gencode arch=compute_75,code=compute_75"));
  EXPECT_EQ(FindPtx(FromText("\177ELF and so on, a cubin")).status().code(), absl::StatusCode::kUnimplemented);
  EXPECT_EQ(FindPtx(MakeContainer({})).status().code(), absl::StatusCode::kUnimplemented);
}

TEST(FindPtx, RefusesOtherThings) {
  EXPECT_EQ(FindPtx({}).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(FindPtx(FromText("hello, this is no program")).status().code(), absl::StatusCode::kInvalidArgument);
}

RC_GTEST_PROP(Read, AnyEntriesComeBackAsTheyWere, (const std::vector<std::tuple<std::string, int, bool>>& contents)) {
  std::vector<EntrySpec> specs;
  for (const auto& [data, compression, is_elf] : contents) {
    specs.push_back({.kind = static_cast<uint16_t>(is_elf ? 2 : 1),
                     .data = data + "!",
                     .compression = static_cast<Compression>(std::abs(compression % 3)),
                     .header_bytes = static_cast<uint32_t>(64 + 8 * (data.size() % 4))});
  }
  const auto entries = Read(MakeContainer(specs));
  RC_ASSERT(entries.ok());
  RC_ASSERT(entries->size() == specs.size());
  for (size_t i = 0; i < specs.size(); ++i) {
    std::string found = ToText(entries->at(i).data);
    found.erase(found.find_last_not_of('\0') + 1);  // uncompressed payloads are padded
    RC_ASSERT(found == specs[i].data);
  }
}

RC_GTEST_PROP(Read, DamageNeverCrashes, (uint32_t at, uint8_t value, uint32_t cut)) {
  Bytes bytes = MakeContainer({{.data = Ptx(75), .compression = Compression::kLz4},
                               {.data = Ptx(80), .compression = Compression::kZstd},
                               {.kind = 2, .data = "code"}});
  bytes[at % bytes.size()] = static_cast<std::byte>(value);
  if (cut % 4 == 0) bytes.resize(cut / 4 % bytes.size());
  (void)Read(bytes);
  (void)FindPtx(bytes);
  (void)HasMachineCode(bytes);
}

class ReadSectionTest : public ::testing::Test {
 protected:
  ReadSectionTest() : path_(testing::TempDir() + "/wharf_section_" + std::to_string(::getpid())) {}
  ~ReadSectionTest() override { std::filesystem::remove(path_); }

  void Write(const Bytes& bytes) {
    std::ofstream file(path_, std::ios::binary);
    file.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  }

  // An ELF file of three sections: null, .nv_fatbin and the names.
  static Bytes MakeElf(const Bytes& content, std::string_view name = ".nv_fatbin") {
    const std::string names = std::string(1, '\0').append(name).append(1, '\0');
    Elf64_Shdr sections[3]{};
    sections[1] = {.sh_name = 1, .sh_type = SHT_PROGBITS, .sh_offset = sizeof(Elf64_Ehdr), .sh_size = content.size()};
    sections[2] = {.sh_type = SHT_STRTAB, .sh_offset = sizeof(Elf64_Ehdr) + content.size(), .sh_size = names.size()};
    Elf64_Ehdr header{};
    std::memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = ELFCLASS64;
    header.e_ident[EI_DATA] = ELFDATA2LSB;
    header.e_ident[EI_DATA] = ELFDATA2LSB;
    header.e_shoff = sections[2].sh_offset + names.size();
    header.e_shentsize = sizeof(Elf64_Shdr);
    header.e_shnum = 3;
    header.e_shstrndx = 2;
    std::string file(reinterpret_cast<const char*>(&header), sizeof(header));
    file.append(ToText(content)).append(names).append(reinterpret_cast<const char*>(sections), sizeof(sections));
    return FromText(file);
  }

  const std::string path_;
};

TEST_F(ReadSectionTest, FindsTheSection) {
  const Bytes container = MakeContainer({{.data = Ptx(75)}});
  Write(MakeElf(container));
  EXPECT_EQ(ReadSection(path_).value(), container);
}

TEST_F(ReadSectionTest, SaysWhenThereIsNone) {
  EXPECT_EQ(ReadSection(path_).status().code(), absl::StatusCode::kNotFound);  // no file
  Write(MakeElf({}, ".text"));
  EXPECT_EQ(ReadSection(path_).status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(ReadSection("/proc/self/exe").status().code(), absl::StatusCode::kNotFound);
}

TEST_F(ReadSectionTest, RefusesOtherFiles) {
  EXPECT_EQ(ReadSection(testing::TempDir()).status().code(), absl::StatusCode::kInvalidArgument);
  Write(FromText("#!/bin/sh\n"));
  EXPECT_EQ(ReadSection(path_).status().code(), absl::StatusCode::kInvalidArgument);
  Bytes file = MakeElf({});
  Put<uint8_t>(file, EI_CLASS, ELFCLASS32);
  Write(file);
  EXPECT_EQ(ReadSection(path_).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(ReadSectionTest, RefusesTruncatedFiles) {
  const Bytes whole = MakeElf(MakeContainer({{.data = Ptx(75)}}));
  for (size_t size = 0; size < whole.size(); size += 7) {
    Write(Bytes(whole.begin(), whole.begin() + static_cast<ptrdiff_t>(size)));
    EXPECT_EQ(ReadSection(path_).status().code(), absl::StatusCode::kInvalidArgument) << size;
  }
  Bytes bad = whole;
  Put<uint64_t>(bad, bad.size() - 2 * sizeof(Elf64_Shdr) + offsetof(Elf64_Shdr, sh_size), ~uint64_t{0});
  Write(bad);
  EXPECT_EQ(ReadSection(path_).status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace wharf::device::fatbin
