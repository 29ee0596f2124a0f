#include "examples/cuda_pose/ops.h"

namespace pose {
namespace {

__device__ int Index() { return int(blockIdx.x * blockDim.x + threadIdx.x); }

struct ConvShape {
  int in_h, in_w, out_h, out_w, kernel_h, kernel_w, stride, dilation, pad_h, pad_w;
};

// columns[(channel, ky, kx)][(oy, ox)] = the input under that kernel position, zero outside.
__global__ void Im2Col(const float* x, float* columns, ConvShape s, int n) {
  const int i = Index();
  if (i >= n) return;
  const int ox = i % s.out_w, oy = i / s.out_w % s.out_h, row = i / (s.out_w * s.out_h);
  const int kx = row % s.kernel_w, ky = row / s.kernel_w % s.kernel_h, channel = row / (s.kernel_w * s.kernel_h);
  const int iy = oy * s.stride - s.pad_h + ky * s.dilation, ix = ox * s.stride - s.pad_w + kx * s.dilation;
  const bool inside = iy >= 0 && iy < s.in_h && ix >= 0 && ix < s.in_w;
  columns[i] = inside ? x[(channel * s.in_h + iy) * s.in_w + ix] : 0.0f;
}

__global__ void AddChannel(const float* x, const float* v, float* out, int plane, int n) {
  const int i = Index();
  if (i < n) out[i] = x[i] + v[i / plane];
}

__global__ void SubtractChannel(const float* x, const float* v, float* out, int plane, int n) {
  const int i = Index();
  if (i < n) out[i] = x[i] - v[i / plane];
}

__global__ void MultiplyChannel(const float* x, const float* v, float* out, int plane, int n) {
  const int i = Index();
  if (i < n) out[i] = x[i] * v[i / plane];
}

__global__ void SigmoidKernel(const float* x, float* out, int n) {
  const int i = Index();
  if (i < n) out[i] = 1.0f / (1.0f + __expf(-x[i]));
}

__global__ void MultiplyKernel(const float* a, const float* b, float* out, int n) {
  const int i = Index();
  if (i < n) out[i] = a[i] * b[i];
}

__global__ void AddKernel(const float* a, const float* b, float* out, int n) {
  const int i = Index();
  if (i < n) out[i] = a[i] + b[i];
}

__global__ void Upsample2Kernel(const float* x, float* out, int height, int width, int n) {
  const int i = Index();
  if (i >= n) return;
  const int ox = i % (2 * width), oy = i / (2 * width) % (2 * height), channel = i / (4 * width * height);
  out[i] = x[(channel * height + oy / 2) * width + ox / 2];
}

__global__ void MaxPool5Kernel(const float* x, float* out, int height, int width, int n) {
  const int i = Index();
  if (i >= n) return;
  const int cx = i % width, cy = i / width % height;
  const float* plane = x + i / (width * height) * (width * height);
  float best = -3.4e38f;
  for (int y = max(0, cy - 2); y <= min(height - 1, cy + 2); ++y)
    for (int column = max(0, cx - 2); column <= min(width - 1, cx + 2); ++column)
      best = fmaxf(best, plane[y * width + column]);
  out[i] = best;
}

__global__ void BytesToChannels(const uint8_t* rgb, float* out, int plane, int n) {
  const int i = Index();
  if (i < n) out[i] = float(rgb[i % plane * 3 + i / plane]);
}

__global__ void ScaleKernel(const float* x, float* out, float factor, int n) {
  const int i = Index();
  if (i < n) out[i] = x[i] * factor;
}

__global__ void OffsetKernel(const float* x, float* out, float offset, int n) {
  const int i = Index();
  if (i < n) out[i] = x[i] + offset;
}

__global__ void SelectChannelsKernel(const float* x, float* out, int first, int step, int plane, int n) {
  const int i = Index();
  if (i < n) out[i] = x[(first + i / plane * step) * plane + i % plane];
}

DeviceTensor Like(Runtime& runtime, const DeviceTensor& x) {
  return DeviceTensor(runtime, x.channels(), x.height(), x.width());
}

}  // namespace

void DeviceOps::Prepare(const Conv& conv) {
  if (weights_.count(conv.name)) return;
  weights_[conv.name] = {ToDevice(runtime_, conv.weight), ToDevice(runtime_, conv.mean),
                         ToDevice(runtime_, conv.inverse_deviation), ToDevice(runtime_, conv.gamma),
                         ToDevice(runtime_, conv.beta)};
}

DeviceTensor DeviceOps::Unfold(const Conv& conv, const DeviceTensor& x) {
  if (conv.kernel_h == 1 && conv.kernel_w == 1 && conv.stride == 1) return x;
  const ConvShape shape = {x.height(),    x.width(),   conv.OutH(x.height()), conv.OutW(x.width()), conv.kernel_h,
                           conv.kernel_w, conv.stride, conv.dilation,         conv.PadH(),          conv.PadW()};
  DeviceTensor columns(runtime_, conv.in * conv.kernel_h * conv.kernel_w, shape.out_h, shape.out_w);
  runtime_.Launch("im2col", Im2Col, columns.Size(), x.data(), columns.data(), shape, columns.Size());
  return columns;
}

DeviceTensor DeviceOps::NormaliseAndActivate(const Conv& conv, const Weights& weights, DeviceTensor y) {
  const int n = y.Size(), plane = y.Plane();
  if (conv.is_output) {
    DeviceTensor out = Like(runtime_, y);
    runtime_.Launch("add bias", AddChannel, n, y.data(), weights.beta.data(), out.data(), plane, n);
    return out;
  }
  DeviceTensor t = Like(runtime_, y);
  runtime_.Launch("normalise: mean", SubtractChannel, n, y.data(), weights.mean.data(), t.data(), plane, n);
  DeviceTensor u = Like(runtime_, y);
  runtime_.Launch("normalise: deviation", MultiplyChannel, n, t.data(), weights.inverse_deviation.data(), u.data(),
                  plane, n);
  t = Like(runtime_, y);
  runtime_.Launch("normalise: gamma", MultiplyChannel, n, u.data(), weights.gamma.data(), t.data(), plane, n);
  u = Like(runtime_, y);
  runtime_.Launch("normalise: beta", AddChannel, n, t.data(), weights.beta.data(), u.data(), plane, n);
  const DeviceTensor gate = Sigmoid(u);
  t = Like(runtime_, y);
  runtime_.Launch("silu", MultiplyKernel, n, u.data(), gate.data(), t.data(), n);
  return t;
}

DeviceTensor DeviceOps::Convolve(const Conv& conv, const DeviceTensor& x) {
  if (x.channels() != conv.in) throw std::logic_error(conv.name + ": wrong number of channels");
  Prepare(conv);
  const Weights& weights = weights_.at(conv.name);
  const DeviceTensor columns = Unfold(conv, x);
  DeviceTensor y(runtime_, conv.out, conv.OutH(x.height()), conv.OutW(x.width()));
  runtime_.Gemm(conv.out, y.Plane(), columns.channels(), weights.weight.data(), columns.data(), y.data());
  y = NormaliseAndActivate(conv, weights, y);
  if (observer_) observer_(conv.name, y);
  return y;
}

DeviceTensor DeviceOps::Add(const DeviceTensor& a, const DeviceTensor& b) {
  DeviceTensor out = Like(runtime_, a);
  runtime_.Launch("add", AddKernel, a.Size(), a.data(), b.data(), out.data(), a.Size());
  return out;
}

DeviceTensor DeviceOps::Concat(const std::vector<DeviceTensor>& parts) {
  int channels = 0;
  for (const DeviceTensor& part : parts) channels += part.channels();
  DeviceTensor out(runtime_, channels, parts[0].height(), parts[0].width());
  int first = 0;
  for (const DeviceTensor& part : parts) {
    runtime_.CopyOnDevice(out.Channel(first), part.data(), size_t(part.Size()) * sizeof(float));
    first += part.channels();
  }
  return out;
}

DeviceTensor DeviceOps::Upsample2(const DeviceTensor& x) {
  DeviceTensor out(runtime_, x.channels(), 2 * x.height(), 2 * x.width());
  runtime_.Launch("upsample", Upsample2Kernel, out.Size(), x.data(), out.data(), x.height(), x.width(), out.Size());
  return out;
}

DeviceTensor DeviceOps::MaxPool5(const DeviceTensor& x) {
  DeviceTensor out = Like(runtime_, x);
  runtime_.Launch("max pool", MaxPool5Kernel, x.Size(), x.data(), out.data(), x.height(), x.width(), x.Size());
  return out;
}

DeviceTensor DeviceOps::Normalise(const Array<uint8_t>& rgb, int height, int width) {
  DeviceTensor a(runtime_, 3, height, width), b = Like(runtime_, a), c = Like(runtime_, a), d = Like(runtime_, a);
  const int n = a.Size();
  runtime_.Launch("bytes to float", BytesToChannels, n, rgb.data(), a.data(), a.Plane(), n);
  runtime_.Launch("divide", ScaleKernel, n, a.data(), b.data(), 1 / 255.0f, n);
  runtime_.Launch("subtract mean", OffsetKernel, n, b.data(), c.data(), -0.5f, n);
  runtime_.Launch("divide by deviation", ScaleKernel, n, c.data(), d.data(), 4.0f, n);
  return d;
}

DeviceTensor DeviceOps::Sigmoid(const DeviceTensor& x) {
  DeviceTensor out = Like(runtime_, x);
  runtime_.Launch("sigmoid", SigmoidKernel, x.Size(), x.data(), out.data(), x.Size());
  return out;
}

DeviceTensor DeviceOps::SelectChannels(const DeviceTensor& x, int first, int step, int count) {
  DeviceTensor out(runtime_, count, x.height(), x.width());
  runtime_.Launch("select channels", SelectChannelsKernel, out.Size(), x.data(), out.data(), first, step, x.Plane(),
                  out.Size());
  return out;
}

}  // namespace pose
