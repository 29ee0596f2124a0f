// How NVIDIA's runtime makes sure of its driver. While it starts, the runtime in a program asks the driver three
// questions; unless the answers are right, every call fails with cudaErrorSoftwareValidityNotEstablished. NVIDIA does
// not describe them. Several open implementations of the driver publish what they are, ZLUDA's first (vosen/ZLUDA,
// dark_api); put plainly, two answers never change and the third is an HMAC-MD2 of who asks whom.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "wharf/cudashim/validity/md2.h"

namespace wharf::cudashim {

struct ValidityQuestion {
  uint32_t driver_version = 0;  // as cuDriverGetVersion says: 13000
  uint32_t question = 0;        // ten times the runtime's release, and which question in the last digit
  uint32_t process = 0;
  uint32_t thread = 0;  // the low half of pthread_self()
  // Where the driver's tables are (cuda/export_tables.cc), and in them the function that is asked.
  uint64_t runtime_table = 0;
  uint64_t validity_table = 0;
  uint64_t function = 0;
  uint64_t seconds = 0;  // the time, as the runtime says it
};

struct DeviceIdentity {
  std::array<uint8_t, 16> uuid{};
  int32_t pci_domain = 0;
  int32_t pci_bus = 0;
  int32_t pci_device = 0;
};

Md2Digest AnswerValidity(const ValidityQuestion& question, std::span<const DeviceIdentity> devices);

}  // namespace wharf::cudashim
