// Textures and surfaces: calls into the runtime, each for one thread.
#include <bit>
#include <span>
#include <vector>

#include "wharf/device/soft/codegen/function.h"

namespace wharf::device::soft {

void FunctionCodegen::AddTextureHandlers(std::map<std::string_view, Handler>* handlers) {
  handlers->insert({{"tex", &FunctionCodegen::Tex},
                    {"tld4", &FunctionCodegen::Tld4},
                    {"txq", &FunctionCodegen::Txq},
                    {"suq", &FunctionCodegen::Suq},
                    {"suld", &FunctionCodegen::Suld},
                    {"sust", &FunctionCodegen::Sust}});
}

bool FunctionCodegen::TakeGeometry(ImageShape* shape) {
  const std::string_view name = modifiers_.TakeOneOf({"1d", "2d", "3d", "a1d", "a2d", "cube", "acube"});
  if (name.empty()) {
    Unsupported("this geometry");
    return false;
  }
  shape->layered = name[0] == 'a';
  const std::string_view plain = name.substr(shape->layered ? 1 : 0);
  shape->geometry = plain == "1d"   ? ImageGeometry::k1D
                    : plain == "2d" ? ImageGeometry::k2D
                    : plain == "3d" ? ImageGeometry::k3D
                                    : ImageGeometry::kCube;
  return true;
}

// [image, {coordinates}], the layer first; more coordinates than the geometry has are padding.
bool FunctionCodegen::ReadImageAddress(const ptx::Operand& operand, const ImageShape& shape, Type coordinate,
                                       ImageAddress* address) {
  auto* list = std::get_if<ptx::VectorOperand>(&operand.value);
  if (list == nullptr || list->elements.empty()) {
    Malformed("no coordinates");
    return false;
  }
  if (!ReadImageHandle(list->elements[0], address)) return false;
  std::vector<const ptx::Operand*> coordinates;
  for (size_t i = 1; i < list->elements.size(); ++i) {
    auto* vector = std::get_if<ptx::VectorOperand>(&list->elements[i].value);
    if (vector == nullptr) {
      coordinates.push_back(&list->elements[i]);
      continue;
    }
    for (const ptx::Operand& element : vector->elements) coordinates.push_back(&element);
  }
  const size_t first = shape.layered ? 1 : 0;
  const size_t dimensions = shape.geometry == ImageGeometry::kCube ? 3 : static_cast<size_t>(shape.geometry) + 1;
  if (coordinates.size() < first + dimensions || coordinates.size() > 4) {
    Malformed("wrong number of coordinates");
    return false;
  }
  address->layer = shape.layered ? Read(*coordinates[0], Type::kU32) : b_.getInt32(0);
  for (size_t d = 0; d < 3; ++d) {
    address->at[d] = d < dimensions ? ToBits(Read(*coordinates[first + d], coordinate)) : b_.getInt32(0);
  }
  return !failed();
}

// A register or a kernel's parameter holds the handle; names are those of the old texture references.
bool FunctionCodegen::ReadImageHandle(const ptx::Operand& operand, ImageAddress* address) {
  auto* place = std::get_if<ptx::AddressOperand>(&operand.value);
  auto* reg = place == nullptr ? nullptr : std::get_if<ptx::RegisterOperand>(&place->base);
  if (reg == nullptr || place->offset != 0) {
    Unsupported("texture and surface references");
    return false;
  }
  llvm::AllocaInst* slot = registers_.at(reg->index);
  if (!slot->getAllocatedType()->isIntegerTy(64)) {
    Malformed("a handle has 64 bits");
    return false;
  }
  address->handle = b_.CreateLoad(slot->getAllocatedType(), slot);
  return true;
}

llvm::Value* FunctionCodegen::CallImage(std::string_view name, uint32_t what, const ImageAddress& address,
                                        Value* level) {
  llvm::Type *i32 = b_.getInt32Ty(), *i64 = b_.getInt64Ty();
  std::vector<llvm::Type*> types{b_.getPtrTy(), i64, i32, i32, i32, i32, i32};
  std::vector<Value*> arguments{function_->getArg(kBlockArgument),
                                address.handle,
                                b_.getInt32(what),
                                address.layer,
                                address.at[0],
                                address.at[1],
                                address.at[2]};
  if (level != nullptr) {
    types.push_back(b_.getFloatTy());
    arguments.push_back(level);
  }
  return b_.CreateCall(module_.External(name, llvm::StructType::get(i64, i64), types), arguments);
}

// A level of detail has the type of the coordinates.
llvm::Value* FunctionCodegen::ReadLevel(const ptx::Operand& operand, Type coordinate) {
  Value* level = Read(operand, coordinate);
  return coordinate == Type::kF32 ? level : b_.CreateSIToFP(level, b_.getFloatTy());
}

// Operands `first` and the next: vectors of at least the geometry's dimensions; of lines they may be numbers. Null if
// not.
llvm::Value* FunctionCodegen::LevelByGradients(size_t first, uint32_t fetch, const ImageShape& shape,
                                               const ImageAddress& address) {
  llvm::Type *i32 = b_.getInt32Ty(), *f32 = b_.getFloatTy();
  std::vector<llvm::Type*> types{b_.getPtrTy(), b_.getInt64Ty(), i32, i32, i32, i32, f32, f32, f32, f32, f32, f32};
  std::vector<Value*> arguments{function_->getArg(kBlockArgument),
                                address.handle,
                                b_.getInt32(fetch),
                                address.at[0],
                                address.at[1],
                                address.at[2]};
  const size_t dimensions = shape.geometry == ImageGeometry::kCube ? 3 : static_cast<size_t>(shape.geometry) + 1;
  for (const size_t at : {first, first + 1}) {
    auto* vector = std::get_if<ptx::VectorOperand>(&Op(at).value);
    const std::span<const ptx::Operand> steps =
        vector != nullptr ? std::span<const ptx::Operand>(vector->elements) : std::span(&Op(at), 1);
    if (steps.size() < dimensions || steps.size() > 4) {
      Malformed("wrong number of gradients");
      return nullptr;
    }
    for (size_t d = 0; d < 3; ++d) {
      arguments.push_back(d < dimensions ? Read(steps[d], Type::kF32) : llvm::ConstantFP::get(f32, 0));
    }
  }
  return b_.CreateCall(module_.External("wharf_texture_level", f32, types), arguments);
}

// Element `index` of `bits` bits each, in the two halves that a call returned.
llvm::Value* FunctionCodegen::TexelElement(Value* halves, uint32_t index, uint32_t bits) {
  const uint32_t at = index * bits;
  Value* half = b_.CreateExtractValue(halves, at / 64);
  return b_.CreateTrunc(b_.CreateLShr(half, at % 64), b_.getIntNTy(bits));
}

// tex{.base,.level,.grad}.geometry.v4.type.type d{|p}, [a, c] {, level or gradients}: of level 0 unless it says
// another.
void FunctionCodegen::Tex() { Fetch(/*gather=*/false); }

// tld4.component.geometry.v4.type.f32 d{|p}, [a, c]
void FunctionCodegen::Tld4() { Fetch(/*gather=*/true); }

void FunctionCodegen::Fetch(bool gather) {
  TextureFetch fetch;
  std::string_view level;
  if (gather) {
    const std::string_view component = modifiers_.TakeOneOf({"r", "g", "b", "a"});
    if (component.empty()) return Malformed("no component");
    fetch.component = static_cast<uint8_t>(std::string_view("rgba").find(component));
  } else {
    level = modifiers_.TakeOneOf({"base", "level", "grad"});
  }
  ImageShape shape;
  if (!TakeGeometry(&shape)) return;
  if (gather && shape.geometry != ImageGeometry::k2D && shape.geometry != ImageGeometry::kCube) {
    return Malformed("no such gather");
  }
  if (!modifiers_.Take("v4")) return Unsupported("fetches of other than four channels");
  const Type type = TypeOrFail(), coordinate = TypeOrFail();
  if ((type != Type::kF32 && type != Type::kS32 && type != Type::kU32) ||
      (coordinate != Type::kF32 && (coordinate != Type::kS32 || gather))) {
    return Unsupported("a fetch of these types");
  }
  const bool resident = Count() >= 2 && Op(1).after_bar;
  const size_t at = resident ? 2 : 1;
  // More operands are offsets, and depths to compare with.
  const size_t count = at + 1 + (level == "level" ? 1 : level == "grad" ? 2 : 0);
  if (Count() != count) return Unsupported("a fetch with these operands");
  fetch.geometry = shape.geometry;
  fetch.integer = coordinate == Type::kS32;
  if (fetch.integer && shape.geometry == ImageGeometry::kCube) return Malformed("cubes are fetched by directions");
  ImageAddress address;
  if (!ReadImageAddress(Op(at), shape, coordinate, &address)) return;
  auto* elements = std::get_if<ptx::VectorOperand>(&Op(0).value);
  if (elements == nullptr || elements->elements.size() != 4) return Malformed("wrong number of elements");
  const auto bits = std::bit_cast<uint32_t>(fetch);
  if (level == "grad" && fetch.integer) return Malformed("gradients are of floats");
  Value* detail = nullptr;
  if (level == "level") detail = ReadLevel(Op(at + 1), coordinate);
  if (level == "grad") detail = LevelByGradients(at + 1, bits, shape, address);
  if (failed()) return;
  const std::string_view name = gather              ? "wharf_texture_gather"
                                : detail != nullptr ? "wharf_texture_fetch_level"
                                                    : "wharf_texture_fetch";
  Value* halves = CallImage(name, bits, address, detail);
  for (uint32_t c = 0; c < 4; ++c) {
    Write(elements->elements[c], type, b_.CreateBitCast(TexelElement(halves, c, 32), Llvm(type)));
  }
  if (resident) Write(Op(1), Type::kPred, b_.getTrue());  // all of it is there
}

// txq.query.b32 d, [a]
void FunctionCodegen::Txq() { QueryImage(/*surface=*/false); }
void FunctionCodegen::Suq() { QueryImage(/*surface=*/true); }

void FunctionCodegen::QueryImage(bool surface) {
  static constexpr std::pair<std::string_view, ImageQuery> kQueries[] = {
      {"width", ImageQuery::kWidth},
      {"height", ImageQuery::kHeight},
      {"depth", ImageQuery::kDepth},
      {"array_size", ImageQuery::kArraySize},
      {"normalized_coords", ImageQuery::kNormalizedCoordinates},
      {"num_mipmap_levels", ImageQuery::kLevels},
      {"num_samples", ImageQuery::kSamples}};
  for (const auto& [name, query] : kQueries) {
    if ((surface && query > ImageQuery::kArraySize) || !modifiers_.Take(name)) continue;
    const Type type = TypeOrFail();
    if (type != Type::kB32) return Malformed("a query has 32 bits");
    ImageAddress address;
    if (!Expect(2) || !ReadImageHandle(Op(1), &address)) return;
    llvm::Type* i32 = b_.getInt32Ty();
    auto callee = module_.External("wharf_image_query", i32, {b_.getPtrTy(), b_.getInt64Ty(), i32, i32});
    return Result(type, b_.CreateCall(callee, {function_->getArg(kBlockArgument), address.handle,
                                               b_.getInt32(static_cast<uint32_t>(query)), b_.getInt32(surface)}));
  }
  Unsupported("this query");
}

// What suld.b and sust.b have in common: false if they are not understood.
bool FunctionCodegen::TakeSurfaceAccess(SurfaceAccess* access, ImageShape* shape, Type* type, uint32_t* count) {
  if (!modifiers_.Take("b")) {
    Unsupported("formatted access to surfaces");
    return false;
  }
  if (!TakeGeometry(shape)) return false;
  TakeCacheHints();
  *count = TakeVector();
  *type = TypeOrFail();
  const std::string_view bounds = modifiers_.TakeOneOf({"trap", "clamp", "zero"});
  const uint32_t bytes = ptx::SizeOf(*type) * *count;
  if (!IsUntyped(*type) || bounds.empty() || bytes > 16 || shape->geometry == ImageGeometry::kCube) {
    Malformed("no such access to surfaces");
    return false;
  }
  access->geometry = shape->geometry;
  access->bounds = bounds == "trap"    ? SurfaceBounds::kTrap
                   : bounds == "clamp" ? SurfaceBounds::kClamp
                                       : SurfaceBounds::kZero;
  access->bytes = static_cast<uint8_t>(bytes);
  return true;
}

// The elements of `{a, b}`, or the one of `a`; none if they are not `count`.
std::vector<const ptx::Operand*> FunctionCodegen::Elements(const ptx::Operand& operand, uint32_t count) {
  std::vector<const ptx::Operand*> elements;
  if (auto* vector = std::get_if<ptx::VectorOperand>(&operand.value)) {
    for (const ptx::Operand& element : vector->elements) elements.push_back(&element);
  } else {
    elements.push_back(&operand);
  }
  if (elements.size() == count) return elements;
  Malformed("wrong number of elements");
  return {};
}

// suld.b.geometry{.vector}.type.bounds d, [a, b]
void FunctionCodegen::Suld() {
  SurfaceAccess access;
  ImageShape shape;
  ImageAddress address;
  Type type = Type::kNone;
  uint32_t count = 0;
  if (!TakeSurfaceAccess(&access, &shape, &type, &count) || !Expect(2)) return;
  const std::vector<const ptx::Operand*> elements = Elements(Op(0), count);
  if (elements.empty() || !ReadImageAddress(Op(1), shape, Type::kB32, &address)) return;
  Value* halves = CallImage("wharf_surface_load", std::bit_cast<uint32_t>(access), address);
  for (uint32_t i = 0; i < count; ++i) Write(*elements[i], type, TexelElement(halves, i, BitsOf(type)));
}

// sust.b.geometry{.vector}.type.bounds [a, b], c
void FunctionCodegen::Sust() {
  SurfaceAccess access;
  ImageShape shape;
  ImageAddress address;
  Type type = Type::kNone;
  uint32_t count = 0;
  if (!TakeSurfaceAccess(&access, &shape, &type, &count) || !Expect(2)) return;
  const std::vector<const ptx::Operand*> elements = Elements(Op(1), count);
  if (elements.empty() || !ReadImageAddress(Op(0), shape, Type::kB32, &address)) return;
  llvm::Type *i32 = b_.getInt32Ty(), *i64 = b_.getInt64Ty();
  Value* halves[] = {b_.getInt64(0), b_.getInt64(0)};
  for (uint32_t i = 0; i < count; ++i) {
    const uint32_t at = i * BitsOf(type);
    Value* element = b_.CreateZExt(Read(*elements[i], type), i64);
    halves[at / 64] = b_.CreateOr(halves[at / 64], b_.CreateShl(element, at % 64));
  }
  auto callee =
      module_.External("wharf_surface_store", b_.getVoidTy(), {b_.getPtrTy(), i64, i32, i32, i32, i32, i32, i64, i64});
  b_.CreateCall(callee,
                {function_->getArg(kBlockArgument), address.handle, b_.getInt32(std::bit_cast<uint32_t>(access)),
                 address.layer, address.at[0], address.at[1], address.at[2], halves[0], halves[1]});
}

}  // namespace wharf::device::soft
