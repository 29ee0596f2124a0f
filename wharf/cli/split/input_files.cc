#include "wharf/cli/split/input_files.h"

#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <span>
#include <utility>
#include <vector>

#include "wharf/cli/common/files.h"
#include "wharf/scene/source/source.h"
#include "wharf/split/codec/image_file.h"

namespace wharf::cli {
namespace {

namespace fs = std::filesystem;
using MaybePiece = absl::StatusOr<std::optional<InputPiece>>;

bool LooksLikeImage(const std::string& bytes) { return split::IsImage(std::as_bytes(std::span(bytes))); }

MaybePiece PieceOf(std::string name, std::string bytes, bool picture) {
  if (picture != LooksLikeImage(bytes)) {
    return InvalidArgument("{} is {} picture, and the first input was {}", name, picture ? "no" : "a",
                           picture ? "one" : "none");
  }
  InputPiece piece{std::move(name), std::move(bytes), std::nullopt};
  if (picture) {
    auto image = split::ReadImage(std::as_bytes(std::span(piece.bytes)));
    if (!image.ok()) return InvalidArgument("{}: {}", piece.name, Message(image.status()));
    piece.image = *std::move(image);
  }
  return piece;
}

// One file, or those of a folder by name.
class Files final : public InputFiles {
 public:
  Files(std::vector<std::string> paths, std::string first, bool many)
      : paths_(std::move(paths)), first_(std::move(first)), many_(many), pictures_(LooksLikeImage(first_)) {}
  bool Pictures() const override { return pictures_; }
  bool Many() const override { return many_; }
  MaybePiece Next(size_t /*raw_bytes*/) override {
    if (next_ == paths_.size()) return std::nullopt;
    const std::string& path = paths_[next_++];
    if (next_ == 1) return PieceOf(path, std::move(first_), pictures_);
    WHARF_ASSIGN_OR_RETURN(std::string bytes, ReadFile(path));
    return PieceOf(path, std::move(bytes), pictures_);
  }

 private:
  const std::vector<std::string> paths_;
  std::string first_;
  const bool many_, pictures_;
  size_t next_ = 0;
};

class Video final : public InputFiles {
 public:
  Video(std::string path, std::unique_ptr<scene::Source> source) : path_(std::move(path)), source_(std::move(source)) {}
  bool Pictures() const override { return true; }
  bool Many() const override { return true; }
  MaybePiece Next(size_t /*raw_bytes*/) override {
    WHARF_ASSIGN_OR_RETURN(auto frame, source_->Next());
    if (!frame) return std::nullopt;
    split::Image image{frame->image.width, frame->image.height, 3, std::move(frame->image.rgb)};
    return InputPiece{fmt::format("{} #{}", path_, frame->index + 1), "", std::move(image)};
  }

 private:
  const std::string path_;
  const std::unique_ptr<scene::Source> source_;
};

// Pieces of standard input.
class Stream final : public InputFiles {
 public:
  absl::Status Start() {
    constexpr size_t kMagic = 2;
    WHARF_RETURN_IF_ERROR(Fill(kMagic).status());
    if (buffer_.empty()) return InvalidArgument("nothing comes on standard input");
    pnm_ = buffer_.starts_with("P5") || buffer_.starts_with("P6");
    jpeg_ = buffer_.starts_with("\xff\xd8");
    if (buffer_.starts_with("\x89P"))
      return InvalidArgument("standard input: PNG; say JPEG or PNM (ffmpeg -c:v mjpeg)");
    return absl::OkStatus();
  }
  bool Pictures() const override { return pnm_ || jpeg_; }
  bool Many() const override { return true; }
  MaybePiece Next(size_t raw_bytes) override {
    const std::string name = fmt::format("standard input #{}", ++count_);
    WHARF_ASSIGN_OR_RETURN(const bool more, Fill(1));
    if (!more) return std::nullopt;
    absl::StatusOr<size_t> size = pnm_ ? PnmSize() : jpeg_ ? JpegSize() : absl::StatusOr<size_t>(raw_bytes);
    if (!size.ok()) return MakeStatus(size.status().code(), "{}: {}", name, Message(size.status()));
    WHARF_ASSIGN_OR_RETURN(const bool whole, Fill(*size));
    if (interrupted_) return std::nullopt;
    if (!whole) return DataLoss("{} ends after {} of {} bytes", name, buffer_.size(), *size);
    std::string piece = buffer_.substr(0, *size);
    buffer_.erase(0, *size);
    return PieceOf(name, std::move(piece), Pictures());
  }

 private:
  static constexpr size_t kMost = size_t{1} << 30;  // bytes of one input

