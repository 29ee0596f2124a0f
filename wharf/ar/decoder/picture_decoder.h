// PictureDecoder: JPEGs of strangers into pictures: in this process, or in one of their own that can do nothing else,
// so that a bug in the JPEG library costs the client that found it its session and nobody else anything.
#pragma once

#include <sys/types.h>

#include <memory>
#include <span>
#include <string>

#include "wharf/base/clock.h"
#include "wharf/base/status.h"
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
// this process's. It forbids itself all but computing, reading and writing (on x86-64 and ARM; where a sanitizer
// watches it, less), and memory beyond 512 MiB. A picture that takes longer than `patience` is its death.
absl::StatusOr<std::unique_ptr<PictureDecoder>> StartDecoderProcess(const std::string& program,
                                                                    Nanoseconds patience = std::chrono::seconds(10));

inline constexpr int kDecoderDescriptor = 3;

}  // namespace wharf::ar
