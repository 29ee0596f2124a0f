#include "wharf/cudashim/client/jit/vendor_library.h"

#include <dlfcn.h>
#include <link.h>
#include <sys/stat.h>

#include <cstdlib>
#include <map>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "absl/synchronization/mutex.h"

namespace wharf::client {
namespace {

struct Identity {
  dev_t device = 0;
  ino_t inode = 0;
  friend bool operator==(const Identity&, const Identity&) = default;
};

std::optional<Identity> IdentityOf(const std::string& path) {
  struct stat status {};
  if (stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return std::nullopt;
  return Identity{status.st_dev, status.st_ino};
}

// The file that an address belongs to; "" if it is none.
std::string FileOf(const void* address) {
  Dl_info info{};
  return dladdr(address, &info) != 0 && info.dli_fname != nullptr ? info.dli_fname : "";
}

// In the order in which they were loaded; the program's own is "".
std::vector<std::string> LoadedFiles() {
  std::vector<std::string> files;
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* list) {
        static_cast<std::vector<std::string>*>(list)->emplace_back(info->dlpi_name);
        return 0;
      },
      &files);
  return files;
}

// Where the dynamic linker looks for what a file needs.
std::vector<std::string> SearchedFolders(const std::string& file) {
  std::vector<std::string> folders;
  void* const handle = dlopen(file.empty() ? nullptr : file.c_str(), RTLD_LAZY | RTLD_NOLOAD);
  if (handle == nullptr) return folders;
  Dl_serinfo size{};
  if (dlinfo(handle, RTLD_DI_SERINFOSIZE, &size) == 0) {
    const std::unique_ptr<std::byte[]> bytes(new std::byte[size.dls_size]());
    auto* const info = reinterpret_cast<Dl_serinfo*>(bytes.get());
    *info = size;
    if (dlinfo(handle, RTLD_DI_SERINFO, info) == 0) {
      for (unsigned i = 0; i < info->dls_cnt; ++i) folders.emplace_back(info->dls_serpath[i].dls_name);
    }
  }
  dlclose(handle);
  return folders;
}

// Where pip puts NVIDIA's packages, if the file is in one of pip's folders.
std::vector<std::string> PackageFolders(const std::string& file) {
  for (const std::string_view packages : {"/site-packages/", "/dist-packages/"}) {
    const size_t at = file.find(packages);
    if (at == std::string::npos) continue;
    const std::string root = file.substr(0, at + packages.size()) + "nvidia/";
    return {root + "cu13/lib", root + "cuda_nvrtc/lib", root + "nvjitlink/lib"};
  }
  return {};
}

std::vector<std::string> ToolkitFolders(const std::string& release) {
  std::vector<std::string> homes;
  for (const char* const variable : {"CUDA_HOME", "CUDA_PATH"}) {
    const char* const home = getenv(variable);
    if (home != nullptr && *home != '\0') homes.emplace_back(home);
  }
  homes.insert(homes.end(), {"/usr/local/cuda", "/usr/local/cuda-" + release, "/opt/cuda"});
  std::vector<std::string> folders;
  for (const std::string& home : homes) folders.insert(folders.end(), {home + "/lib64", home + "/lib"});
  return folders;
}

class Finder {
 public:
  Finder(const char* name, const void* ours) : name_(name), ours_(IdentityOf(FileOf(ours))) {}

  void* Find(const void* caller) {
    const std::vector<std::string> loaded = LoadedFiles();
    for (const std::string& file : loaded) {
      if (file.ends_with("/" + name_) && Open(file)) return handle_;
    }
    std::vector<std::string> files = {FileOf(caller)};
    files.insert(files.end(), loaded.begin(), loaded.end());
    for (const std::string& file : files) {
      if (OpenIn(SearchedFolders(file)) || OpenIn(PackageFolders(file))) return handle_;
    }
    OpenIn(ToolkitFolders(name_.substr(name_.rfind('.') + 1)));
    return handle_;
  }

 private:
  bool OpenIn(const std::vector<std::string>& folders) {
    for (const std::string& folder : folders) {
      if (Open(folder + "/" + name_)) return true;
    }
    return false;
  }
  // By its path: by its name alone it would be ours.
  bool Open(const std::string& path) {
    const std::optional<Identity> found = IdentityOf(path);
    if (!found || found == ours_) return false;
    handle_ = dlopen(path.c_str(), RTLD_LAZY | RTLD_LOCAL);
    if (handle_ == nullptr || dlsym(handle_, "wharf_dropin") == nullptr) return handle_ != nullptr;
    dlclose(handle_);
    handle_ = nullptr;
    return false;
  }

  const std::string name_;
  const std::optional<Identity> ours_;
  void* handle_ = nullptr;
};

}  // namespace

void* OpenVendorLibrary(const char* name, const void* ours, const void* caller) {
  static absl::Mutex* const mutex = new absl::Mutex();
  static auto* const opened = new std::map<std::string, void*>();
  absl::MutexLock lock(mutex);
  const auto [found, is_new] = opened->try_emplace(name, nullptr);
  if (is_new) found->second = Finder(name, ours).Find(caller);
  return found->second;
}

}  // namespace wharf::client
