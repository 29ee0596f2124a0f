// PictureDecoder: JPEGs of strangers into pictures: in this process, or in one of their own that can do nothing else,
// so that a bug in the JPEG library costs the client that found it its session and nobody else anything.
#pragma once

#include <sys/types.h>

#include <memory>
#include <span>
#include <string>

#include "wharf/base/clock.h"
#include "wharf/base/sandbox/namespaces.h"
#include "wharf/base/status.h"
#include "wharf/base/subprocess/subprocess.h"
#include "wharf/scene/scene.h"

namespace wharf::ar {

// kInvalidArgument: no JPEG of that size, whatever it says of itself, or a damaged one. Its size is checked before
// memory is taken for its pixels.
absl::StatusOr<scene::Image> DecodePicture(std::span<const std::byte> jpeg, int width, int height);

// One client's. Not thread-safe.
class PictureDecoder {
 public:
  virtual ~PictureDecoder() = default;
  // As DecodePicture; kInternal: the decoder has died of it.
  virtual absl::StatusOr<scene::Image> Decode(std::span<const std::byte> jpeg, int width, int height) = 0;
};

std::unique_ptr<PictureDecoder> MakeLocalDecoder();

// Starts `program`, wharf-decode (decoder_main.cc), with its end of a socket as kDecoderDescriptor and nothing else of
// this process's, in name spaces of its own if `isolation` says so. It forbids itself all but computing, reading and
// writing (on x86-64 and ARM; where a sanitizer watches it, less), and memory beyond 512 MiB. A picture that takes
// longer than `patience` in all, or an answer that is none, is its death.
absl::StatusOr<std::unique_ptr<PictureDecoder>> StartDecoderProcess(const std::string& program,
                                                                    Isolation isolation = Isolation::kNone,
                                                                    Nanoseconds patience = std::chrono::seconds(10));

// Starts decoder processes for a server that may start none any more: a process of its own does, which was started
// before and knows nothing of clients. All of them end with it, but where it is killed: then each ends with its object.
// Another one may follow it. Thread-safe.
class DecoderStarter {
 public:
  struct Process {
    Subprocess process;  // ends when its socket is closed
    int socket = -1;     // for At
  };
  // Fails as StartDecoderProcess.
  static absl::StatusOr<Process> StartProcess(const std::string& program, Isolation isolation = Isolation::kNone);
  // Owns the socket.
  static std::unique_ptr<DecoderStarter> At(int socket);
  // Owns an end of a door (base/passed_descriptors.h) through which sockets to processes that follow one another come.
  static std::unique_ptr<DecoderStarter> Behind(int door);
  virtual ~DecoderStarter() = default;
  // As StartDecoderProcess; kUnavailable if the process is gone and no other has followed it.
  virtual absl::StatusOr<std::unique_ptr<PictureDecoder>> StartDecoder(
      Nanoseconds patience = std::chrono::seconds(10)) = 0;
};

inline constexpr int kDecoderDescriptor = 3;
// Its one argument, if it has name spaces of its own; then the next descriptor is for LeaveFileSystem.
inline constexpr const char* kIsolatedDecoder = "isolated";

}  // namespace wharf::ar
