#include "wharf/cudashim/api_table.h"

#include <algorithm>
#include <tuple>
#include <vector>

namespace wharf::cudashim {
namespace {

using offload::CallClass;

constexpr ApiRow kCovered[] = {
#define WHARF_CALL(library, name, call_class, operations) {#library, #name, true, CallClass::call_class, operations},
#include "wharf/cudashim/api.def"
#undef WHARF_CALL
};

// A name the vendor exports that is no row of api.def; `base` is the row it is a variant of.
struct VendorName {
  const char* library;
  const char* name;
  const char* base;
};
constexpr VendorName kVendorNames[] = {
#ifdef WHARF_VENDOR_NAMES
#include "wharf/cudashim/generated/vendor_names.inc"
#endif
    {nullptr, nullptr, nullptr}};

std::vector<ApiRow> MakeTable() {
  std::vector<ApiRow> rows(std::begin(kCovered), std::end(kCovered));
  for (const VendorName& vendor : kVendorNames) {
    if (vendor.name == nullptr) continue;
    ApiRow row{vendor.library, vendor.name, false, CallClass::kLocal, ""};
    if (vendor.base != nullptr) {
      const auto* const base = std::find_if(std::begin(kCovered), std::end(kCovered), [&](const ApiRow& covered) {
        return covered.name == vendor.base && covered.library == vendor.library;
      });
      row = *base;
      row.name = vendor.name;
    }
    rows.push_back(row);
  }
  std::sort(rows.begin(), rows.end(),
            [](const ApiRow& a, const ApiRow& b) { return std::tie(a.library, a.name) < std::tie(b.library, b.name); });
  return rows;
}

}  // namespace

std::span<const ApiRow> ApiTable() {
  static const std::vector<ApiRow>* const table = new std::vector<ApiRow>(MakeTable());
  return *table;
}

bool ApiTableIsComplete() {
#ifdef WHARF_VENDOR_NAMES
  return true;
#else
  return false;
#endif
}

std::string_view CallClassName(CallClass call_class) {
  static constexpr std::string_view kNames[] = {"plumbing", "local", "posted", "blocking"};
  return kNames[static_cast<size_t>(call_class)];
}

}  // namespace wharf::cudashim