  // Reads until so many bytes are there. False: they do not come.
  absl::StatusOr<bool> Fill(size_t wanted) {
    if (wanted > kMost) return InvalidArgument("one input of more than {} bytes", kMost);
    std::array<char, 1 << 16> block;
    while (buffer_.size() < wanted && !interrupted_) {
      const ssize_t count = read(STDIN_FILENO, block.data(), block.size());
      if (count == 0) return false;
      if (count < 0 && errno != EINTR) return ErrnoStatus(errno, "reading standard input");
      interrupted_ = count < 0;
      if (count > 0) buffer_.append(block.data(), static_cast<size_t>(count));
    }
    return !interrupted_;
  }
  // The byte at a place of the next piece; less than 0 at the end of the stream.
  absl::StatusOr<int> At(size_t place) {
    WHARF_ASSIGN_OR_RETURN(const bool there, Fill(place + 1));
    return there ? static_cast<unsigned char>(buffer_[place]) : -1;
  }
  // Width, height and the largest shade, with white space and comments between.
  absl::StatusOr<size_t> PnmSize() {
    std::array<size_t, 3> numbers = {};
    size_t place = 2;
    for (size_t& number : numbers) {
      bool comment = false, digits = false;
      for (;; ++place) {
        WHARF_ASSIGN_OR_RETURN(const int byte, At(place));
        if (byte < 0) return DataLoss("the header ends early");
        comment = comment ? byte != '\n' : byte == '#' && !digits;
        if (!comment && std::isdigit(byte) != 0) {
          number = 10 * number + static_cast<size_t>(byte - '0');
          digits = true;
          if (number > (1 << 16)) return InvalidArgument("a picture with a side or shade of {}", number);
        } else if (digits) {
          break;
        }
      }
    }
    const size_t channels = buffer_.starts_with("P6") ? 3 : 1, bytes = numbers[2] > 255 ? 2 : 1;
    return place + 1 + numbers[0] * numbers[1] * channels * bytes;
  }
  // Segments say how long they are; what follows the start of a scan goes on until a marker that is none of its own.
  absl::StatusOr<size_t> JpegSize() {
    constexpr int kEnd = 0xd9, kScan = 0xda, kFirstRestart = 0xd0, kLastRestart = 0xd7;
    size_t place = 2;
    for (bool in_scan = false;;) {
      WHARF_ASSIGN_OR_RETURN(const int lead, At(place));
      WHARF_ASSIGN_OR_RETURN(const int marker, At(place + 1));
      if (lead < 0 || marker < 0) return DataLoss("the picture ends early");
      const bool of_scan = in_scan && (lead != 0xff || marker == 0 || marker == 0xff ||
                                       (marker >= kFirstRestart && marker <= kLastRestart));
      if (of_scan) {
        ++place;
        continue;
      }
      if (lead != 0xff) return InvalidArgument("a damaged JPEG");
      if (marker == kEnd) return place + 2;
      WHARF_ASSIGN_OR_RETURN(const int high, At(place + 2));
      WHARF_ASSIGN_OR_RETURN(const int low, At(place + 3));
      if (low < 0) return DataLoss("the picture ends early");
      place += 2 + static_cast<size_t>(high) * 256 + static_cast<size_t>(low);
      in_scan = marker == kScan;
    }
  }

  std::string buffer_;
  bool pnm_ = false, jpeg_ = false, interrupted_ = false;
  int64_t count_ = 0;
};

absl::StatusOr<std::vector<std::string>> PathsIn(const std::string& folder) {
  std::vector<std::string> paths;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    if (it->is_regular_file() && !it->path().filename().string().starts_with(".")) paths.push_back(it->path().string());
  }
  if (error) return ErrnoStatus(error.value(), fmt::format("reading {}", folder));
  if (paths.empty()) return InvalidArgument("{} is a folder without files", folder);
  std::sort(paths.begin(), paths.end());
  return paths;
}

// Of a folder's files, all or none must be pictures: said before anything is computed.
absl::Status CheckAlike(const std::string& folder, const std::vector<std::string>& paths) {
  constexpr size_t kNamed = 3, kMagic = 16;
  std::vector<std::string> others;
  for (const std::string& path : paths) {
    std::string magic(kMagic, '\0');
    std::ifstream file(path, std::ios::binary);
    file.read(magic.data(), kMagic);
    magic.resize(static_cast<size_t>(file.gcount()));
    if (!LooksLikeImage(magic)) others.push_back(fs::path(path).filename().string());
  }
  if (others.empty() || others.size() == paths.size()) return absl::OkStatus();
  const size_t more = others.size() - std::min(others.size(), kNamed);
  others.resize(others.size() - more);
  return InvalidArgument("{} holds pictures, and files that are none: {}{}", folder, fmt::join(others, ", "),
                         more > 0 ? fmt::format(" and {} more", more) : "");
}

bool IsVideo(const std::string& path) {
  std::string extension = fs::path(path).extension().string();
  std::transform(extension.begin(), extension.end(), extension.begin(),
                 [](unsigned char c) { return std::tolower(c); });
  constexpr std::array<std::string_view, 8> kVideos = {".avi", ".m4v", ".mjpeg", ".mkv",
                                                       ".mov", ".mp4", ".mpg",   ".webm"};
  return std::find(kVideos.begin(), kVideos.end(), extension) != kVideos.end();
}

}  // namespace

absl::StatusOr<std::unique_ptr<InputFiles>> InputFiles::Open(const std::string& path) {
  if (path == "-") {
    auto stream = std::make_unique<Stream>();
    WHARF_RETURN_IF_ERROR(stream->Start());
    return stream;
  }
  if (IsVideo(path)) {
    WHARF_ASSIGN_OR_RETURN(scene::FileSource video, scene::OpenVideo(path, {}));
    return std::make_unique<Video>(path, std::move(video.source));
  }
  std::vector<std::string> paths = {path};
  const bool folder = fs::is_directory(path);
  if (folder) {
    WHARF_ASSIGN_OR_RETURN(paths, PathsIn(path));
    WHARF_RETURN_IF_ERROR(CheckAlike(path, paths));
  }
  WHARF_ASSIGN_OR_RETURN(std::string first, ReadFile(paths.front()));
  return std::make_unique<Files>(std::move(paths), std::move(first), folder);
}

}  // namespace wharf::cli
