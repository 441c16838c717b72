/// Products of tiles in shared memory by warpgroups: four warps whose first
/// number is a multiple of four. The tensor cores read both operands from
/// shared memory while threads go on. Only compute capability 9.0 has them.
///
/// This is the form for GPUs. Code compiled for a host includes
/// test/cuda-doubles/WarpgroupOnHost.h first, which has the same functions.
#ifndef TPSP_RUNTIME_CUDA_KERNELS_WARPGROUP_H
#define TPSP_RUNTIME_CUDA_KERNELS_WARPGROUP_H

#include "ThreadBlock.h"

namespace tpsp::rt::device {

#ifdef __CUDA_ARCH_FEAT_SM90_ALL
constexpr bool hasWarpgroups = true;
#else
constexpr bool hasWarpgroups = false;
#endif

/// The shared memory that the launch asked for. It begins at a multiple of 1024
/// bytes and has at least `Bytes` bytes.
template <int Bytes> __device__ inline unsigned char *launchedMemory() {
  extern __shared__ __align__(1024) unsigned char memory[];
  return memory;
}

/// Makes the thread's finished writes to shared memory visible to products of
/// warpgroups. Other threads' products must come after a meeting.
__device__ inline void showToProducts() {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

/// A part of a tile in shared memory that a product reads, which is described
/// in WarpgroupProduct.h. `pitch` is the distance in bytes between blocks of 64
/// positions along the edge. It is only used if k is not contiguous.
struct SharedOperand {
  const unsigned char *first;
  int pitch;

  /// The instruction's descriptor: addresses in units of 16 bytes, 1024 bytes
  /// between groups of eight lines, and the permutation over 128 bytes.
  __device__ unsigned long long descriptor() const {
    unsigned at = (unsigned)__cvta_generic_to_shared(first);
    return (unsigned long long)(at >> 4 & 0x3fff) |
           (unsigned long long)(pitch >> 4) << 16 | 64ull << 32 | 1ull << 62;
  }
};

/// Begins a group of products. Registers of sums that were written otherwise
/// become theirs.
__device__ inline void openProducts() {
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}
__device__ inline void closeProducts() {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}
/// Waits for all groups but the last `Left`.
template <int Left> __device__ inline void waitForProducts() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(Left) : "memory");
}
/// Waits for all groups. After that the sums may be read.
template <int Count>
__device__ inline void finishProducts(float (&sums)[Count]) {
  waitForProducts<0>();
#pragma unroll
  for (float &sum : sums)
    asm volatile("" : "+f"(sum)::"memory");
}

#define TPSP_64                                                                \
  "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, "                             \
  "%11, %12, %13, %14, %15, %16, %17, %18, %19, "                              \
  "%20, %21, %22, %23, %24, %25, %26, %27, %28, "                              \
  "%29, %30, %31, %32, %33, %34, %35, %36, %37, "                              \
  "%38, %39, %40, %41, %42, %43, %44, %45, %46, "                              \
  "%47, %48, %49, %50, %51, %52, %53, %54, %55, "                              \
  "%56, %57, %58, %59, %60, %61, %62, %63}, "
#define TPSP_128                                                               \
  "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, "                             \
  "%11, %12, %13, %14, %15, %16, %17, %18, %19, "                              \
  "%20, %21, %22, %23, %24, %25, %26, %27, %28, "                              \
  "%29, %30, %31, %32, %33, %34, %35, %36, %37, "                              \
  "%38, %39, %40, %41, %42, %43, %44, %45, %46, "                              \
  "%47, %48, %49, %50, %51, %52, %53, %54, %55, "                              \
  "%56, %57, %58, %59, %60, %61, %62, %63, %64, "                              \
  "%65, %66, %67, %68, %69, %70, %71, %72, %73, "                              \
  "%74, %75, %76, %77, %78, %79, %80, %81, %82, "                              \
  "%83, %84, %85, %86, %87, %88, %89, %90, %91, "                              \
  "%92, %93, %94, %95, %96, %97, %98, %99, %100, "                             \
  "%101, %102, %103, %104, %105, %106, %107, %108, "                           \
  "%109, %110, %111, %112, %113, %114, %115, %116, "                           \
  "%117, %118, %119, %120, %121, %122, %123, %124, "                           \
  "%125, %126, %127}, "
template <typename T> struct IsBf16 { static constexpr bool value = false; };
template <> struct IsBf16<Bf16> { static constexpr bool value = true; };

#define TPSP_8_SUMS(I)                                                         \
  "+f"(sums[I]), "+f"(sums[I + 1]), "+f"(sums[I + 2]), "+f"(sums[I + 3]),      \
      "+f"(sums[I + 4]), "+f"(sums[I + 5]), "+f"(sums[I + 6]),                 \
      "+f"(sums[I + 7])
