#include "examples/cuda_pose/ops.h"

namespace pose {
namespace {

__device__ int Index() { return int(blockIdx.x * blockDim.x + threadIdx.x); }

struct ConvShape {
  int in_h, in_w, out_h, out_w, kernel_h, kernel_w, stride, dilation, pad_h, pad_w;
};

// columns[(channel, ky, kx)][(oy, ox)] = the input under that kernel position, zero outside. blockIdx.y: the row.
__global__ void Im2Col(const float* x, float* columns, ConvShape s, int plane) {
  const int i = Index(), row = int(blockIdx.y);
  if (i >= plane) return;
  const int oy = i / s.out_w, ox = i - oy * s.out_w;
  const int kx = row % s.kernel_w, ky = row / s.kernel_w % s.kernel_h, channel = row / (s.kernel_w * s.kernel_h);
  const int iy = oy * s.stride - s.pad_h + ky * s.dilation, ix = ox * s.stride - s.pad_w + kx * s.dilation;
  const bool inside = iy >= 0 && iy < s.in_h && ix >= 0 && ix < s.in_w;
  columns[row * plane + i] = inside ? x[(channel * s.in_h + iy) * s.in_w + ix] : 0.0f;
}

// One number for each channel; blockIdx.y: the channel.
__global__ void AddChannel(const float* x, const float* v, float* out, int plane) {
  const int i = Index(), at = int(blockIdx.y) * plane + i;
  if (i < plane) out[at] = x[at] + v[blockIdx.y];
}

__global__ void SubtractChannel(const float* x, const float* v, float* out, int plane) {
  const int i = Index(), at = int(blockIdx.y) * plane + i;
  if (i < plane) out[at] = x[at] - v[blockIdx.y];
}

__global__ void MultiplyChannel(const float* x, const float* v, float* out, int plane) {
  const int i = Index(), at = int(blockIdx.y) * plane + i;
  if (i < plane) out[at] = x[at] * v[blockIdx.y];
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

__global__ void Upsample2Kernel(const float* x, float* out, int width, int plane) {
  const int i = Index(), channel = int(blockIdx.y);
  if (i >= 4 * plane) return;
  const int oy = i / (2 * width), ox = i - oy * 2 * width;
  out[channel * 4 * plane + i] = x[channel * plane + oy / 2 * width + ox / 2];
}

__global__ void MaxPool5Kernel(const float* x, float* out, int height, int width) {
  const int i = Index(), plane = height * width;
  if (i >= plane) return;
  const int cy = i / width, cx = i - cy * width;
  const float* in = x + int(blockIdx.y) * plane;
  float best = -3.4e38f;
  for (int y = max(0, cy - 2); y <= min(height - 1, cy + 2); ++y)
    for (int column = max(0, cx - 2); column <= min(width - 1, cx + 2); ++column)
      best = fmaxf(best, in[y * width + column]);
  out[int(blockIdx.y) * plane + i] = best;
}

__global__ void BytesToChannels(const uint8_t* rgb, float* out, int plane) {
  const int i = Index();
  if (i < plane) out[int(blockIdx.y) * plane + i] = float(rgb[i * 3 + int(blockIdx.y)]);
}

__global__ void ScaleKernel(const float* x, float* out, float factor, int n) {
  const int i = Index();
  if (i < n) out[i] = x[i] * factor;
}

__global__ void OffsetKernel(const float* x, float* out, float offset, int n) {
  const int i = Index();
  if (i < n) out[i] = x[i] + offset;
}

__global__ void SelectChannelsKernel(const float* x, float* out, int first, int step, int plane) {
  const int i = Index(), channel = int(blockIdx.y);
  if (i < plane) out[channel * plane + i] = x[(first + channel * step) * plane + i];
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
  runtime_.LaunchPlanes("im2col", Im2Col, columns.channels(), columns.Plane(), x.data(), columns.data(), shape,
                        columns.Plane());
  return columns;
}

DeviceTensor DeviceOps::NormaliseAndActivate(const Conv& conv, const Weights& weights, DeviceTensor y) {
  const int n = y.Size(), plane = y.Plane();
  if (conv.is_output) {
    DeviceTensor out = Like(runtime_, y);
    runtime_.LaunchPlanes("add bias", AddChannel, y.channels(), plane, y.data(), weights.beta.data(), out.data(),
                          plane);
    return out;
  }
  DeviceTensor t = Like(runtime_, y);
  runtime_.LaunchPlanes("normalise: mean", SubtractChannel, y.channels(), plane, y.data(), weights.mean.data(),
                        t.data(), plane);
  DeviceTensor u = Like(runtime_, y);
  runtime_.LaunchPlanes("normalise: deviation", MultiplyChannel, y.channels(), plane, t.data(),
                        weights.inverse_deviation.data(), u.data(), plane);
  t = Like(runtime_, y);
  runtime_.LaunchPlanes("normalise: gamma", MultiplyChannel, y.channels(), plane, u.data(), weights.gamma.data(),
                        t.data(), plane);
  u = Like(runtime_, y);
  runtime_.LaunchPlanes("normalise: beta", AddChannel, y.channels(), plane, t.data(), weights.beta.data(), u.data(),
                        plane);
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
  runtime_.LaunchPlanes("upsample", Upsample2Kernel, out.channels(), out.Plane(), x.data(), out.data(), x.width(),
                        x.Plane());
  return out;
}

DeviceTensor DeviceOps::MaxPool5(const DeviceTensor& x) {
  DeviceTensor out = Like(runtime_, x);
  runtime_.LaunchPlanes("max pool", MaxPool5Kernel, x.channels(), x.Plane(), x.data(), out.data(), x.height(),
                        x.width());
  return out;
}

DeviceTensor DeviceOps::Normalise(const Array<uint8_t>& rgb, int height, int width) {
  DeviceTensor a(runtime_, 3, height, width), b = Like(runtime_, a), c = Like(runtime_, a), d = Like(runtime_, a);
  const int n = a.Size();
  runtime_.LaunchPlanes("bytes to float", BytesToChannels, 3, a.Plane(), rgb.data(), a.data(), a.Plane());
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
  runtime_.LaunchPlanes("select channels", SelectChannelsKernel, count, x.Plane(), x.data(), out.data(), first, step,
                        x.Plane());
  return out;
}

}  // namespace pose
