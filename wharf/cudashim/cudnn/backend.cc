#include "wharf/cudashim/cudnn/backend.h"

#include <algorithm>
#include <cstring>

namespace wharf::cudashim {
namespace {

// Programs that want floats as they are take an engine that does not say it has tensor cores, and such as want the same
// results each time one that does not say it gives others, as PyTorch does. What is computed here is always the same.
constexpr int64_t kExactEngine = 1, kDeterministicEngine = 2;  // bits of an engine's number
constexpr int64_t kEngines = 2, kPassedEngines = 4;

int64_t EnginesOf(const Plan& plan) {
  return std::holds_alternative<device::DnnGraph>(plan.primitive) ? kPassedEngines : kEngines;
}
bool IsDeterministic(const Plan& plan, int64_t engine) {
  return EnginesOf(plan) == kEngines || (engine & kDeterministicEngine) != 0;
}

std::shared_ptr<const Plan> OfEngine(const Plan& plan, int64_t engine) {
  auto chosen = std::make_shared<Plan>(plan);
  const bool tensor_cores = (engine & kExactEngine) == 0;
  if (auto* const convolution = std::get_if<device::Convolution>(&chosen->primitive)) convolution->tf32 = tensor_cores;
  if (auto* const graph = std::get_if<device::DnnGraph>(&chosen->primitive)) {
    graph->tensor_cores = tensor_cores;
    graph->deterministic = IsDeterministic(plan, engine);
  }
  return chosen;
}

constexpr int64_t kMostElements = 1 << 12;

// An attribute that a descriptor of `owner` may have: its type, how many elements, and whether it must be there.
struct Rule {
  cudnnBackendDescriptorType_t owner;
  cudnnBackendAttributeName_t name;
  cudnnBackendAttributeType_t type;
  int64_t least, most;
  bool required;
};
constexpr int64_t kSpatial = device::kSpatialDims;
constexpr int64_t kMany = kMostElements;
constexpr Rule kRules[] = {
#define WHARF_RULE(owner, name, type, least, most, required) \
  { CUDNN_BACKEND_##owner##_DESCRIPTOR, CUDNN_ATTR_##name, CUDNN_TYPE_##type, least, most, required }
    WHARF_RULE(TENSOR, TENSOR_DATA_TYPE, DATA_TYPE, 1, 1, true),
    WHARF_RULE(TENSOR, TENSOR_DIMENSIONS, INT64, 1, CUDNN_DIM_MAX, true),
    WHARF_RULE(TENSOR, TENSOR_STRIDES, INT64, 1, CUDNN_DIM_MAX, true),
    WHARF_RULE(TENSOR, TENSOR_UNIQUE_ID, INT64, 1, 1, true),
    WHARF_RULE(TENSOR, TENSOR_BYTE_ALIGNMENT, INT64, 1, 1, true),
    WHARF_RULE(TENSOR, TENSOR_IS_VIRTUAL, BOOLEAN, 1, 1, false),
    WHARF_RULE(TENSOR, TENSOR_IS_BY_VALUE, BOOLEAN, 1, 1, false),
    WHARF_RULE(TENSOR, TENSOR_VECTOR_COUNT, INT64, 1, 1, false),
    WHARF_RULE(TENSOR, TENSOR_VECTORIZED_DIMENSION, INT64, 1, 1, false),
    WHARF_RULE(TENSOR, TENSOR_REORDERING_MODE, TENSOR_REORDERING_MODE, 1, 1, false),
    WHARF_RULE(CONVOLUTION, CONVOLUTION_COMP_TYPE, DATA_TYPE, 1, 1, true),
    WHARF_RULE(CONVOLUTION, CONVOLUTION_CONV_MODE, CONVOLUTION_MODE, 1, 1, true),
    WHARF_RULE(CONVOLUTION, CONVOLUTION_SPATIAL_DIMS, INT64, 1, 1, false),
    WHARF_RULE(CONVOLUTION, CONVOLUTION_DILATIONS, INT64, 1, kSpatial, true),
    WHARF_RULE(CONVOLUTION, CONVOLUTION_FILTER_STRIDES, INT64, 1, kSpatial, true),
    WHARF_RULE(CONVOLUTION, CONVOLUTION_PRE_PADDINGS, INT64, 1, kSpatial, true),
    WHARF_RULE(CONVOLUTION, CONVOLUTION_POST_PADDINGS, INT64, 1, kSpatial, true),
    WHARF_RULE(POINTWISE, POINTWISE_MODE, POINTWISE_MODE, 1, 1, true),
    WHARF_RULE(POINTWISE, POINTWISE_MATH_PREC, DATA_TYPE, 1, 1, true),
    WHARF_RULE(POINTWISE, POINTWISE_NAN_PROPAGATION, NAN_PROPOGATION, 1, 1, false),
    WHARF_RULE(POINTWISE, POINTWISE_RELU_LOWER_CLIP, DOUBLE, 1, 1, false),
    WHARF_RULE(POINTWISE, POINTWISE_RELU_UPPER_CLIP, DOUBLE, 1, 1, false),
    WHARF_RULE(POINTWISE, POINTWISE_RELU_LOWER_CLIP_SLOPE, DOUBLE, 1, 1, false),
    WHARF_RULE(POINTWISE, POINTWISE_ELU_ALPHA, DOUBLE, 1, 1, false),
    WHARF_RULE(POINTWISE, POINTWISE_SOFTPLUS_BETA, DOUBLE, 1, 1, false),
    WHARF_RULE(POINTWISE, POINTWISE_SWISH_BETA, DOUBLE, 1, 1, false),
    WHARF_RULE(POINTWISE, POINTWISE_AXIS, INT64, 1, 1, false),
    WHARF_RULE(OPERATION_CONVOLUTION_FORWARD, OPERATION_CONVOLUTION_FORWARD_X, BACKEND_DESCRIPTOR, 1, 1, true),
    WHARF_RULE(OPERATION_CONVOLUTION_FORWARD, OPERATION_CONVOLUTION_FORWARD_W, BACKEND_DESCRIPTOR, 1, 1, true),
    WHARF_RULE(OPERATION_CONVOLUTION_FORWARD, OPERATION_CONVOLUTION_FORWARD_Y, BACKEND_DESCRIPTOR, 1, 1, true),
    WHARF_RULE(OPERATION_CONVOLUTION_FORWARD, OPERATION_CONVOLUTION_FORWARD_CONV_DESC, BACKEND_DESCRIPTOR, 1, 1, true),
    WHARF_RULE(OPERATION_CONVOLUTION_FORWARD, OPERATION_CONVOLUTION_FORWARD_ALPHA, FLOAT, 1, 1, false),
    WHARF_RULE(OPERATION_CONVOLUTION_FORWARD, OPERATION_CONVOLUTION_FORWARD_BETA, FLOAT, 1, 1, false),
    WHARF_RULE(OPERATION_CONVOLUTION_BACKWARD_DATA, OPERATION_CONVOLUTION_BWD_DATA_DX, BACKEND_DESCRIPTOR, 1, 1, true),
    WHARF_RULE(OPERATION_CONVOLUTION_BACKWARD_DATA, OPERATION_CONVOLUTION_BWD_DATA_W, BACKEND_DESCRIPTOR, 1, 1, true),
    WHARF_RULE(OPERATION_CONVOLUTION_BACKWARD_DATA, OPERATION_CONVOLUTION_BWD_DATA_DY, BACKEND_DESCRIPTOR, 1, 1, true),
    WHARF_RULE(OPERATION_CONVOLUTION_BACKWARD_DATA, OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC, BACKEND_DESCRIPTOR, 1, 1,
               true),
    WHARF_RULE(OPERATION_CONVOLUTION_BACKWARD_DATA, OPERATION_CONVOLUTION_BWD_DATA_ALPHA, FLOAT, 1, 1, false),
    WHARF_RULE(OPERATION_CONVOLUTION_BACKWARD_DATA, OPERATION_CONVOLUTION_BWD_DATA_BETA, FLOAT, 1, 1, false),
    WHARF_RULE(OPERATION_POINTWISE, OPERATION_POINTWISE_PW_DESCRIPTOR, BACKEND_DESCRIPTOR, 1, 1, true),
    WHARF_RULE(OPERATION_POINTWISE, OPERATION_POINTWISE_XDESC, BACKEND_DESCRIPTOR, 1, 1, true),
    WHARF_RULE(OPERATION_POINTWISE, OPERATION_POINTWISE_BDESC, BACKEND_DESCRIPTOR, 1, 1, false),
    WHARF_RULE(OPERATION_POINTWISE, OPERATION_POINTWISE_YDESC, BACKEND_DESCRIPTOR, 1, 1, true),
    WHARF_RULE(OPERATION_POINTWISE, OPERATION_POINTWISE_ALPHA1, FLOAT, 1, 1, false),
    WHARF_RULE(OPERATION_POINTWISE, OPERATION_POINTWISE_ALPHA2, FLOAT, 1, 1, false),
    WHARF_RULE(OPERATIONGRAPH, OPERATIONGRAPH_HANDLE, HANDLE, 1, 1, false),
    WHARF_RULE(OPERATIONGRAPH, OPERATIONGRAPH_OPS, BACKEND_DESCRIPTOR, 1, kMany, true),
    WHARF_RULE(OPERATIONGRAPH, OPERATIONGRAPH_IS_DYNAMIC_SHAPE_ENABLED, BOOLEAN, 1, 1, false),
    WHARF_RULE(ENGINEHEUR, ENGINEHEUR_OPERATION_GRAPH, BACKEND_DESCRIPTOR, 1, 1, true),
    WHARF_RULE(ENGINEHEUR, ENGINEHEUR_MODE, HEUR_MODE, 1, 1, true),
    WHARF_RULE(ENGINEHEUR, ENGINEHEUR_SM_COUNT_TARGET, INT32, 1, 1, false),
    WHARF_RULE(ENGINE, ENGINE_OPERATION_GRAPH, BACKEND_DESCRIPTOR, 1, 1, true),
    WHARF_RULE(ENGINE, ENGINE_GLOBAL_INDEX, INT64, 1, 1, true),
    WHARF_RULE(ENGINE, ENGINE_SM_COUNT_TARGET, INT32, 1, 1, false),
    WHARF_RULE(ENGINECFG, ENGINECFG_ENGINE, BACKEND_DESCRIPTOR, 1, 1, true),
    WHARF_RULE(ENGINECFG, ENGINECFG_KNOB_CHOICES, BACKEND_DESCRIPTOR, 0, kMany, false),
    WHARF_RULE(KNOB_CHOICE, KNOB_CHOICE_KNOB_TYPE, KNOB_TYPE, 1, 1, true),
    WHARF_RULE(KNOB_CHOICE, KNOB_CHOICE_KNOB_VALUE, INT64, 1, 1, true),
    WHARF_RULE(EXECUTION_PLAN, EXECUTION_PLAN_HANDLE, HANDLE, 1, 1, false),
    WHARF_RULE(EXECUTION_PLAN, EXECUTION_PLAN_ENGINE_CONFIG, BACKEND_DESCRIPTOR, 1, 1, true),
    WHARF_RULE(VARIANT_PACK, VARIANT_PACK_UNIQUE_IDS, INT64, 0, kMany, true),
    WHARF_RULE(VARIANT_PACK, VARIANT_PACK_DATA_POINTERS, VOID_PTR, 0, kMany, true),
    WHARF_RULE(VARIANT_PACK, VARIANT_PACK_WORKSPACE, VOID_PTR, 1, 1, false),
#undef WHARF_RULE
};

const Rule* RuleFor(cudnnBackendDescriptorType_t owner, cudnnBackendAttributeName_t name) {
  const auto* const found = std::find_if(std::begin(kRules), std::end(kRules),
                                         [&](const Rule& rule) { return rule.owner == owner && rule.name == name; });
  return found == std::end(kRules) ? nullptr : found;
}

// Scales are FLOAT or DOUBLE, whatever the tensors.
bool Fits(cudnnBackendAttributeType_t wanted, cudnnBackendAttributeType_t given) {
  return wanted == given || (wanted == CUDNN_TYPE_FLOAT && given == CUDNN_TYPE_DOUBLE) ||
         (wanted == CUDNN_TYPE_DOUBLE && given == CUDNN_TYPE_FLOAT);
}

// Whether descriptors of this type are of a graph and its operations, rather than of engines and plans.
bool IsPartOfGraph(cudnnBackendDescriptorType_t type) {
  switch (static_cast<int>(type)) {
    case CUDNN_BACKEND_ENGINE_DESCRIPTOR:
    case CUDNN_BACKEND_ENGINECFG_DESCRIPTOR:
    case CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR:
    case CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR:
    case CUDNN_BACKEND_INTERMEDIATE_INFO_DESCRIPTOR:
    case CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR:
    case CUDNN_BACKEND_KNOB_INFO_DESCRIPTOR:
    case CUDNN_BACKEND_LAYOUT_INFO_DESCRIPTOR:
    case CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR:
    case 28:  // signals between GPUs; the caches of kernels; descriptions of devices that are not there
    case 34:
    case 38:
      return false;
    default:
      return type >= 0;
  }
}

// Of descriptors that only pass, any attribute; of those that are known, such as belong to them. The vendor numbers
// them by hundreds.
bool MayPass(cudnnBackendDescriptorType_t owner, cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type) {
  if (!IsPartOfGraph(owner) || BytesOf(type) == 0) return false;
  bool known = false, related = false;
  for (const Rule& rule : kRules) {
    if (rule.owner != owner) continue;
    known = true;
    related = related || rule.name / 100 == name / 100;
  }
  return related || !known;
}

// One that such descriptors do not have, or have and are not known to have here. The vendor numbers them by hundreds.
DnnStatus UnknownAttribute(cudnnBackendDescriptorType_t owner, cudnnBackendAttributeName_t name) {
  const bool related = std::any_of(std::begin(kRules), std::end(kRules), [&](const Rule& rule) {
    return rule.owner == owner && rule.name / 100 == name / 100;
  });
  std::string why = "attribute " + std::to_string(name) + " of a descriptor of type " + std::to_string(owner);
  return related ? Refused(std::move(why)) : BadParameter(std::move(why));
}

DnnStatus NotFinalized(const char* what) { return {CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED, what}; }

}  // namespace

bool IsKnown(cudnnBackendDescriptorType_t type) {
  return IsPartOfGraph(type) ||
         std::any_of(std::begin(kRules), std::end(kRules), [&](const Rule& rule) { return rule.owner == type; });
}

size_t BytesOf(cudnnBackendAttributeType_t type) {
  switch (static_cast<int>(type)) {
    case CUDNN_TYPE_HANDLE:
    case CUDNN_TYPE_INT64:
    case CUDNN_TYPE_DOUBLE:
    case CUDNN_TYPE_VOID_PTR:
    case CUDNN_TYPE_BACKEND_DESCRIPTOR:
      return 8;
    case CUDNN_TYPE_BOOLEAN:
      return sizeof(bool);
    case CUDNN_TYPE_DATA_TYPE:
    case CUDNN_TYPE_FLOAT:
    case CUDNN_TYPE_CONVOLUTION_MODE:
    case CUDNN_TYPE_HEUR_MODE:
    case CUDNN_TYPE_KNOB_TYPE:
    case CUDNN_TYPE_NAN_PROPOGATION:
    case CUDNN_TYPE_NUMERICAL_NOTE:
    case CUDNN_TYPE_LAYOUT_TYPE:
    case CUDNN_TYPE_POINTWISE_MODE:
    case CUDNN_TYPE_BEHAVIOR_NOTE:
    case CUDNN_TYPE_TENSOR_REORDERING_MODE:
    case CUDNN_TYPE_INT32:
    case CUDNN_TYPE_GENSTATS_MODE:
    case CUDNN_TYPE_BN_FINALIZE_STATS_MODE:
    case CUDNN_TYPE_REDUCTION_OPERATOR_TYPE:
    case CUDNN_TYPE_RESAMPLE_MODE:
    case CUDNN_TYPE_PADDING_MODE:
    case CUDNN_TYPE_NORM_MODE:
    case CUDNN_TYPE_NORM_FWD_PHASE:
    case CUDNN_TYPE_RNG_DISTRIBUTION:
    case 30:  // of mixtures of experts; not in every header
      return 4;
    case CUDNN_TYPE_FRACTION:
      return 2 * sizeof(int64_t);
    default:
      return 0;
  }
}

DnnStatus BackendDescriptor::Set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, int64_t count,
                                 const void* elements, std::vector<Pointer> descriptors) {
  if (finalized_) return BadParameter("the descriptor is finalized");
  const Rule* const rule = RuleFor(type_, name);
  if (rule == nullptr && !MayPass(type_, name, type)) return UnknownAttribute(type_, name);
  if (rule != nullptr && !Fits(rule->type, type)) {
    return {CUDNN_STATUS_BAD_PARAM_ATTRIBUTE_TYPE, "the attribute has another type"};
  }
  const auto [least, most] = rule == nullptr ? std::pair(int64_t{0}, kMany) : std::pair(rule->least, rule->most);
  if (count < least || count > most) return BadParameter("the attribute has another number of elements");
  Value value;
  value.type = type;
  value.count = count;
  if (type == CUDNN_TYPE_BACKEND_DESCRIPTOR) {
    if (std::any_of(descriptors.begin(), descriptors.end(), [](const Pointer& d) { return !d->finalized(); })) {
      return NotFinalized("a descriptor that is set is not finalized");
    }
    value.descriptors = std::move(descriptors);
  } else {
    value.bytes.resize(static_cast<size_t>(count) * BytesOf(type));
    if (count > 0) std::memcpy(value.bytes.data(), elements, value.bytes.size());
  }
  values_[name] = std::move(value);
  return {};
}

DnnStatus BackendDescriptor::Get(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                                 const Value** value) const {
  if (!finalized_) return {CUDNN_STATUS_NOT_INITIALIZED, "the descriptor is not finalized"};
  const auto found = values_.find(name);
  if (found == values_.end()) {
    return RuleFor(type_, name) == nullptr ? UnknownAttribute(type_, name) : BadParameter("the attribute was not set");
  }
  if (found->second.type != type) return {CUDNN_STATUS_BAD_PARAM_ATTRIBUTE_TYPE, "the attribute has another type"};
  *value = &found->second;
  return {};
}

DnnStatus BackendDescriptor::Finalize(const Check& check, const Passes& passes) {
  if (finalized_) return BadParameter("the descriptor is finalized already");
  for (const Rule& rule : kRules) {
    if (rule.owner == type_ && rule.required && !Has(rule.name)) {
      return BadParameter("attribute " + std::to_string(rule.name) + " is missing");
    }
  }
  DnnStatus status = Adopt(check, passes);
  if (status.ok() && check && plan_ != nullptr) status = check(*plan_);
  finalized_ = status.ok();
  return status;
}

// One that this cannot make a primitive of passes, if it can.
DnnStatus BackendDescriptor::AdoptGraph(const Check& check, const Passes& passes) {
  auto plan = std::make_shared<Plan>();
  DnnStatus status = MakePlan(AllLinked(CUDNN_ATTR_OPERATIONGRAPH_OPS), plan.get());
  if (status.ok() && check) status = check(*plan);
  if (!status.ok() && passes && passes()) {
    *plan = {};
    status = MakePassedPlan(*this, plan.get());
  }
  if (!status.ok()) return status;
  const int64_t engines[] = {EnginesOf(*plan)};
  plan_ = std::move(plan);
  Offer(CUDNN_ATTR_OPERATIONGRAPH_ENGINE_GLOBAL_COUNT, CUDNN_TYPE_INT64, engines);
  return {};
}

DnnStatus BackendDescriptor::Adopt(const Check& check, const Passes& passes) {
  // The types of what is linked, and the plan that comes along.
  struct Link {
    cudnnBackendDescriptorType_t owner;
    cudnnBackendAttributeName_t name;
    cudnnBackendDescriptorType_t type;
  };
  constexpr Link kLinks[] = {
      {CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH,
       CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR},
      {CUDNN_BACKEND_ENGINE_DESCRIPTOR, CUDNN_ATTR_ENGINE_OPERATION_GRAPH, CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR},
      {CUDNN_BACKEND_ENGINECFG_DESCRIPTOR, CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_BACKEND_ENGINE_DESCRIPTOR},
      {CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG,
       CUDNN_BACKEND_ENGINECFG_DESCRIPTOR}};
  for (const Link& link : kLinks) {
    if (link.owner != type_) continue;
    const BackendDescriptor* const linked = Linked(link.name);
    if (linked->type() != link.type) {
      return {CUDNN_STATUS_BAD_PARAM_DESCRIPTOR_TYPE, "a descriptor of another type is linked"};
    }
    plan_ = linked->plan_;
  }
  switch (type_) {
    case CUDNN_BACKEND_TENSOR_DESCRIPTOR:
      return CheckShape(*this);
    case CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR:
      return AdoptGraph(check, passes);
    case CUDNN_BACKEND_ENGINE_DESCRIPTOR: {
      const auto index = One<int64_t>(CUDNN_ATTR_ENGINE_GLOBAL_INDEX, 0);
      if (index < 0 || index >= EnginesOf(*plan_)) {
        return BadParameter("there are " + std::to_string(EnginesOf(*plan_)) + " engines, from number 0");
      }
      plan_ = OfEngine(*plan_, index);
      Offer(CUDNN_ATTR_ENGINE_KNOB_INFO, CUDNN_TYPE_BACKEND_DESCRIPTOR, {});
      Offer(CUDNN_ATTR_ENGINE_LAYOUT_INFO, CUDNN_TYPE_BACKEND_DESCRIPTOR, {});
      OfferNotes((index & kExactEngine) == 0, IsDeterministic(*plan_, index));
      Offer(CUDNN_ATTR_ENGINE_BEHAVIOR_NOTE, CUDNN_TYPE_BEHAVIOR_NOTE, {});
      return {};
    }
    case CUDNN_BACKEND_ENGINECFG_DESCRIPTOR: {
      const int64_t none[] = {0};
      const int32_t no_bytes[] = {0};
      Offer(CUDNN_ATTR_ENGINECFG_INTERMEDIATE_INFO, CUDNN_TYPE_BACKEND_DESCRIPTOR, {});
      Offer(CUDNN_ATTR_ENGINECFG_WORKSPACE_SIZE, CUDNN_TYPE_INT64, none);
      OfferBytes(CUDNN_ATTR_ENGINECFG_SHARED_MEMORY_USED, CUDNN_TYPE_INT32, 1, std::as_bytes(std::span(no_bytes)));
      if (!Has(CUDNN_ATTR_ENGINECFG_KNOB_CHOICES)) {
        Offer(CUDNN_ATTR_ENGINECFG_KNOB_CHOICES, CUDNN_TYPE_BACKEND_DESCRIPTOR, {});
      }
      return {};
    }
    case CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR: {
      const int64_t none[] = {0};
      Offer(CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, CUDNN_TYPE_INT64, none);
      Offer(CUDNN_ATTR_EXECUTION_PLAN_COMPUTED_INTERMEDIATE_UIDS, CUDNN_TYPE_INT64, {});
      Offer(CUDNN_ATTR_EXECUTION_PLAN_RUN_ONLY_INTERMEDIATE_UIDS, CUDNN_TYPE_INT64, {});
      return {};
    }
    case CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR:
      for (int64_t index = 0; index < EnginesOf(*plan_); ++index) {
        if (const DnnStatus status = OfferEngine(index); !status.ok()) return status;
      }
      return {};
    case CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR:
      if (All<int64_t>(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS).size() !=
          All<void*>(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS).size()) {
        return BadParameter("numbers and pointers of tensors are not as many");
      }
      return {};
    default:
      return {};
  }
}

void BackendDescriptor::Offer(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                              std::span<const int64_t> numbers) {
  OfferBytes(name, type, static_cast<int64_t>(numbers.size()), std::as_bytes(numbers));
}

void BackendDescriptor::OfferBytes(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, int64_t count,
                                   std::span<const std::byte> bytes) {
  Value value;
  value.type = type;
  value.count = count;
  value.bytes.assign(bytes.begin(), bytes.end());
  values_[name] = std::move(value);
}

void BackendDescriptor::Offer(cudnnBackendAttributeName_t name, Pointer descriptor) {
  Value& value = values_[name];
  value.type = CUDNN_TYPE_BACKEND_DESCRIPTOR;
  value.descriptors.push_back(std::move(descriptor));
  value.count = static_cast<int64_t>(value.descriptors.size());
}

void BackendDescriptor::OfferNotes(bool tensor_cores, bool deterministic) {
  std::vector<cudnnBackendNumericalNote_t> notes;
  if (tensor_cores) notes.push_back(CUDNN_NUMERICAL_NOTE_TENSOR_CORE);
  if (!deterministic) notes.push_back(CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC);
  OfferBytes(CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, CUDNN_TYPE_NUMERICAL_NOTE, static_cast<int64_t>(notes.size()),
             std::as_bytes(std::span(notes)));
}

DnnStatus BackendDescriptor::OfferEngine(int64_t index) {
  auto engine = std::make_shared<BackendDescriptor>(CUDNN_BACKEND_ENGINE_DESCRIPTOR);
  engine->values_[CUDNN_ATTR_ENGINE_OPERATION_GRAPH] = values_[CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH];
  const int64_t number[] = {index};
  engine->Offer(CUDNN_ATTR_ENGINE_GLOBAL_INDEX, CUDNN_TYPE_INT64, number);
  if (const DnnStatus status = engine->Finalize(); !status.ok()) return status;
  auto configuration = std::make_shared<BackendDescriptor>(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
  configuration->Offer(CUDNN_ATTR_ENGINECFG_ENGINE, std::move(engine));
  if (const DnnStatus status = configuration->Finalize(); !status.ok()) return status;
  Offer(CUDNN_ATTR_ENGINEHEUR_RESULTS, std::move(configuration));
  return {};
}

double BackendDescriptor::Number(cudnnBackendAttributeName_t name, double otherwise) const {
  const auto found = values_.find(name);
  if (found == values_.end()) return otherwise;
  if (found->second.type == CUDNN_TYPE_DOUBLE) return One<double>(name, otherwise);
  return static_cast<double>(One<float>(name, 0));
}

const BackendDescriptor* BackendDescriptor::Linked(cudnnBackendAttributeName_t name) const {
  const std::span<const Pointer> all = AllLinked(name);
  return all.empty() ? nullptr : all[0].get();
}

std::span<const BackendDescriptor::Pointer> BackendDescriptor::AllLinked(cudnnBackendAttributeName_t name) const {
  const auto found = values_.find(name);
  if (found == values_.end()) return {};
  return found->second.descriptors;
}

}  // namespace wharf::cudashim
