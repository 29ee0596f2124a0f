#include "wharf/cudashim/client/texture/texture.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "wharf/cudashim/client/process.h"
#include "wharf/wire/goodbye.h"

namespace wharf::client {
namespace {

// What handles were made of; a session's numbers may come again in the next. Never destroyed, as arrays are not.
template <typename Params>
class Made {
 public:
  void Add(uint64_t handle, uint64_t generation, Params params) {
    std::lock_guard lock(mutex_);
    made_.insert_or_assign(handle, std::pair{generation, std::move(params)});
  }
  std::optional<Params> Find(uint64_t handle, uint64_t generation) {
    std::lock_guard lock(mutex_);
    const auto found = made_.find(handle);
    if (found == made_.end() || found->second.first != generation) return std::nullopt;
    return found->second.second;
  }
  bool Remove(uint64_t handle, uint64_t generation) {
    std::lock_guard lock(mutex_);
    const auto found = made_.find(handle);
    if (found == made_.end() || found->second.first != generation) return false;
    made_.erase(found);
    return true;
  }
  // Those that were removed.
  template <typename Predicate>
  std::vector<uint64_t> RemoveIf(uint64_t generation, Predicate predicate) {
    std::lock_guard lock(mutex_);
    std::vector<uint64_t> removed;
    std::erase_if(made_, [&](const auto& entry) {
      const bool gone = entry.second.first == generation && predicate(entry.second.second);
      if (gone) removed.push_back(entry.first);
      return gone;
    });
    return removed;
  }

