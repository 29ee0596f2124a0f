// What plans describe: types, layouts that are not said, those that are, and what is wrong.
#include "wharf/cudashim/cufft/plan.h"

#include <gtest/gtest.h>

#include <vector>

namespace wharf::cudashim {
namespace {

using device::Fourier;
using device::FourierKind;
using device::FourierSide;

std::vector<int64_t> PlaceOf(const FourierSide& side) { return {side.rows, side.columns, side.stride, side.distance}; }
using Place = std::vector<int64_t>;

PlanRequest<int> Request(const std::vector<int>& sizes, int batch = 1) {
  return {static_cast<int>(sizes.size()), sizes.data(), {}, {}, batch};
}

TEST(CufftPlanTest, EveryTypeAndNoOther) {
  struct Row {
    cufftType type;
    FourierKind kind;
    device::ElementType element;
  };
  for (const Row& row : {Row{CUFFT_C2C, FourierKind::kComplex, device::ElementType::kF32},
                         Row{CUFFT_R2C, FourierKind::kRealToComplex, device::ElementType::kF32},
                         Row{CUFFT_C2R, FourierKind::kComplexToReal, device::ElementType::kF32},
                         Row{CUFFT_Z2Z, FourierKind::kComplex, device::ElementType::kF64},
                         Row{CUFFT_D2Z, FourierKind::kRealToComplex, device::ElementType::kF64},
                         Row{CUFFT_Z2D, FourierKind::kComplexToReal, device::ElementType::kF64}}) {
    PlanForm form;
    EXPECT_EQ(SetType(row.type, &form), CUFFT_SUCCESS);
    EXPECT_EQ(form.fourier.kind, row.kind);
    EXPECT_EQ(form.fourier.type, row.element);
  }
  PlanForm form;
  EXPECT_EQ(SetType(static_cast<cufftType>(0x2b), &form), CUFFT_INVALID_TYPE);
  EXPECT_EQ(SetTypes(CUDA_R_64F, CUDA_C_64F, CUDA_C_64F, &form), CUFFT_SUCCESS);
  EXPECT_EQ(form.fourier.kind, FourierKind::kRealToComplex);
  EXPECT_EQ(SetTypes(CUDA_R_32F, CUDA_C_64F, CUDA_C_64F, &form), CUFFT_INVALID_TYPE);
  EXPECT_EQ(SetTypes(CUDA_R_32F, CUDA_R_32F, CUDA_C_32F, &form), CUFFT_INVALID_TYPE);
  EXPECT_EQ(SetTypes(CUDA_C_16F, CUDA_C_16F, CUDA_C_16F, &form), CUFFT_NOT_SUPPORTED);
  EXPECT_EQ(SetTypes(CUDA_R_16BF, CUDA_C_16BF, CUDA_C_16BF, &form), CUFFT_NOT_SUPPORTED);
}

TEST(CufftPlanTest, WhatIsNotSaidIsPacked) {
  PlanForm form;
  ASSERT_EQ(SetType(CUFFT_R2C, &form), CUFFT_SUCCESS);
  const std::vector<int> sizes{3, 5};
  ASSERT_EQ(SetLayout(Request(sizes, 7), &form), CUFFT_SUCCESS);
  EXPECT_EQ(form.fourier.sizes, (std::array<int64_t, 3>{1, 3, 5}));
  EXPECT_EQ(form.fourier.batch, 7);
  EXPECT_TRUE(form.is_basic);
  char memory[2];
  Fourier f = TransformOf(form, memory, memory + 1, CUFFT_INVERSE);
  EXPECT_FALSE(f.inverse);  // it goes one way only
  EXPECT_EQ(PlaceOf(f.in), (Place{3, 5, 1, 15}));
  EXPECT_EQ(PlaceOf(f.out), (Place{3, 3, 1, 9}));
  f = TransformOf(form, memory, memory, CUFFT_FORWARD);  // in place: real rows are padded
  EXPECT_EQ(PlaceOf(f.in), (Place{3, 6, 1, 18}));
  EXPECT_EQ(PlaceOf(f.out), (Place{3, 3, 1, 9}));
  ASSERT_EQ(SetType(CUFFT_C2R, &form), CUFFT_SUCCESS);
  ASSERT_EQ(SetLayout(Request(sizes, 7), &form), CUFFT_SUCCESS);
  f = TransformOf(form, memory, memory, CUFFT_INVERSE);
  EXPECT_EQ(PlaceOf(f.in), (Place{3, 3, 1, 9}));
  EXPECT_EQ(PlaceOf(f.out), (Place{3, 6, 1, 18}));
  ASSERT_EQ(SetType(CUFFT_C2C, &form), CUFFT_SUCCESS);
  ASSERT_EQ(SetLayout(Request(sizes), &form), CUFFT_SUCCESS);
  f = TransformOf(form, memory, memory, CUFFT_INVERSE);
  EXPECT_TRUE(f.inverse);
  EXPECT_EQ(PlaceOf(f.in), (Place{3, 5, 1, 15}));
}

TEST(CufftPlanTest, WhatIsSaidHolds) {
  PlanForm form;
  ASSERT_EQ(SetType(CUFFT_R2C, &form), CUFFT_SUCCESS);
  const Long sizes[] = {2, 3, 4}, in[] = {9, 5, 7}, out[] = {9, 3, 3};
  const PlanRequest<Long> request{3, sizes, {in, 2, 100}, {out, 1, 50}, 6};
  ASSERT_EQ(SetLayout(request, &form), CUFFT_SUCCESS);
  EXPECT_FALSE(form.is_basic);
  char memory = 0;
  const Fourier f = TransformOf(form, &memory, &memory, CUFFT_FORWARD);  // in place as out of it
  EXPECT_EQ(PlaceOf(f.in), (Place{5, 7, 2, 100}));
  EXPECT_EQ(PlaceOf(f.out), (Place{3, 3, 1, 50}));
  // Where one side says nothing, the other does not count.
  PlanRequest<Long> half = request;
  half.out.embed = nullptr;
  ASSERT_EQ(SetLayout(half, &form), CUFFT_SUCCESS);
  EXPECT_TRUE(form.is_basic);
  EXPECT_EQ(PlaceOf(form.fourier.in), (Place{3, 4, 1, 24}));
}

// As NVIDIA's has it.
TEST(CufftPlanTest, LaterSizesBelowOneAreOne) {
  PlanForm form;
  ASSERT_EQ(SetType(CUFFT_C2C, &form), CUFFT_SUCCESS);
  ASSERT_EQ(SetLayout(Request({4, 0, -3}), &form), CUFFT_SUCCESS);
  EXPECT_EQ(form.fourier.sizes, (std::array<int64_t, 3>{4, 1, 1}));
  ASSERT_EQ(SetType(CUFFT_R2C, &form), CUFFT_SUCCESS);
  EXPECT_EQ(SetLayout(Request({4, 0}), &form), CUFFT_INTERNAL_ERROR);
}

TEST(CufftPlanTest, WhatIsWrongIsRefused) {
  PlanForm form;
  ASSERT_EQ(SetType(CUFFT_C2C, &form), CUFFT_SUCCESS);
  for (const std::vector<int>& sizes : {std::vector<int>{0}, {-4}, {0, 4}, {-1, 4, 4}, {0x7fffffff}}) {
    EXPECT_EQ(SetLayout(Request(sizes), &form), CUFFT_INVALID_SIZE);
  }
  EXPECT_EQ(SetLayout(Request({4}, 0), &form), CUFFT_INVALID_SIZE);
  EXPECT_EQ(SetLayout(Request({}), &form), CUFFT_INVALID_VALUE);
  EXPECT_EQ(SetLayout(Request({2, 2, 2, 2}), &form), CUFFT_INVALID_VALUE);
  EXPECT_EQ(SetLayout(PlanRequest<int>{1, nullptr, {}, {}, 1}, &form), CUFFT_INVALID_VALUE);
  EXPECT_EQ(SetLayout(Request({1 << 28, 1 << 28, 1 << 28}), &form), CUFFT_INVALID_SIZE);
  const int sizes[] = {4, 4}, embed[] = {0, 4}, none[] = {4, 0};
  const auto with = [&](const int* in_embed, int stride, int distance) {
    return SetLayout(PlanRequest<int>{2, sizes, {in_embed, stride, distance}, {embed, 1, 16}, 2}, &form);
  };
  EXPECT_EQ(with(embed, 1, 16), CUFFT_SUCCESS);  // the first of them is not looked at
  EXPECT_EQ(with(none, 1, 16), CUFFT_INVALID_VALUE);
  EXPECT_EQ(with(embed, 0, 16), CUFFT_INVALID_VALUE);
  EXPECT_EQ(with(embed, 1, -1), CUFFT_INVALID_VALUE);
}

}  // namespace
}  // namespace wharf::cudashim
