#include "wharf/cudashim/client/jit/jit_linker.h"

#include <algorithm>
#include <cstring>

#include "wharf/cudashim/client/jit/code.h"
#include "wharf/cudashim/client/jit/forward.h"

namespace wharf::client {
namespace {

// With the zero behind it; nothing of nothing.
std::span<const std::byte> Terminated(const std::string& text) {
  if (text.empty()) return {};
  return {reinterpret_cast<const std::byte*>(text.c_str()), text.size() + 1};
}

bool Contains(const std::vector<std::string>& options, std::string_view option) {
  return std::find(options.begin(), options.end(), option) != options.end();
}

// A handle of NVIDIA's library that makes PTX of LTO-IR.
class LtoSession {
 public:
  LtoSession(void* library, const std::vector<std::string>& options) : library_(library) {
    std::vector<const char*> words;
    for (const std::string& option : options) words.push_back(option.c_str());
    if (!Contains(options, "-ptx")) words.push_back("-ptx");
    result_ = Call("nvJitLinkCreate", ToWord(&handle_), words.size(), ToWord(words.data()));
  }
  ~LtoSession() {
    if (handle_ != 0) Call("nvJitLinkDestroy", ToWord(&handle_));
  }
  LtoSession(const LtoSession&) = delete;
  LtoSession& operator=(const LtoSession&) = delete;

  void Add(const LtoInput& input) {
    if (result_ != 0) return;
    result_ = Call("nvJitLinkAddData", handle_, static_cast<Word>(JitLinkInput::kLtoIr), ToWord(input.bytes.data()),
                   input.bytes.size(), ToWord(input.name.c_str()));
  }
  bool Complete(std::string* ptx) {
    if (result_ == 0) result_ = Call("nvJitLinkComplete", handle_);
    return result_ == 0 && Get("nvJitLinkGetLinkedPtx", ptx);
  }
  std::string Reason() {
    std::string log;
    if (handle_ != 0) Get("nvJitLinkGetErrorLog", &log);
    while (log.ends_with('\n')) log.pop_back();
    return log.empty() ? "NVIDIA's nvJitLink makes no PTX of the LTO-IR" : log;
  }

 private:
  long Call(const char* name, Word a, Word b = 0, Word c = 0, Word d = 0, Word e = 0) {
    const auto function = reinterpret_cast<VendorFunction>(dlsym(library_, name));
    return function == nullptr ? static_cast<long>(JitLinkResult::kInternal) : function(a, b, c, d, e, 0);
  }
  bool Get(const std::string& name, std::string* text) {
    size_t size = 0;
    if (Call((name + "Size").c_str(), handle_, ToWord(&size)) != 0 || size == 0) return false;
    text->assign(size, '\0');
    const long result = Call(name.c_str(), handle_, ToWord(text->data()));
    text->resize(std::strlen(text->c_str()));
    return result == 0;
  }

  void* const library_;
  Word handle_ = 0;
  long result_ = 0;
};

bool LtoToPtx(void* library, const std::vector<std::string>& options, const std::vector<LtoInput>& inputs,
              std::string* ptx, std::string* reason) {
  if (library == nullptr) {
    *reason = "LTO-IR is linked by NVIDIA's nvJitLink, which is not here (pip install nvidia-nvjitlink)";
    return false;
  }
  LtoSession session(library, options);
  for (const LtoInput& input : inputs) session.Add(input);
  if (session.Complete(ptx)) return true;
  *reason = session.Reason();
  return false;
}

}  // namespace

JitLinkResult JitLinker::Check(const std::vector<std::string>& options) {
  constexpr std::string_view kArchitecture = "-arch=";
  const auto found = std::find_if(options.begin(), options.end(),
                                  [](const std::string& option) { return option.starts_with(kArchitecture); });
  if (found == options.end()) return JitLinkResult::kMissingArchitecture;
  const std::string_view name = std::string_view(*found).substr(kArchitecture.size());
  if (!name.starts_with("sm_") && !name.starts_with("compute_")) return JitLinkResult::kUnrecognizedArchitecture;
  const bool is_wrong = Contains(options, "-ptx") && !Contains(options, "-lto");
  return is_wrong ? JitLinkResult::kIncompatibleOptions : JitLinkResult::kSuccess;
}

JitLinker::JitLinker(std::vector<std::string> options, void* vendors)
    : options_(std::move(options)), vendors_(vendors) {}

bool JitLinker::Has(std::string_view option) const { return Contains(options_, option); }

JitLinkResult JitLinker::Fail(JitLinkResult result, const std::string& reason) {
  log_ += "error   : " + reason + "\n";
  return result;
}

JitLinkResult JitLinker::Add(JitLinkInput type, std::span<const std::byte> bytes, const std::string& name) {
  const std::string of = name.empty() ? "" : " in '" + name + "'";
  if (type == JitLinkInput::kIndex) {
    return Fail(JitLinkResult::kIncorrectInputType, "index files are not supported on the software device" + of);
  }
  if (type == JitLinkInput::kLtoIr || IsLtoIr(bytes)) {
    if (!Has("-lto")) return Fail(JitLinkResult::kLtoNotEnabled, "LTO-IR is linked with -lto only" + of);
    lto_.push_back({{bytes.begin(), bytes.end()}, name});
    return JitLinkResult::kSuccess;
  }
  std::string reason;
  const CudaError error = AddParts(bytes, &texts_, &reason);
  if (error == CudaError::kSuccess) return JitLinkResult::kSuccess;
  if (error == CudaError::kNoBinaryForDevice) return Fail(JitLinkResult::kMissingFatBinary, reason + of);
  const bool is_any = type == JitLinkInput::kAny;
  return Fail(is_any ? JitLinkResult::kUnrecognizedInput : JitLinkResult::kIncorrectInputType, reason + of);
}

JitLinkResult JitLinker::Complete() {
  std::vector<std::string> texts = texts_;
  std::string reason;
  if (!lto_.empty()) {
    std::string made;
    if (!LtoToPtx(vendors_, options_, lto_, &made, &reason)) return Fail(JitLinkResult::kInternal, reason);
    texts.push_back(std::move(made));
  }
  if (LinkTexts(texts, &ptx_, &reason) != CudaError::kSuccess) {
    return Fail(JitLinkResult::kInternal, reason);
  }
  image_ = ImageOfPtx(ptx_);
  return JitLinkResult::kSuccess;
}

JitLinkResult JitLinker::Image(std::span<const std::byte>* image) const {
  if (image_.empty() || Has("-ptx")) return JitLinkResult::kInternal;
  *image = image_;
  return JitLinkResult::kSuccess;
}

JitLinkResult JitLinker::Ptx(std::span<const std::byte>* ptx) const {
  if (!Has("-ptx")) return JitLinkResult::kInvalidInput;
  if (ptx_.empty()) return JitLinkResult::kInternal;
  *ptx = Terminated(ptx_);
  return JitLinkResult::kSuccess;
}

std::span<const std::byte> JitLinker::ErrorLog() const { return Terminated(log_); }

}  // namespace wharf::client