 private:
  std::mutex mutex_;
  std::map<uint64_t, std::pair<uint64_t, Params>> made_;
};
Made<TextureParams>& MadeTextures() {
  static auto* made = new Made<TextureParams>;
  return *made;
}
Made<Resource>& MadeSurfaces() {
  static auto* made = new Made<Resource>;
  return *made;
}

CudaError NotSupported(const std::string& what) {
  static std::mutex mutex;
  static auto* told = new std::set<std::string>;
  std::lock_guard lock(mutex);
  if (told->insert(what).second) TellUser(fmt::format("not supported: {}", what));
  return CudaError::kNotSupported;
}

bool Fits32(uint64_t value) { return value <= UINT32_MAX; }

// Of a mipmapped array the first level, and how many there are. `none`: the error for what is no array.
CudaError ImageOf(const Resource& resource, CudaError none, device::ImageDescription* image, uint32_t* levels) {
  *levels = 1;
  if (resource.kind == device::ImageKind::kArray) {
    const std::shared_ptr<const Array> array = FindFirstLevel(resource.array, resource.mipmapped);
    if (array == nullptr) return none;
    const std::shared_ptr<const MipmappedArray> mipmapped = FindMipmappedArray(resource.mipmapped);
    if (mipmapped != nullptr) *levels = static_cast<uint32_t>(mipmapped->levels.size());
    *image = array->image;
    return CudaError::kSuccess;
  }
  const uint64_t texel = resource.format.TexelBytes();
  if (texel == 0 || resource.address % device::kTextureAlignment != 0) return CudaError::kInvalidValue;
  image->kind = resource.kind;
  image->format = resource.format;
  image->base = resource.address;
  const bool linear = resource.kind == device::ImageKind::kLinear;
  const uint64_t width = linear ? resource.bytes / texel : resource.width;
  if (!Fits32(width) || !Fits32(resource.height)) return CudaError::kInvalidValue;
  image->width = static_cast<uint32_t>(width);
  if (linear) return CudaError::kSuccess;
  image->height = static_cast<uint32_t>(resource.height);
  image->row_pitch = resource.pitch;
  return resource.pitch % device::kTexturePitchAlignment == 0 ? CudaError::kSuccess : CudaError::kInvalidValue;
}

// The format of a number below the compressed ones: kinds and widths in threes of 1, 2 and 4 channels.
constexpr int kFirstCompressed = 25;
device::ChannelFormat ViewFormat(int number) {
  using device::ChannelKind;
  constexpr std::pair<ChannelKind, uint8_t> kFormats[] = {{ChannelKind::kUnsigned, 8},  {ChannelKind::kSigned, 8},
                                                          {ChannelKind::kUnsigned, 16}, {ChannelKind::kSigned, 16},
                                                          {ChannelKind::kUnsigned, 32}, {ChannelKind::kSigned, 32},
                                                          {ChannelKind::kFloat, 16},    {ChannelKind::kFloat, 32}};
  const auto& [kind, bits] = kFormats[(number - 1) / 3];
  return {kind, bits, static_cast<uint8_t>(1 << (number - 1) % 3)};
}

// An array seen in another format, or some of its layers or levels.
CudaError ApplyView(const ResourceView& view, device::TextureDescription* texture) {
  device::ImageDescription* const image = &texture->image;
  uint32_t* const levels = &texture->mipmap.levels;
  if (view.format <= 0) return CudaError::kInvalidValue;
  if (view.format >= kFirstCompressed) return NotSupported("textures of compressed formats");
  const bool same_depth = view.depth == image->depth || (image->layered && view.depth == 0);
  if (view.width != image->width || view.height != image->height || !same_depth) return CudaError::kInvalidValue;
  // As a GPU's driver has it: of levels those that there are; an array without any has no others.
  const uint32_t last_level = *levels > 1 ? std::min(view.last_level, *levels - 1) : view.last_level;
  if (view.first_level > last_level || last_level >= *levels) return CudaError::kInvalidValue;
  const device::ChannelFormat format = ViewFormat(view.format);
  if (format.TexelBytes() != image->format.TexelBytes()) return CudaError::kInvalidValue;
  const bool all_layers = view.first_layer == 0 && view.last_layer + uint64_t{1} == image->Slices();
  if (*levels > 1 && image->layered && !all_layers) return NotSupported("views of some layers of mipmapped arrays");
  *image = device::LevelOf(*image, view.first_level);
  *levels = last_level - view.first_level + 1;
  image->format = format;
  if (!image->layered) {
    return view.first_layer == 0 && view.last_layer == 0 ? CudaError::kSuccess : CudaError::kInvalidValue;
  }
  if (image->cubemap) return NotSupported("views of layered cubes");
  if (view.first_layer > view.last_layer || view.last_layer >= image->Slices()) return CudaError::kInvalidValue;
  image->base += view.first_layer * image->slice_pitch;
  image->depth = view.last_layer - view.first_layer + 1;
  return CudaError::kSuccess;
}

CudaError ApplySampling(const Sampling& sampling, bool is_mipmapped, device::TextureDescription* texture) {
  using device::AddressMode;
  const auto is_one_of = [](int value, int count) { return value >= 0 && value < count; };
  for (const int mode : sampling.address) {
    if (!is_one_of(mode, 4)) return CudaError::kInvalidValue;
  }
  if (!is_one_of(sampling.filter, 2) || !is_one_of(sampling.mip_filter, 2)) return CudaError::kInvalidValue;
  const device::ImageDescription& image = texture->image;
  if (sampling.seamless && !image.cubemap) return CudaError::kInvalidValue;
  if (sampling.srgb) return NotSupported("textures that convert sRGB");
  texture->read = sampling.normalized_float ? device::ReadMode::kNormalizedFloat : device::ReadMode::kElement;
  texture->border = sampling.border;
  // What is fetched by integers has no filter, and nothing to normalize.
  if (image.kind == device::ImageKind::kLinear) return CudaError::kSuccess;
  texture->filter = static_cast<device::FilterMode>(sampling.filter);
  texture->normalized_coordinates = sampling.normalized_coordinates;
  const bool filtered = texture->filter == device::FilterMode::kLinear;
  if (sampling.seamless && filtered) return NotSupported("seamless filtering of cubes");
  const bool floats =
      image.format.kind == device::ChannelKind::kFloat || (sampling.normalized_float && image.format.bits != 32);
  if (filtered && !floats) return kInvalidFilterSetting;
  if (is_mipmapped) {
    if (!sampling.normalized_coordinates) return CudaError::kInvalidValue;
    device::Mipmap& mipmap = texture->mipmap;
    mipmap.filter = static_cast<device::FilterMode>(sampling.mip_filter);
    mipmap.bias = sampling.mip_bias;
    mipmap.lowest = sampling.min_level;
    mipmap.highest = sampling.max_level;
    if (mipmap.filter == device::FilterMode::kLinear && !floats) return kInvalidFilterSetting;
  }
  for (size_t i = 0; i < texture->address.size(); ++i) {
    const auto mode = static_cast<AddressMode>(sampling.address[i]);
    const bool repeats = mode == AddressMode::kWrap || mode == AddressMode::kMirror;
    const bool clamps = sampling.seamless || (repeats && !sampling.normalized_coordinates);
    texture->address[i] = clamps ? AddressMode::kClamp : mode;
  }
  return CudaError::kSuccess;
}

CudaError Describe(const TextureParams& params, device::TextureDescription* texture) {
  CudaError error = ImageOf(params.resource, CudaError::kInvalidValue, &texture->image, &texture->mipmap.levels);
  if (error == CudaError::kSuccess && params.view) error = ApplyView(*params.view, texture);
  const bool is_mipmapped = params.resource.mipmapped != nullptr;
  if (error == CudaError::kSuccess) error = ApplySampling(params.sampling, is_mipmapped, texture);
  if (error == CudaError::kSuccess && !device::CheckTexture(*texture).ok()) error = CudaError::kInvalidValue;
  return error;
}

// Waits for the handle. What the device has none of, it says.
template <typename Op>
CudaError AskForHandle(Connection& connection, const Op& op, typename Op::Reply* reply) {
  offload::ClientSession& session = *connection.session;
  const offload::ClientSession::RequestPtr request = session.Start(op);
  const CudaError error = session.Wait({&request, 1});
  if (error == CudaError::kNotSupported) return NotSupported(wire::LineOf(request->header.message));
  return error == CudaError::kSuccess ? session.DecodeReply(*request, *reply) : error;
}

}  // namespace

CudaError CreateTexture(TextureParams params, uint64_t* handle) {
  CudaError error = CudaError::kSuccess;
  Connection* const connection = Process::Get().Connect(&error);
  if (connection == nullptr) return error;
  if (handle == nullptr) return CudaError::kInvalidValue;
  if (params.resource.kind != device::ImageKind::kArray) params.view.reset();  // only arrays have views
  offload::CreateTexture op;
  offload::CreateTexture::Reply reply;
  error = Describe(params, &op.texture);
  if (error == CudaError::kSuccess) error = AskForHandle(*connection, op, &reply);
  if (error != CudaError::kSuccess) return error;
  MadeTextures().Add(reply.texture, connection->generation, params);
  *handle = reply.texture;
  return CudaError::kSuccess;
}

CudaError CreateSurface(const Resource& resource, uint64_t* handle) {
  CudaError error = CudaError::kSuccess;
  Connection* const connection = Process::Get().Connect(&error);
  if (connection == nullptr) return error;
  const bool is_array = resource.kind == device::ImageKind::kArray && resource.mipmapped == nullptr;
  if (handle == nullptr || !is_array) return CudaError::kInvalidValue;
  offload::CreateSurface op;
  offload::CreateSurface::Reply reply;
  uint32_t levels = 1;
  error = ImageOf(resource, CudaError::kInvalidHandle, &op.image, &levels);
  if (error != CudaError::kSuccess) return error;
  error = AskForHandle(*connection, op, &reply);
  if (error != CudaError::kSuccess) return error;
  MadeSurfaces().Add(reply.surface, connection->generation, resource);
  *handle = reply.surface;
  return CudaError::kSuccess;
}

CudaError DestroyTexture(uint64_t handle) {
  CudaError error = CudaError::kSuccess;
  Connection* const connection = Process::Get().Connect(&error);
  if (connection == nullptr) return error;
  if (!MadeTextures().Remove(handle, connection->generation)) return CudaError::kSuccess;
  return connection->session->Post(offload::DestroyTexture{handle});
}

CudaError DestroySurface(uint64_t handle) {
  CudaError error = CudaError::kSuccess;
  Connection* const connection = Process::Get().Connect(&error);
  if (connection == nullptr) return error;
  if (!MadeSurfaces().Remove(handle, connection->generation)) return CudaError::kSuccess;
  return connection->session->Post(offload::DestroySurface{handle});
}

void DestroySurfacesOver(ArrayHandle array) {
  CudaError error = CudaError::kSuccess;
  Connection* const connection = Process::Get().Connect(&error);
  if (connection == nullptr) return;
  const auto is_over = [array](const Resource& resource) { return resource.array == array; };
  for (const uint64_t handle : MadeSurfaces().RemoveIf(connection->generation, is_over)) {
    connection->session->Post(offload::DestroySurface{handle});  // the session's error is the next call's
  }
}

CudaError ReadTexture(uint64_t handle, TextureParams* params) {
  CudaError error = CudaError::kSuccess;
  Connection* const connection = Process::Get().Connect(&error);
  if (connection == nullptr) return error;
  const std::optional<TextureParams> found = MadeTextures().Find(handle, connection->generation);
  if (!found) return CudaError::kInvalidValue;
  *params = *found;
  return CudaError::kSuccess;
}

CudaError ReadSurface(uint64_t handle, Resource* resource) {
  CudaError error = CudaError::kSuccess;
  Connection* const connection = Process::Get().Connect(&error);
  if (connection == nullptr) return error;
  const std::optional<Resource> found = MadeSurfaces().Find(handle, connection->generation);
  if (!found) return CudaError::kInvalidValue;
  *resource = *found;
  return CudaError::kSuccess;
}

}  // namespace wharf::client
