#include "wharf/cudashim/validity/validity.h"

#include <vector>

namespace wharf::cudashim {
namespace {

constexpr Md2Digest kKey = {0x14, 0x6a, 0xdd, 0xae, 0x53, 0xa9, 0xa7, 0x52,
                            0xaa, 0x08, 0x41, 0x36, 0x0b, 0xf5, 0x5a, 0x9f};
constexpr Md2Digest kFirstAnswer = {0x5c, 0x67, 0xcb, 0x03, 0x1c, 0x18, 0x41, 0x33,
                                    0xe8, 0xd1, 0x4c, 0x1f, 0xaa, 0x83, 0xd3, 0x8e};
constexpr Md2Digest kSecondAnswer = {0x5c, 0x67, 0xcb, 0x03, 0x1c, 0x18, 0x41, 0x18,
                                     0xe8, 0xd1, 0x4c, 0x1f, 0xaa, 0x83, 0xd3, 0x8e};

// Little-endian, as the runtime has them in memory.
template <typename Number>
void Append(std::vector<uint8_t>& bytes, Number number) {
  for (size_t i = 0; i < sizeof(number); ++i) bytes.push_back(static_cast<uint8_t>(uint64_t(number) >> 8 * i));
}

}  // namespace

Md2Digest AnswerValidity(const ValidityQuestion& question, std::span<const DeviceIdentity> devices) {
  if (question.question % 10 == 0) return kFirstAnswer;
  if (question.question % 10 == 1) return kSecondAnswer;
  std::vector<uint8_t> bytes;
  for (const uint32_t number : {question.driver_version, question.question, question.process, question.thread})
    Append(bytes, number);
  for (const uint64_t number : {question.runtime_table, question.validity_table, question.function, question.seconds})
    Append(bytes, number);
  for (const DeviceIdentity& device : devices) {
    bytes.insert(bytes.end(), device.uuid.begin(), device.uuid.end());
    for (const int32_t number : {device.pci_domain, device.pci_bus, device.pci_device}) Append(bytes, number);
  }
  return HmacMd2(kKey, bytes);
}

}  // namespace wharf::cudashim
