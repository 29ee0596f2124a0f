#include "wharf/device/cuda/solver/solver.h"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <limits>

#include "wharf/device/cuda/library/library.h"
#include "wharf/device/cuda_error.h"

namespace wharf::device::cuda {
namespace {

// cusolverStatus_t
constexpr int kAllocFailed = 2, kInvalidArgument = 3, kMatrixType = 8, kUnsupported = 9;
constexpr uint64_t kBeforeWork = 256;  // bytes, for info that nobody wants

absl::Status CheckSolver(int status, const std::string& what) {
  switch (status) {
    case 0:
      return absl::OkStatus();
    case kAllocFailed:
      return CudaStatus(CudaError::kOutOfMemory, "{}: cuSOLVER is out of memory", what);
    case kInvalidArgument:
      return CudaStatus(CudaError::kInvalidValue, "{}: cuSOLVER refuses an argument", what);
    case kMatrixType:
    case kUnsupported:
      return CudaStatus(CudaError::kNotSupported, "{}: cuSOLVER does not have it (status {})", what, status);
    default:
      return CudaStatus(CudaError::kLaunchFailure, "{}: cuSOLVER status {}", what, status);
  }
}

int FillOf(const Lapack& l) { return l.upper ? 1 : 0; }
int ModeOf(LapackVectors vectors) { return vectors == LapackVectors::kNone ? 0 : 1; }
signed char JobOf(LapackVectors vectors) {
  constexpr signed char kJobs[] = {'N', 'A', 'S', 'O'};
  return kJobs[static_cast<size_t>(vectors)];
}
// cublasOperation_t; real ones have no conjugates.
int OperationOf(const Lapack& l) {
  if (l.transpose == LapackTranspose::kNone) return 0;
  return l.IsComplex() && l.transpose == LapackTranspose::kConjugated ? 2 : 1;
}
// cudaDataType
int DataTypeOf(const Lapack& l) { return (l.IsComplex() ? 4 : 0) + (l.IsDouble() ? 1 : 0); }
int RealTypeOf(const Lapack& l) { return l.IsDouble() ? 1 : 0; }

// Real ones and complex ones have names of their own.
std::string FunctionOf(const Lapack& l, const std::string& name) {
  constexpr char kReal[] = {'S', 'D'}, kComplex[] = {'C', 'Z'};
  constexpr std::pair<const char*, const char*> kNames[] = {
      {"orm", "unm"}, {"org", "ung"}, {"syev", "heev"}, {"sygv", "hegv"}};
  std::string own = name;
  for (const auto& [real, complex] : kNames) {
    if (l.IsComplex() && name.rfind(real, 0) == 0) own = complex + name.substr(std::string(real).size());
  }
  const char letter = (l.IsComplex() ? kComplex : kReal)[l.IsDouble() ? 1 : 0];
  return std::string("cusolverDn") + letter + own;
}

}  // namespace

// One of a batch, or all where cuSOLVER takes them at once.
struct Solver::Call {
  const Lapack& l;
  void* stream;
  int m, n, k, batch;
  std::array<void*, Lapack::kOperands> at{};
  std::array<int, Lapack::kOperands> leading{};
  int* info = nullptr;
};

const std::vector<std::string>& Solver::Libraries() {
  static const auto* const libraries = new std::vector<std::string>{"libcusolver.so.12", "libcusolver.so.11"};
  return *libraries;
}

absl::StatusOr<std::unique_ptr<Solver>> Solver::Create(WorkspaceOf workspace_of,
                                                       const std::vector<std::string>& libraries) {
  std::string why;
  for (const std::string& name : libraries) {
    const absl::StatusOr<void*> library = OpenLibrary(name);
    if (!library.ok()) {
      if (why.empty()) why = Message(library.status());
      continue;
    }
    std::unique_ptr<Solver> solver(new Solver(std::move(workspace_of)));
    WHARF_RETURN_IF_ERROR(solver->Open(*library));
    return solver;
  }
  return CudaStatus(CudaError::kNotSupported, "dense solvers need cuSOLVER on the server: {}", why);
}

absl::Status Solver::Open(void* library) {
  library_ = library;
  constexpr std::pair<const char*, void * Solver::*> kMade[] = {{"cusolverDnCreate", &Solver::handle_},
                                                                {"cusolverDnCreateParams", &Solver::params_},
                                                                {"cusolverDnCreateSyevjInfo", &Solver::syevj_},
                                                                {"cusolverDnCreateGesvdjInfo", &Solver::gesvdj_}};
  for (const auto& [name, member] : kMade) {
    const auto create = Find<int(void**)>(name);
    if (create == nullptr) return CudaStatus(CudaError::kNotSupported, "this cuSOLVER has no {}", name);
    WHARF_RETURN_IF_ERROR(CheckSolver(create(&(this->*member)), name));
  }
  return absl::OkStatus();
}

Solver::~Solver() {
  const std::pair<const char*, void*> made[] = {{"cusolverDnDestroyGesvdjInfo", gesvdj_},
                                                {"cusolverDnDestroySyevjInfo", syevj_},
                                                {"cusolverDnDestroyParams", params_},
                                                {"cusolverDnDestroy", handle_}};
  for (const auto& [name, object] : made) {
    const auto destroy = Find<int(void*)>(name);
    if (object != nullptr && destroy != nullptr) destroy(object);
  }
}

template <typename Function>
Function* Solver::Find(const std::string& name) {
  const auto [found, is_new] = functions_.emplace(name, nullptr);
  if (is_new) found->second = dlsym(library_, name.c_str());
  return reinterpret_cast<Function*>(found->second);
}

// Of a function whose first argument is the handle. Arguments are of the types that the vendor's header has, but for
// what pointers point to.
template <typename... Arguments>
absl::Status Solver::Invoke(const std::string& name, Arguments... arguments) {
  const auto function = Find<int(void*, Arguments...)>(name);
  if (function == nullptr) return CudaStatus(CudaError::kNotSupported, "this cuSOLVER has no {}", name);
  return CheckSolver(function(handle_, arguments...), name);
}

absl::StatusOr<void*> Solver::Workspace(const Call& call, uint64_t bytes) {
  WHARF_ASSIGN_OR_RETURN(const DeviceAddress address, workspace_of_(call.stream, kBeforeWork + bytes));
  return reinterpret_cast<void*>(address + kBeforeWork);
}

template <typename Size, typename Function>
absl::Status Solver::WithElements(const Call& call, Size&& size, Function&& function) {
  int elements = 0;
  WHARF_RETURN_IF_ERROR(size(&elements));
  elements = std::max(elements, 1);
  WHARF_ASSIGN_OR_RETURN(void* const work,
                         Workspace(call, static_cast<uint64_t>(elements) * ElementBytes(call.l.type)));
  return function(work, elements);
}

template <typename Size, typename Function>
absl::Status Solver::WithBytes(const Call& call, Size&& size, Function&& function) {
  size_t device = 0, host = 0;
  WHARF_RETURN_IF_ERROR(size(&device, &host));
  WHARF_ASSIGN_OR_RETURN(void* const work, Workspace(call, device));
  if (host > host_bytes_ || host_.empty()) {
    host_bytes_ = std::max<size_t>(host, 64);
    host_.push_back(std::make_unique<std::byte[]>(host_bytes_));
  }
  return function(work, device, static_cast<void*>(host_.back().get()), host);
}

absl::Status Solver::Run(const Lapack& l, void* stream) {
  constexpr int64_t kMost = std::numeric_limits<int>::max();
  Call call{l, stream, static_cast<int>(l.m), static_cast<int>(l.n), static_cast<int>(l.k), 1};
  call.leading.fill(std::max(call.m, call.n));      // of operands that there are not
  std::array<uint64_t, Lapack::kOperands> steps{};  // in bytes, to the next of the batch
  const std::vector<LapackPart> parts = PartsOf(l);
  for (const LapackPart& part : parts) {
    const auto i = static_cast<size_t>(part.operand);
    const LapackOperand& operand = l.operands[i];
    if (std::max({operand.leading, part.rows, part.columns}) > kMost) {
      return CudaStatus(CudaError::kNotSupported, "{} is too large for cuSOLVER", part.name);
    }
    call.at[i] = reinterpret_cast<void*>(operand.address);
    call.leading[i] = static_cast<int>(std::max(operand.leading, part.rows));
    steps[i] = static_cast<uint64_t>(operand.stride) * part.element_bytes;
  }
  call.info = reinterpret_cast<int*>(l.info);
  if (call.info == nullptr) {
    WHARF_ASSIGN_OR_RETURN(const DeviceAddress unwanted, workspace_of_(stream, kBeforeWork));
    call.info = reinterpret_cast<int*>(unwanted);
  }
  WHARF_RETURN_IF_ERROR(Invoke("cusolverDnSetStream", stream));
  // Jacobi's method works on all at once, if they lie one behind the other.
  const bool jacobi = l.routine == LapackRoutine::kSyevj || l.routine == LapackRoutine::kGesvdj;
  const auto follows = [&](const LapackPart& part) {
    const LapackOperand& operand = l.operands[static_cast<size_t>(part.operand)];
    return operand.stride == (part.columns == 1 && part.operand == 1 ? part.rows : operand.leading * part.columns);
  };
  if (jacobi && l.batch > 1 && std::all_of(parts.begin(), parts.end(), follows)) {
    call.batch = static_cast<int>(l.batch);
    return RunOne(call);
  }
  for (int64_t member = 0; member < l.batch; ++member) {
    WHARF_RETURN_IF_ERROR(RunOne(call));
    for (size_t i = 0; i < steps.size(); ++i) call.at[i] = static_cast<std::byte*>(call.at[i]) + steps[i];
    if (l.info != 0) ++call.info;
  }
  return absl::OkStatus();
}

absl::Status Solver::RunOne(const Call& call) {
  switch (call.l.routine) {
    case LapackRoutine::kGeqrf:
    case LapackRoutine::kOrmqr:
    case LapackRoutine::kOrgqr:
      return RunQr(call);
    case LapackRoutine::kGesvd:
    case LapackRoutine::kGesvdj:
      return RunSingular(call);
    case LapackRoutine::kSyevd:
    case LapackRoutine::kSyevj:
    case LapackRoutine::kSygvd:
      return RunEigen(call);
    case LapackRoutine::kGeev:
      return RunGeneralEigen(call);
    case LapackRoutine::kSytrs:
      return RunWidePivots(call);
    default:
      return call.l.wide_pivots ? RunWidePivots(call) : RunLinear(call);
  }
}

absl::Status Solver::RunLinear(const Call& c) {
  const Lapack& l = c.l;
  const std::string name = FunctionOf(l, NameOf(l.routine)), size_name = name + "_bufferSize";
  switch (l.routine) {
    case LapackRoutine::kPotrf:
    case LapackRoutine::kPotri:
      return WithElements(
          c, [&](int* size) { return Invoke(size_name, FillOf(l), c.n, c.at[0], c.leading[0], size); },
          [&](void* work, int size) {
            return Invoke(name, FillOf(l), c.n, c.at[0], c.leading[0], work, size, c.info);
          });
    case LapackRoutine::kPotrs:
      return Invoke(name, FillOf(l), c.n, c.k, c.at[0], c.leading[0], c.at[1], c.leading[1], c.info);
    case LapackRoutine::kGetrf:
      return WithElements(
          c, [&](int* size) { return Invoke(size_name, c.m, c.n, c.at[0], c.leading[0], size); },
          [&](void* work, int) { return Invoke(name, c.m, c.n, c.at[0], c.leading[0], work, c.at[1], c.info); });
    case LapackRoutine::kGetrs:
      return Invoke(name, OperationOf(l), c.n, c.k, c.at[0], c.leading[0], c.at[1], c.at[2], c.leading[2], c.info);
    default:
      return WithElements(
          c, [&](int* size) { return Invoke(size_name, c.n, c.at[0], c.leading[0], size); },
          [&](void* work, int size) {
            return Invoke(name, FillOf(l), c.n, c.at[0], c.leading[0], c.at[1], work, size, c.info);
          });
  }
}

absl::Status Solver::RunWidePivots(const Call& c) {
  const Lapack& l = c.l;
  const int type = DataTypeOf(l);
  switch (l.routine) {
    case LapackRoutine::kGetrf:
      return WithBytes(
          c,
          [&](size_t* device, size_t* host) {
            return Invoke("cusolverDnXgetrf_bufferSize", params_, l.m, l.n, type, c.at[0], int64_t{c.leading[0]}, type,
                          device, host);
          },
          [&](void* work, size_t bytes, void* host, size_t host_bytes) {
            return Invoke("cusolverDnXgetrf", params_, l.m, l.n, type, c.at[0], int64_t{c.leading[0]}, c.at[1], type,
                          work, bytes, host, host_bytes, c.info);
          });
    case LapackRoutine::kGetrs:
      return Invoke("cusolverDnXgetrs", params_, OperationOf(l), l.n, l.k, type, c.at[0], int64_t{c.leading[0]},
                    c.at[1], type, c.at[2], int64_t{c.leading[2]}, c.info);
    case LapackRoutine::kSytrs:
      if (!l.wide_pivots) break;
      return WithBytes(
          c,
          [&](size_t* device, size_t* host) {
            return Invoke("cusolverDnXsytrs_bufferSize", FillOf(l), l.n, l.k, type, c.at[0], int64_t{c.leading[0]},
                          c.at[1], type, c.at[2], int64_t{c.leading[2]}, device, host);
          },
          [&](void* work, size_t bytes, void* host, size_t host_bytes) {
            return Invoke("cusolverDnXsytrs", FillOf(l), l.n, l.k, type, c.at[0], int64_t{c.leading[0]}, c.at[1], type,
                          c.at[2], int64_t{c.leading[2]}, work, bytes, host, host_bytes, c.info);
          });
    default:
      break;
  }
  return CudaStatus(CudaError::kNotSupported, "cuSOLVER has no {} of such pivots", NameOf(l.routine));
}

absl::Status Solver::RunQr(const Call& c) {
  const Lapack& l = c.l;
  const std::string name = FunctionOf(l, NameOf(l.routine)), size_name = name + "_bufferSize";
  const int side = l.right ? 1 : 0;
  switch (l.routine) {
    case LapackRoutine::kGeqrf:
      return WithElements(
          c, [&](int* size) { return Invoke(size_name, c.m, c.n, c.at[0], c.leading[0], size); },
          [&](void* work, int size) {
            return Invoke(name, c.m, c.n, c.at[0], c.leading[0], c.at[1], work, size, c.info);
          });
    case LapackRoutine::kOrgqr:
      return WithElements(
          c, [&](int* size) { return Invoke(size_name, c.m, c.n, c.k, c.at[0], c.leading[0], c.at[1], size); },
          [&](void* work, int size) {
            return Invoke(name, c.m, c.n, c.k, c.at[0], c.leading[0], c.at[1], work, size, c.info);
          });
    default:
      return WithElements(
          c,
          [&](int* size) {
            return Invoke(size_name, side, OperationOf(l), c.m, c.n, c.k, c.at[0], c.leading[0], c.at[1], c.at[2],
                          c.leading[2], size);
          },
          [&](void* work, int size) {
            return Invoke(name, side, OperationOf(l), c.m, c.n, c.k, c.at[0], c.leading[0], c.at[1], c.at[2],
                          c.leading[2], work, size, c.info);
          });
  }
}

absl::Status Solver::SetJacobi(const Lapack& l, const char* kind, void* parameters) {
  const std::string name = std::string("cusolverDnX") + kind;
  const auto tolerance = Find<int(void*, double)>(name + "SetTolerance");
  const auto sweeps = Find<int(void*, int)>(name + "SetMaxSweeps");
  const auto sorted = Find<int(void*, int)>(name + "SetSortEig");
  if (tolerance == nullptr || sweeps == nullptr || sorted == nullptr) {
    return CudaStatus(CudaError::kNotSupported, "this cuSOLVER has no Jacobi's method");
  }
  constexpr int kUsualSweeps = 100;
  const double usual = l.IsDouble() ? 0x1p-52 : 0x1p-23;
  WHARF_RETURN_IF_ERROR(CheckSolver(tolerance(parameters, l.tolerance > 0 ? l.tolerance : usual), "SetTolerance"));
  WHARF_RETURN_IF_ERROR(CheckSolver(sweeps(parameters, l.sweeps > 0 ? l.sweeps : kUsualSweeps), "SetMaxSweeps"));
  return CheckSolver(sorted(parameters, l.sorted ? 1 : 0), "SetSortEig");
}

absl::Status Solver::RunSingular(const Call& c) {
  const Lapack& l = c.l;
  const std::string name = FunctionOf(l, NameOf(l.routine));
  const int mode = ModeOf(l.left), thin = l.left == LapackVectors::kThin ? 1 : 0;
  if (l.routine == LapackRoutine::kGesvd) {
    if (l.m < l.n) return CudaStatus(CudaError::kNotSupported, "cuSOLVER has no gesvd of more columns than rows");
    return WithElements(
        c, [&](int* size) { return Invoke(name + "_bufferSize", c.m, c.n, size); },
        [&](void* work, int size) {
          return Invoke(name, JobOf(l.left), JobOf(l.right_vectors), c.m, c.n, c.at[0], c.leading[0], c.at[1], c.at[2],
                        c.leading[2], c.at[3], c.leading[3], work, size, static_cast<void*>(nullptr), c.info);
        });
  }
  WHARF_RETURN_IF_ERROR(SetJacobi(l, "gesvdj", gesvdj_));
  if (c.batch > 1) {
    return WithElements(
        c,
        [&](int* size) {
          return Invoke(name + "Batched_bufferSize", mode, c.m, c.n, c.at[0], c.leading[0], c.at[1], c.at[2],
                        c.leading[2], c.at[3], c.leading[3], size, gesvdj_, c.batch);
        },
        [&](void* work, int size) {
          return Invoke(name + "Batched", mode, c.m, c.n, c.at[0], c.leading[0], c.at[1], c.at[2], c.leading[2],
                        c.at[3], c.leading[3], work, size, c.info, gesvdj_, c.batch);
        });
  }
  return WithElements(
      c,
      [&](int* size) {
        return Invoke(name + "_bufferSize", mode, thin, c.m, c.n, c.at[0], c.leading[0], c.at[1], c.at[2], c.leading[2],
                      c.at[3], c.leading[3], size, gesvdj_);
      },
      [&](void* work, int size) {
        return Invoke(name, mode, thin, c.m, c.n, c.at[0], c.leading[0], c.at[1], c.at[2], c.leading[2], c.at[3],
                      c.leading[3], work, size, c.info, gesvdj_);
      });
}

absl::Status Solver::RunEigen(const Call& c) {
  const Lapack& l = c.l;
  const std::string name = FunctionOf(l, NameOf(l.routine));
  const int mode = ModeOf(l.left), fill = FillOf(l);
  if (l.routine == LapackRoutine::kSygvd) {
    return WithElements(
        c,
        [&](int* size) {
          return Invoke(name + "_bufferSize", c.k, mode, fill, c.n, c.at[0], c.leading[0], c.at[1], c.leading[1],
                        c.at[2], size);
        },
        [&](void* work, int size) {
          return Invoke(name, c.k, mode, fill, c.n, c.at[0], c.leading[0], c.at[1], c.leading[1], c.at[2], work, size,
                        c.info);
        });
  }
  if (l.routine == LapackRoutine::kSyevd) {
    return WithElements(
        c,
        [&](int* size) { return Invoke(name + "_bufferSize", mode, fill, c.n, c.at[0], c.leading[0], c.at[1], size); },
        [&](void* work, int size) {
          return Invoke(name, mode, fill, c.n, c.at[0], c.leading[0], c.at[1], work, size, c.info);
        });
  }
  WHARF_RETURN_IF_ERROR(SetJacobi(l, "syevj", syevj_));
  if (c.batch > 1) {
    return WithElements(
        c,
        [&](int* size) {
          return Invoke(name + "Batched_bufferSize", mode, fill, c.n, c.at[0], c.leading[0], c.at[1], size, syevj_,
                        c.batch);
        },
        [&](void* work, int size) {
          return Invoke(name + "Batched", mode, fill, c.n, c.at[0], c.leading[0], c.at[1], work, size, c.info, syevj_,
                        c.batch);
        });
  }
  return WithElements(
      c,
      [&](int* size) {
        return Invoke(name + "_bufferSize", mode, fill, c.n, c.at[0], c.leading[0], c.at[1], size, syevj_);
      },
      [&](void* work, int size) {
        return Invoke(name, mode, fill, c.n, c.at[0], c.leading[0], c.at[1], work, size, c.info, syevj_);
      });
}

absl::Status Solver::RunGeneralEigen(const Call& c) {
  const Lapack& l = c.l;
  const int type = DataTypeOf(l), complex = RealTypeOf(l) + 4;
  const int left = ModeOf(l.left), right = ModeOf(l.right_vectors);
  const auto leading = [&](size_t i) { return int64_t{c.leading[i]}; };
  return WithBytes(
      c,
      [&](size_t* device, size_t* host) {
        return Invoke("cusolverDnXgeev_bufferSize", params_, left, right, l.n, type, c.at[0], leading(0), complex,
                      c.at[1], type, c.at[2], leading(2), type, c.at[3], leading(3), type, device, host);
      },
      [&](void* work, size_t bytes, void* host, size_t host_bytes) {
        return Invoke("cusolverDnXgeev", params_, left, right, l.n, type, c.at[0], leading(0), complex, c.at[1], type,
                      c.at[2], leading(2), type, c.at[3], leading(3), type, work, bytes, host, host_bytes, c.info);
      });
}

}  // namespace wharf::device::cuda