#define TPSP_32_SUMS(I)                                                        \
  TPSP_8_SUMS(I), TPSP_8_SUMS(I + 8), TPSP_8_SUMS(I + 16), TPSP_8_SUMS(I + 24)
#define TPSP_MULTIPLY(TYPE, COLUMNS, LIST, A, B, ADDS, TURNED_A, TURNED_B,     \
                      ...)                                                     \
  asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, " ADDS ", 0;\n"               \
               "wgmma.mma_async.sync.aligned.m64n" COLUMNS "k16.f32." TYPE     \
               "." TYPE " " LIST A ", " B ", p, 1, 1, " TURNED_A ", " TURNED_B \
               ";\n}"                                                          \
               : __VA_ARGS__                                                   \
               : "l"(a.descriptor()), "l"(b.descriptor()), "r"(int(adds)),     \
                 "n"(int(TurnedA)), "n"(int(TurnedB)))

/// Begins sums[64, 2 Count] = a[64, 16] b[16, 2 Count], added to `sums` if
/// `adds`, for 16-bit types. The sums are spread over the warpgroup. Thread
/// 32 w + 4 g + t has columns 8 j + 2 t and 8 j + 2 t + 1 of two rows. Row
/// 16 w + g is from number 4 j on, and row 16 w + g + 8 from number 4 j + 2 on.
/// In a turned operand, k is not contiguous.
template <typename T, bool TurnedA, bool TurnedB, int Count>
__device__ inline void multiplyShared(float (&sums)[Count],
                                      const SharedOperand &a,
                                      const SharedOperand &b, bool adds) {
  static_assert(Count == 64 || Count == 128);
  constexpr bool isBf16 = IsBf16<T>::value;
  if constexpr (Count == 64 && isBf16)
    TPSP_MULTIPLY("bf16", "128", TPSP_64, "%64", "%65", "%66", "%67", "%68",
                  TPSP_32_SUMS(0), TPSP_32_SUMS(32));
  else if constexpr (Count == 64)
    TPSP_MULTIPLY("f16", "128", TPSP_64, "%64", "%65", "%66", "%67", "%68",
                  TPSP_32_SUMS(0), TPSP_32_SUMS(32));
  else if constexpr (isBf16)
    TPSP_MULTIPLY("bf16", "256", TPSP_128, "%128", "%129", "%130", "%131",
                  "%132", TPSP_32_SUMS(0), TPSP_32_SUMS(32), TPSP_32_SUMS(64),
                  TPSP_32_SUMS(96));
  else
    TPSP_MULTIPLY("f16", "256", TPSP_128, "%128", "%129", "%130", "%131",
                  "%132", TPSP_32_SUMS(0), TPSP_32_SUMS(32), TPSP_32_SUMS(64),
                  TPSP_32_SUMS(96));
}
#undef TPSP_MULTIPLY
#undef TPSP_32_SUMS
#undef TPSP_8_SUMS
#undef TPSP_128
#undef TPSP_64

/// Exchanges columns of sums among the four threads that have a row. The thread
/// gets those from 32 q + 8 t on, of its row number `half`, rounded.
template <typename T, int Count>
__device__ inline void
columnsOfThread(T (&columns)[8], const float (&sums)[Count], int q, int half) {
  unsigned x[4];
#pragma unroll
  for (int j = 0; j < 4; ++j) {
    const float *pair = sums + (4 * q + j) * 4 + 2 * half;
    x[j] = (unsigned)Element<T>::store(pair[0]).bits |
           (unsigned)Element<T>::store(pair[1]).bits << 16;
  }
  // A transposition of 2 x 2 squares, and then of their elements.
#pragma unroll
  for (int distance = 1; distance < 4; distance *= 2) {
    bool isHigh = threadIdx.x & distance;
#pragma unroll
    for (int j = 0; j < 4; ++j)
      if ((j & distance) == 0) {
        unsigned given = isHigh ? x[j] : x[j + distance];
        unsigned got = __shfl_xor_sync(0xffffffff, given, distance);
        x[j] = isHigh ? got : x[j];
        x[j + distance] = isHigh ? x[j + distance] : got;
      }
  }
#pragma unroll
  for (int j = 0; j < 4; ++j) {
    columns[2 * j] = {(unsigned short)x[j]};
    columns[2 * j + 1] = {(unsigned short)(x[j] >> 16)};
  }
}

} // namespace tpsp::rt::device

#endif // TPSP_RUNTIME_CUDA_KERNELS_WARPGROUP_H
