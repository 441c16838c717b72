/// A block of threads that work together, as code that also runs on a host.
///
/// Such code is written in phases. Each thread has a state that outlives a
/// phase, and `each` runs a phase on all threads. Code outside phases is the
/// same for all threads. On a GPU the threads run it in parallel, and a phase
/// does not synchronise. `meet` is required before a thread reads what another
/// has written to shared memory. Threads of a warp exchange registers only in
/// multiplyMatrices. Its arguments must be parts of their states that an
/// earlier phase set.
///
///   block.each([&](State &own) { shared[threadIdx.x] = own.value; });
///   block.meet();
///   block.each([&](State &own) { own.value += shared[threadIdx.x ^ 1]; });
///
/// This is the form for GPUs. Code compiled for a host includes
/// test/cuda-doubles/ThreadBlockOnHost.h first, which has the same functions.
#ifndef TPSP_RUNTIME_CUDA_KERNELS_THREADBLOCK_H
#define TPSP_RUNTIME_CUDA_KERNELS_THREADBLOCK_H

#include "DeviceNumbers.h"

namespace tpsp::rt::device {

template <typename State> class ThreadBlock {
public:
  /// Whether this call runs the block. On a host, one call runs the block for
  /// all threads.
  __device__ static bool leads() { return true; }

  template <typename Phase> __device__ void each(const Phase &phase) {
    phase(state);
  }
  __device__ void meet() { __syncthreads(); }

private:
  State state;
};

/// Begins to copy 16 bytes to shared memory, of which all but the first `bytes`
/// become 0. Both addresses are multiples of 16.
__device__ inline void beginCopy(void *to, const void *from, int bytes) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(
                   (unsigned)__cvta_generic_to_shared(to)),
               "l"(__cvta_generic_to_global(from)), "r"(bytes)
               : "memory");
}

/// Begins to copy 16 bytes to shared memory. If not `isInside`, nothing is read
/// and the bytes become 0.
__device__ inline void beginWholeCopy(void *to, const void *from,
                                      bool isInside) {
  asm volatile("{\n.reg .pred p;\nsetp.eq.b32 p, %2, 0;\n"
               "cp.async.cg.shared.global [%0], [%1], 16, p;\n}" ::"r"(
                   (unsigned)__cvta_generic_to_shared(to)),
               "l"(__cvta_generic_to_global(from)), "r"(int(isInside))
               : "memory");
}

/// Makes a group of all copies that this thread has begun since the last call.
__device__ inline void closeCopies() {
  asm volatile("cp.async.commit_group;" ::: "memory");
}

/// Waits for all of this thread's groups but the last `Left`.
template <int Left> __device__ inline void waitForCopies() {
  asm volatile("cp.async.wait_group %0;" ::"n"(Left) : "memory");
}

/// Loads four 8 x 8 matrices of 16-bit elements from shared memory. Row r of
/// matrix j is the 16 bytes at rowOf(8 j + r). For thread 4 g + t of the warp,
/// register j gets elements 2 t and 2 t + 1 of row g of matrix j. If `Turned`,
/// it gets those of column g.
template <bool Turned, typename RowOf>
__device__ inline void loadMatrices(unsigned (&registers)[4],
                                    const RowOf &rowOf) {
  unsigned row = (unsigned)__cvta_generic_to_shared(rowOf(threadIdx.x % 32));
  if (Turned)
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 "
                 "{%0, %1, %2, %3}, [%4];"
                 : "=r"(registers[0]), "=r"(registers[1]), "=r"(registers[2]),
                   "=r"(registers[3])
                 : "r"(row));
  else
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 "
                 "{%0, %1, %2, %3}, [%4];"
                 : "=r"(registers[0]), "=r"(registers[1]), "=r"(registers[2]),
                   "=r"(registers[3])
                 : "r"(row));
}

#define TPSP_MULTIPLY(TYPE)                                                    \
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32." TYPE "." TYPE ".f32 "  \
               "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "                \
               "{%0, %1, %2, %3};"                                             \
               : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])    \
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(low),         \
                 "r"(high))

/// sums[16, 8] += a[16, 16] b[16, 8] for 16-bit types, with all numbers spread
/// over the warp. Register i + 2 j of `a` belongs to the 8 x 8 matrix (i, j).
/// Thread 4 g + t has columns 2 t and 2 t + 1 of the matrix's row g. `low` and
/// `high` have rows 2 t and 2 t + 1 of column g of b's upper and lower half.
/// The sums are those of columns 2 t and 2 t + 1 of row g, then of row g + 8.
template <typename T>
__device__ inline void
multiplyMatrices(float (&sums)[4], const unsigned (&a)[4], const unsigned &low,
                 const unsigned &high);
template <>
__device__ inline void
multiplyMatrices<Bf16>(float (&sums)[4], const unsigned (&a)[4],
                       const unsigned &low, const unsigned &high) {
  TPSP_MULTIPLY("bf16");
}
template <>
__device__ inline void
multiplyMatrices<F16>(float (&sums)[4], const unsigned (&a)[4],
                      const unsigned &low, const unsigned &high) {
  TPSP_MULTIPLY("f16");
}
#undef TPSP_MULTIPLY

} // namespace tpsp::rt::device

#endif // TPSP_RUNTIME_CUDA_KERNELS_THREADBLOCK_H
