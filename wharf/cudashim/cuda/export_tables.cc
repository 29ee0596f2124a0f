// cuGetExportTable: tables of functions that NVIDIA's own libraries ask of its driver by number and that NVIDIA does
// not describe. Its runtime, which nvcc links into a program unless it is told otherwise, does not start without some
// of them. What they are is published by open implementations of the driver (ZLUDA's dark_api, github.com/vosen/ZLUDA,
// and others that name it), and what the runtimes of CUDA 12 and 13 ask for was seen by running them against this file:
// the functions below and no others. Everything else that they do goes through the public driver API.
#include <pthread.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <utility>

#include "wharf/cudashim/client/device_info.h"
#include "wharf/cudashim/client/jit/ptx_image.h"
#include "wharf/cudashim/cuda/context.h"
#include "wharf/cudashim/cuda/context_storage.h"
#include "wharf/cudashim/cuda/driver.h"
#include "wharf/cudashim/validity/validity.h"

namespace wharf::cudashim {
namespace {

// A table begins with its size in bytes; functions have the places behind. Those that nothing has asked for yet say so
// when something does.
template <size_t kSlots>
using Table = std::array<const void*, kSlots>;

CUresult NobodyKnows() {
  client::TellOnce(
      "a library of the program calls a function of NVIDIA's driver that is described nowhere; it returns \"not "
      "supported\"");
  return CUDA_ERROR_NOT_SUPPORTED;
}

template <size_t kSlots>
Table<kSlots> MakeTable(std::initializer_list<std::pair<size_t, const void*>> functions) {
  Table<kSlots> table;
  table.fill(reinterpret_cast<const void*>(&NobodyKnows));
  table[0] = reinterpret_cast<const void*>(sizeof(table));
  for (const auto& [slot, function] : functions) table.at(slot) = function;
  return table;
}

template <typename Function>
const void* At(Function* function) {
  return reinterpret_cast<const void*>(function);
}

// --- The runtime's own table.

CUresult GetPrimaryContext(CUcontext* context, CUdevice device) {
  if (context == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (device != 0) return CUDA_ERROR_INVALID_DEVICE;
  *context = PrimaryContext();
  return CUDA_SUCCESS;
}

const void* RuntimeTable() {
  static const auto* const table = new Table<13>(MakeTable<13>({{2, At(&GetPrimaryContext)}}));
  return table->data();
}

// --- Which calls of the runtime tools want to hear of: none, as there are no tools.

void GetCallFlags(void** flags, size_t* count) {
  static auto* const none = new std::array<uint32_t, 1024>{};
  *flags = none->data();
  *count = none->size();
}

void GetEventFlags(void** flags, size_t* count) {
  static auto* const none = new std::array<uint32_t, 14>{};
  *flags = none->data();
  *count = none->size();
}

const void* ToolsTable() {
  static const auto* const table = new Table<7>(MakeTable<7>({{2, At(&GetCallFlags)}, {6, At(&GetEventFlags)}}));
  return table->data();
}

// --- What the runtime remembers of a context. This table has no size.

class Storage {
 public:
  static Storage& Get() {
    static auto* const storage = new Storage();
    return *storage;
  }
  ContextStorage& values() { return values_; }

 private:
  Storage() {
    client::BeforeReset([] { Get().values_.Clear(PrimaryContext()); });
    pthread_atfork([] { Get().values_.LockForFork(); }, [] { Get().values_.UnlockAfterFork(); },
                   [] { Get().values_.UnlockAfterFork(); });
  }
  ContextStorage values_;
};

// None means the current one. CUDA_ERROR_INVALID_CONTEXT if that is none, too.
template <typename Body>
CUresult WithContext(CUcontext context, Body&& body) {
  if (context == nullptr) context = CurrentContext();
  return context == nullptr ? CUDA_ERROR_INVALID_CONTEXT : body(context);
}

CUresult PutLocal(CUcontext context, void* key, void* value, ContextStorage::Destroy destroy) {
  return WithContext(context, [&](CUcontext of) {
    Storage::Get().values().Put(of, key, value, destroy);
    return CUDA_SUCCESS;
  });
}

CUresult RemoveLocal(CUcontext context, void* key) {
  return WithContext(context, [&](CUcontext of) {
    Storage::Get().values().Remove(of, key);
    return CUDA_SUCCESS;
  });
}

CUresult GetLocal(void** value, CUcontext context, void* key) {
  if (value == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return WithContext(context, [&](CUcontext of) {
    return Storage::Get().values().Get(of, key, value) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
  });
}

const void* StorageTable() {
  static const auto* const table = new Table<4>{At(&PutLocal), At(&RemoveLocal), At(&GetLocal), At(&NobodyKnows)};
  return table->data();
}

// --- Whether a context is one of a kind that the runtime cannot use. There is no such kind here.

CUresult CheckContext(CUcontext, unsigned* kind, const void** detail) {
  if (kind != nullptr) *kind = 0;
  if (detail != nullptr) *detail = nullptr;
  return CUDA_SUCCESS;
}

unsigned CheckAllContexts() { return 0; }

const void* ContextChecksTable() {
  static const auto* const table = new Table<4>(MakeTable<4>({{2, At(&CheckContext)}, {3, At(&CheckAllContexts)}}));
  return table->data();
}

// --- Contexts as tools see them. The runtime wants it to be there from CUDA 13.4 on.

const void* ToolsContextTable() {
  static const auto* const table = new Table<5>(MakeTable<5>({{4, At(&cuCtxGetId)}}));
  return table->data();
}

const void* ToolsThreadTable() {
  static const auto* const table = new Table<4>(MakeTable<4>({}));
  return table->data();
}

// --- Whether this is a driver.

CUresult Answer(unsigned question, uint64_t seconds, Md2Digest* answer);

const void* ValidityTable() {
  static const auto* const table = new Table<3>(MakeTable<3>({{1, At(&Answer)}}));
  return table->data();
}

CudaError Identify(DeviceIdentity* identity) {
  const CudaError error = client::Connect();
  if (error != CudaError::kSuccess) return error;
  const auto& uuid = client::Properties().uuid;
  static_assert(sizeof(uuid) == sizeof(identity->uuid));
  std::memcpy(identity->uuid.data(), uuid.data(), sizeof(uuid));
  const std::pair<int, int32_t*> numbers[] = {{CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID, &identity->pci_domain},
                                              {CU_DEVICE_ATTRIBUTE_PCI_BUS_ID, &identity->pci_bus},
                                              {CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID, &identity->pci_device}};
  for (const auto& [attribute, number] : numbers) {
    if (const CudaError unknown = client::DeviceAttribute(attribute, number); unknown != CudaError::kSuccess)
      return unknown;
  }
  return CudaError::kSuccess;
}

CUresult Answer(unsigned question, uint64_t seconds, Md2Digest* answer) {
  if (answer == nullptr) return CUDA_ERROR_INVALID_VALUE;
  DeviceIdentity device;
  if (const CudaError error = Identify(&device); error != CudaError::kSuccess) return ToResult(error);
  ValidityQuestion asked;
  asked.driver_version = CUDA_VERSION;
  asked.question = question;
  asked.process = static_cast<uint32_t>(getpid());
  asked.thread = static_cast<uint32_t>(pthread_self());
  asked.runtime_table = Address(RuntimeTable());
  asked.validity_table = Address(ValidityTable());
  asked.function = Address(At(&Answer));
  asked.seconds = seconds;
  *answer = AnswerValidity(asked, {&device, 1});
  return CUDA_SUCCESS;
}

// ---

using Id = std::array<unsigned char, 16>;

struct Known {
  Id id;
  const void* (*table)();  // null: refused, and those who ask do without
};

constexpr Known kTables[] = {
    {{0x6b, 0xd5, 0xfb, 0x6c, 0x5b, 0xf4, 0xe7, 0x4a, 0x89, 0x87, 0xd9, 0x39, 0x12, 0xfd, 0x9d, 0xf9}, RuntimeTable},
    {{0xa0, 0x94, 0x79, 0x8c, 0x2e, 0x74, 0x2e, 0x74, 0x93, 0xf2, 0x08, 0x00, 0x20, 0x0c, 0x0a, 0x66}, ToolsTable},
    {{0xc6, 0x93, 0x33, 0x6e, 0x11, 0x21, 0xdf, 0x11, 0xa8, 0xc3, 0x68, 0xf3, 0x55, 0xd8, 0x95, 0x93}, StorageTable},
    {{0x26, 0x3e, 0x88, 0x60, 0x7c, 0xd2, 0x61, 0x43, 0x92, 0xf6, 0xbb, 0xd5, 0x00, 0x6d, 0xfa, 0x7e},
     ContextChecksTable},
    {{0xd4, 0x08, 0x20, 0x55, 0xbd, 0xe6, 0x70, 0x4b, 0x8d, 0x34, 0xba, 0x12, 0x3c, 0x66, 0xe1, 0xf2}, ValidityTable},
    {{0x42, 0xd8, 0x5a, 0x81, 0x23, 0xf6, 0xcb, 0x47, 0x82, 0x98, 0xf6, 0xe7, 0x8a, 0x3a, 0xec, 0xdc},
     ToolsThreadTable},
    {{0x21, 0x31, 0x8c, 0x60, 0x97, 0x14, 0x32, 0x48, 0x8c, 0xa6, 0x41, 0xff, 0x73, 0x24, 0xc8, 0xf2},
     ToolsContextTable},
    // The runtime asks before anything else whether it may start in another way.
    {{0xf8, 0xcf, 0xf9, 0x51, 0x21, 0x46, 0x8b, 0x4e, 0xb9, 0xe2, 0xfb, 0x46, 0x9e, 0x7c, 0x0d, 0xd9}, nullptr},
    // NVRTC.
    {{0xda, 0x91, 0x51, 0xd3, 0x3a, 0xe6, 0xcc, 0x41, 0xa5, 0xc0, 0x4f, 0x26, 0xd5, 0x33, 0xe3, 0x28}, nullptr},
};

CudaError FindTable(const void** table, const CUuuid* id) {
  if (table == nullptr || id == nullptr) return CudaError::kInvalidValue;
  *table = nullptr;
  for (const Known& known : kTables) {
    if (std::memcmp(known.id.data(), id->bytes, known.id.size()) != 0) continue;
    if (known.table == nullptr) return CudaError::kNotFound;
    *table = known.table();
    return CudaError::kSuccess;
  }
  client::TellOnce(
      "a library of the program asks for functions that only NVIDIA's driver has, as CUPTI does; they are refused, and "
      "what depends on them fails");
  return CudaError::kNotFound;
}

}  // namespace
}  // namespace wharf::cudashim

using namespace wharf;            // NOLINT
using namespace wharf::cudashim;  // NOLINT

extern "C" CUresult cuGetExportTable(const void** table, const CUuuid* id) {
  return DriverLocal(Call::k_cuGetExportTable, [&] { return FindTable(table, id); });
}
