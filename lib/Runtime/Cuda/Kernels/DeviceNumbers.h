/// Number types of kernels: how each is stored, and the type in which it is
/// computed. Device code without the standard library, like
/// DeviceKernelTypes.h.
#ifndef TPSP_RUNTIME_CUDA_KERNELS_DEVICENUMBERS_H
#define TPSP_RUNTIME_CUDA_KERNELS_DEVICENUMBERS_H

namespace tpsp::rt::device {

__device__ inline float floatOf(unsigned bits) {
  union {
    unsigned bits;
    float number;
  } both;
  both.bits = bits;
  return both.number;
}

__device__ inline unsigned bitsOf(float number) {
  union {
    float number;
    unsigned bits;
  } both;
  both.number = number;
  return both.bits;
}

/// 16-bit types. `load` is exact. `store` rounds to nearest, ties to even, and
/// a NaN stays a quiet NaN. ElementType.h does the same.
struct Bf16 {
  unsigned short bits;

  __device__ static float load(Bf16 value) {
    return floatOf((unsigned)value.bits << 16);
  }
  __device__ static Bf16 store(float value) {
    unsigned bits = bitsOf(value);
    unsigned rounded = (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
    unsigned quietNaN = (bits >> 16) | 0x40;
    return {(unsigned short)(value != value ? quietNaN : rounded)};
  }
};

struct F16 {
  unsigned short bits;

  __device__ static float load(F16 value) {
    const unsigned rebias = (127 - 15) << 23, one = 1 << 23;
    unsigned sign = (unsigned)(value.bits & 0x8000) << 16;
    unsigned magnitude = (unsigned)(value.bits & 0x7fff) << 13;
    float least = floatOf(magnitude + rebias + one) - 0x1p-14f;
    unsigned wide = magnitude < one ? bitsOf(least) : magnitude + rebias;
    unsigned special = magnitude | 0x7f800000;
    return floatOf(sign | (magnitude < 31 * one ? wide : special));
  }
  __device__ static F16 store(float value) {
    const unsigned rebias = (127 - 15) << 23;
    unsigned bits = bitsOf(value), sign = bits >> 16 & 0x8000;
    unsigned magnitude = bits & 0x7fffffff;
    unsigned normal =
        (magnitude - rebias + 0xfff + (magnitude >> 13 & 1)) >> 13;
    unsigned least = bitsOf(floatOf(magnitude) + 0.5f) - 0x3f000000;
    unsigned finite = magnitude < rebias + (1 << 23) ? least : normal;
    unsigned rounded = magnitude < 0x477ff000 ? finite : 0x7c00;
    unsigned quietNaN = 0x7e00 | (magnitude >> 13 & 0x3ff);
    return {(unsigned short)(sign | (value != value ? quietNaN : rounded))};
  }
};

/// How an element is stored, and how elements are combined: 16-bit types in
/// f32, and integers as unsigned integers, so that an overflowing sum wraps.
template <typename T> struct Element {
  using Wide = T;
  __device__ static T load(T value) { return value; }
  __device__ static T store(T value) { return value; }
  __device__ static T add(T a, T b) { return a + b; }
};
template <typename T> struct HalfElement : T {
  using Wide = float;
  __device__ static float add(float a, float b) { return a + b; }
};
template <> struct Element<Bf16> : HalfElement<Bf16> {};
template <> struct Element<F16> : HalfElement<F16> {};
template <> __device__ inline int Element<int>::add(int a, int b) {
  return (int)((unsigned)a + (unsigned)b);
}
template <>
__device__ inline long long Element<long long>::add(long long a, long long b) {
  return (long long)((unsigned long long)a + (unsigned long long)b);
}

} // namespace tpsp::rt::device

#endif // TPSP_RUNTIME_CUDA_KERNELS_DEVICENUMBERS_H
