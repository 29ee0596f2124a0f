// The rules of tensor, filter and window descriptors.
#include "wharf/cudashim/cudnn/shape.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace wharf::cudashim {
namespace {

using ::testing::ElementsAre;

std::vector<int> Strides(const TensorShape& shape) {
  return {shape.strides.begin(), shape.strides.begin() + shape.rank};
}

TEST(TensorShape, FormatsSayHowElementsLie) {
  TensorShape shape;
  const int dims[] = {2, 3, 4, 5};
  ASSERT_TRUE(SetPackedShape(CUDNN_TENSOR_NCHW, CUDNN_DATA_FLOAT, 4, dims, &shape).ok());
  EXPECT_THAT(Strides(shape), ElementsAre(60, 20, 5, 1));
  EXPECT_EQ(SizeInBytes(shape), 2u * 3 * 4 * 5 * 4);
  ASSERT_TRUE(SetPackedShape(CUDNN_TENSOR_NHWC, CUDNN_DATA_HALF, 4, dims, &shape).ok());
  EXPECT_THAT(Strides(shape), ElementsAre(60, 1, 15, 3));
  EXPECT_EQ(SizeInBytes(shape), 2u * 3 * 4 * 5 * 2);
  const int volume[] = {2, 3, 4, 5, 6};
  ASSERT_TRUE(SetPackedShape(CUDNN_TENSOR_NHWC, CUDNN_DATA_FLOAT, 5, volume, &shape).ok());
  EXPECT_THAT(Strides(shape), ElementsAre(360, 1, 90, 18, 3));
}

TEST(TensorShape, WhatIsNoTensorIsRefused) {
  TensorShape shape;
  const int dims[] = {2, 3, 4, 5}, strides[] = {60, 20, 5, 1}, none[] = {2, 0, 4, 5}, zero[] = {60, 0, 5, 1};
  const int huge[] = {1 << 16, 1 << 16, 1, 1};
  EXPECT_EQ(SetShape(CUDNN_DATA_FLOAT, 4, dims, strides, nullptr).code, CUDNN_STATUS_BAD_PARAM);
  EXPECT_EQ(SetShape(CUDNN_DATA_FLOAT, 4, nullptr, strides, &shape).code, CUDNN_STATUS_BAD_PARAM);
  EXPECT_EQ(SetShape(CUDNN_DATA_FLOAT, 4, none, strides, &shape).code, CUDNN_STATUS_BAD_PARAM);
  EXPECT_EQ(SetShape(CUDNN_DATA_FLOAT, 4, dims, zero, &shape).code, CUDNN_STATUS_BAD_PARAM);
  EXPECT_EQ(SetShape(CUDNN_DATA_FLOAT, 9, dims, strides, &shape).code, CUDNN_STATUS_NOT_SUPPORTED);
  EXPECT_EQ(SetShape(CUDNN_DATA_FLOAT, 1, dims, strides, &shape).code, CUDNN_STATUS_BAD_PARAM);
  EXPECT_EQ(SetShape(static_cast<cudnnDataType_t>(99), 4, dims, strides, &shape).code, CUDNN_STATUS_BAD_PARAM);
  EXPECT_EQ(SetPackedShape(CUDNN_TENSOR_NCHW, CUDNN_DATA_FLOAT, 4, huge, &shape).code, CUDNN_STATUS_NOT_SUPPORTED);
  EXPECT_EQ(SetPackedShape(CUDNN_TENSOR_NCHW_VECT_C, CUDNN_DATA_INT8x4, 4, dims, &shape).code,
            CUDNN_STATUS_NOT_SUPPORTED);
  EXPECT_EQ(shape.rank, 0);  // and nothing was kept of them
}

TEST(TensorShape, BecomesATensorOfFiveDimensions) {
  TensorShape shape;
  device::Tensor tensor;
  EXPECT_EQ(ToTensor(shape, nullptr, &tensor).code, CUDNN_STATUS_BAD_PARAM);
  const int dims[] = {2, 3, 4, 5}, strides[] = {60, 1, 15, 3};
  ASSERT_TRUE(SetShape(CUDNN_DATA_BFLOAT16, 4, dims, strides, &shape).ok());
  ASSERT_TRUE(ToTensor(shape, reinterpret_cast<const void*>(0x1000), &tensor).ok());
  EXPECT_EQ(tensor.address, 0x1000u);
  EXPECT_EQ(tensor.type, device::ElementType::kBF16);
  EXPECT_THAT(tensor.dims, ElementsAre(2, 3, 1, 4, 5));
  EXPECT_EQ(tensor.strides[1], 1);
  EXPECT_EQ(tensor.strides[3], 15);
  ASSERT_TRUE(SetShape(CUDNN_DATA_INT8, 4, dims, strides, &shape).ok());
  EXPECT_EQ(ToTensor(shape, nullptr, &tensor).code, CUDNN_STATUS_NOT_SUPPORTED);
  const int six[] = {1, 1, 1, 1, 1, 1};
  ASSERT_TRUE(SetShape(CUDNN_DATA_FLOAT, 6, six, six, &shape).ok());
  EXPECT_EQ(ToTensor(shape, nullptr, &tensor).code, CUDNN_STATUS_NOT_SUPPORTED);
}

TEST(WindowShape, IsCheckedAndPutBehind) {
  WindowShape window;
  const int one[] = {1, 1, 1, 1, 1, 1, 1}, none[] = {0, 0}, negative[] = {1, -1}, two[] = {2, 3};
  EXPECT_EQ(SetWindow(2, negative, one, one, &window).code, CUDNN_STATUS_BAD_PARAM);
  EXPECT_EQ(SetWindow(2, none, none, one, &window).code, CUDNN_STATUS_BAD_PARAM);
  EXPECT_EQ(SetWindow(2, none, one, none, &window).code, CUDNN_STATUS_BAD_PARAM);
  EXPECT_EQ(SetWindow(7, one, one, one, &window).code, CUDNN_STATUS_NOT_SUPPORTED);
  EXPECT_EQ(SetWindow(2, one, one, one, nullptr).code, CUDNN_STATUS_BAD_PARAM);
  ASSERT_TRUE(SetWindow(2, none, two, one, &window).ok());
  EXPECT_THAT(ToSpatial(window.stride, window.rank, 1), ElementsAre(1, 2, 3));
}

TEST(WindowShape, SizesOfResults) {
  EXPECT_EQ(OutputSize(7, 3, 1, 1, 1), 7);
  EXPECT_EQ(OutputSize(7, 3, 1, 2, 1), 4);
  EXPECT_EQ(OutputSize(9, 3, 0, 1, 2), 5);
  EXPECT_EQ(OutputSize(2, 3, 0, 1, 1), 0);
  EXPECT_EQ(OutputSize(3, 3, 0, 5, 1), 1);
}

TEST(Scalars, AreDoubleForDoubleOnly) {
  const float single = 0.5F;
  const double wide = 0.25;
  EXPECT_EQ(ScalarOf(CUDNN_DATA_HALF, &single), 0.5);
  EXPECT_EQ(ScalarOf(CUDNN_DATA_FLOAT, &single), 0.5);
  EXPECT_EQ(ScalarOf(CUDNN_DATA_DOUBLE, &wide), 0.25);
  const uint16_t half = 0x3c00, brain = 0x3f80;  // one
  EXPECT_EQ(ElementAt(CUDNN_DATA_HALF, &half), 1);
  EXPECT_EQ(ElementAt(CUDNN_DATA_BFLOAT16, &brain), 1);
}

}  // namespace
}  // namespace wharf::cudashim
