// The built-in kernels. They copy runs of bytes, combine the parts of ranks
// that share a GPU, and round sums to 16 bits. They also compute epilogues that
// cuBLASLt does not have, and grouped products (GroupedProduct.h,
// WarpgroupProduct.h). They are compiled to machine code for compute capability
// 8.0 and 9.0 and to PTX, and loaded by name (BuiltinKernels). All loops stride
// over the grid, so a grid may have any size.
//
// The tests run this file on a CPU, one thread after another. So the only
// barriers are those of ThreadBlock.h.
#include "WarpgroupProduct.h"

#include <math.h>

using namespace tpsp::rt;
using namespace tpsp::rt::device;

namespace {

__device__ inline long long firstItem() {
  return (long long)blockIdx.x * blockDim.x + threadIdx.x;
}

__device__ inline long long itemStride() {
  return (long long)gridDim.x * blockDim.x;
}

/// Calls body(i) for every i below `count`, shared by all threads of the grid.
/// Indices have 32 bits if `count` allows it. GPUs have no 64-bit division:
/// code for one is long and tests whether 32 bits would have sufficed.
template <typename Body>
__device__ inline void eachItem(long long count, const Body &body) {
  if (count <= 0x7fffffff) {
    const unsigned end = (unsigned)count, stride = (unsigned)itemStride();
    for (unsigned i = (unsigned)firstItem(); i < end; i += stride)
      body(i);
    return;
  }
  for (long long i = firstItem(); i < count; i += itemStride())
    body(i);
}

/// Decomposes item `i` of [blocks, rows, columns].
struct Place {
  long long block, row, column;
};
template <typename Index>
__device__ inline Place placeOf(Index i, long long rows, long long columns) {
  Index row = i / (Index)columns, block = row / (Index)rows;
  return {(long long)block, (long long)(row - block * (Index)rows),
          (long long)(i - row * (Index)columns)};
}

struct Sum {
  template <typename T>
  __device__ static typename Element<T>::Wide
  combine(typename Element<T>::Wide a, typename Element<T>::Wide b) {
    return Element<T>::add(a, b);
  }
};

/// A maximum with a NaN is a NaN.
struct Max {
  template <typename T>
  __device__ static typename Element<T>::Wide
  combine(typename Element<T>::Wide a, typename Element<T>::Wide b) {
    return a > b || a != a ? a : b;
  }
};

template <typename T, typename Op>
__device__ inline void combineAll(const CombineArguments &c) {
  using E = Element<T>;
  eachItem(c.rows * c.count, [&](auto i) {
    Place at = placeOf(i, c.rows, c.count);
    long long from = at.row * c.sourcePitch + at.column;
    typename E::Wide sum = E::load(((const T *)c.sources[0])[from]);
    for (long long q = 1; q < c.numSources; ++q)
      sum = Op::template combine<T>(sum,
                                    E::load(((const T *)c.sources[q])[from]));
    ((T *)c.target)[at.row * c.targetPitch + at.column] = E::store(sum);
  });
}

template <typename Unit>
__device__ inline void copyAll(const CopyArguments &c) {
  eachItem(c.blocks * c.rows * c.units, [&](auto i) {
    Place at = placeOf(i, c.rows, c.units);
    ((Unit *)c
         .target)[at.block * c.targetBlock + at.row * c.targetRow + at.column] =
        ((const Unit *)c.source)[at.block * c.sourceBlock +
                                 at.row * c.sourceRow + at.column];
  });
}

__device__ inline float exponential(float x) { return expf(x); }
__device__ inline double exponential(double x) { return exp(x); }

/// The same formula as the compiler's (Operations/ScalarFunctions.cpp): x
/// sigmoid(2u) with u = sqrt(2 / pi) (x + 0.044715 x^3).
template <typename W> __device__ inline W geluGate(W x) {
  const W c = W(1.59576912160573071), ca = W(0.0713548162726009);
  return W(1) / (W(1) + exponential(-x * (c + ca * x * x)));
}

template <typename W> __device__ inline W geluSlope(W x) {
  const W c = W(1.59576912160573071), ca3 = W(0.2140644488178027);
  // Beyond these bounds the slope is 0 or 1, and products would overflow.
  x = x > W(25) ? W(25) : x < W(-25) ? W(-25) : x;
  W gate = geluGate(x);
  return gate + x * gate * (W(1) - gate) * (c + ca3 * x * x);
}

template <typename T>
__device__ inline void finishAll(const EpilogueArguments &c) {
  using E = Element<T>;
  using W = typename E::Wide;
  eachItem(c.blocks * c.rows * c.columns, [&](auto i) {
    Place at = placeOf(i, c.rows, c.columns);
    long long to = at.block * c.targetBlock + at.row * c.targetRow + at.column;
    W x = c.source ? ((const W *)c.source)[at.block * c.sourceBlock +
                                           at.row * c.sourceRow + at.column]
                   : W(0);
    if (c.bias)
      x += E::load(((const T *)c.bias)[at.column]);
    if (c.keep)
      ((T *)c.keep)[to] = E::store(x);
    if (c.gelu)
      x *= geluGate(x);
    if (c.slope)
      x *= geluSlope(E::load(((const T *)c.slope)[to]));
    ((T *)c.target)[to] = E::store(x);
  });
}

/// The position, among the partial sums, of a part of the sum at `kept`.
__device__ inline long long partialAt(const OperandSumArguments &c,
                                      long long kept, long long part) {
  return c.summedStride == 1 ? kept * c.parts + part : part * c.kept + kept;
}

template <typename T>
__device__ inline void sumParts(const OperandSumArguments &c) {
  using E = Element<T>;
  bool alongSum = c.summedStride == 1;
  eachItem(c.kept * c.parts, [&](auto i) {
    Place at =
        placeOf(i, alongSum ? c.kept : c.parts, alongSum ? c.parts : c.kept);
    long long kept = alongSum ? at.row : at.column;
    long long part = alongSum ? at.column : at.row;
    const T *from = (const T *)c.source + kept * c.keptStride;
    typename E::Wide sum = 0;
    for (long long j = part; j < c.summed; j += c.parts)
      sum += E::load(from[j * c.summedStride]);
    ((typename E::Wide *)c.partials)[partialAt(c, kept, part)] = sum;
  });
}

template <typename T>
__device__ inline void sumAll(const OperandSumArguments &c) {
  using E = Element<T>;
  eachItem(c.kept, [&](auto i) {
    typename E::Wide sum = 0;
    for (long long part = 0; part < c.parts; ++part)
      sum += ((const typename E::Wide *)c.partials)[partialAt(c, i, part)];
    ((T *)c.result)[i] = E::store(sum);
  });
}

/// target[row, column] = sums[row, column], rounded; `sums` is dense.
template <typename T> __device__ inline void roundAll(const RoundArguments &c) {
  eachItem(c.blocks * c.rows * c.columns, [&](auto i) {
    Place at = placeOf(i, c.rows, c.columns);
    ((T *)c
         .target)[at.block * c.targetBlock + at.row * c.targetRow + at.column] =
        T::store(c.sums[i]);
  });
}

struct alignas(16) Unit16 {
  unsigned long long halves[2];
};

/// Without segments all queries have number 0.
__device__ inline int numberOfQuery(const SegmentsArguments &c, long long batch,
                                    long long row) {
  return c.querySegments
             ? c.querySegments[batch * c.queryBatch + row * c.queryRow]
             : 0;
}

/// The least integer is no segment's number.
__device__ inline int numberOfKey(const SegmentsArguments &c, long long batch,
                                  long long key) {
  if (c.lengths && key >= c.lengths[batch * c.lengthBatch])
    return -0x7fffffff - 1;
  return c.keySegments ? c.keySegments[batch * c.keyBatch + key * c.keyRow] : 0;
}

__device__ inline void numberSegments(const SegmentsArguments &c) {
  eachItem(c.batch * c.queries, [&](auto i) {
    Place at = placeOf(i, c.batch, c.queries);
    c.queryNumbers[i] = numberOfQuery(c, at.row, at.column);
  });
  eachItem(c.batch * c.keys, [&](auto i) {
    Place at = placeOf(i, c.batch, c.keys);
    c.keyNumbers[i] = numberOfKey(c, at.row, at.column);
  });
}

__device__ inline void maskSegments(const SegmentsArguments &c) {
  const long long units = c.pitch / 8;
  eachItem(c.batch * c.queries * units, [&](auto i) {
    Place at = placeOf(i, c.queries, units);
    int number = numberOfQuery(c, at.block, at.row);
    Unit16 bits = {{0, 0}};
    for (int j = 0; j < 8; ++j) {
      long long key = 8 * at.column + j;
      if (key >= c.keys || numberOfKey(c, at.block, key) != number)
        bits.halves[j / 4] |= (unsigned long long)c.hidden << (16 * (j % 4));
    }
    ((Unit16 *)c.mask)[i] = bits;
  });
}

__device__ inline void clearRows(const AttentionRowsArguments &c) {
  eachItem(c.batch * c.heads * c.rows, [&](auto i) {
    if (!(c.statistic[i] <= c.limit))
      return;
    c.statistic[i] = -INFINITY;
    Place at = placeOf(i, c.heads, c.rows);
    unsigned short *row = c.result + at.block * c.resultBatch +
                          at.row * c.resultHead + at.column * c.resultRow;
    for (long long j = 0; j < c.features; ++j)
      row[j] = 0;
  });
}

__device__ inline void copyStatistic(const AttentionRowsArguments &c) {
  eachItem(c.batch * c.heads * c.rows, [&](auto i) {
    float x = c.statistic[i];
    c.copy[i] = x <= c.limit ? 0 : x;
  });
}

} // namespace

#define TPSP_COMBINE(NAME, TYPE, OP)                                           \
  extern "C" __global__ void tpsp_##NAME(                                      \
      const __grid_constant__ CombineArguments c) {                            \
    combineAll<TYPE, OP>(c);                                                   \
  }
#define TPSP_COPY(NAME, UNIT)                                                  \
  extern "C" __global__ void tpsp_##NAME(                                      \
      const __grid_constant__ CopyArguments c) {                               \
    copyAll<UNIT>(c);                                                          \
  }
#define TPSP_EPILOGUE(DTYPE, SWEEP, PARTS, SUM, TYPE)                          \
  extern "C" __global__ void tpsp_##SWEEP(                                     \
      const __grid_constant__ EpilogueArguments c) {                           \
    finishAll<TYPE>(c);                                                        \
  }                                                                            \
  extern "C" __global__ void tpsp_##PARTS(                                     \
      const __grid_constant__ OperandSumArguments c) {                         \
    sumParts<TYPE>(c);                                                         \
  }                                                                            \
  extern "C" __global__ void tpsp_##SUM(                                       \
      const __grid_constant__ OperandSumArguments c) {                         \
    sumAll<TYPE>(c);                                                           \
  }
#define TPSP_ROUND(NAME, TYPE)                                                 \
  extern "C" __global__ void tpsp_##NAME(                                      \
      const __grid_constant__ RoundArguments c) {                              \
    roundAll<TYPE>(c);                                                         \
  }
#define TPSP_GROUPED(DTYPE, NAME, TYPE, ALONG_A, ALONG_B)                      \
  extern "C" __global__ void __launch_bounds__(groupedThreads, 2)              \
      tpsp_##NAME(const __grid_constant__ GroupedArguments c) {                \
    multiplyGrouped<TYPE, ALONG_A, ALONG_B>(c);                                \
  }
// Only machine code for 9.0 has warpgroup products. Other code is never called.
#define TPSP_WIDE(DTYPE, NAME, TYPE, ALONG_A, ALONG_B)                         \
  extern "C" __global__ void __launch_bounds__(wideThreads, 1)                 \
      tpsp_##NAME(const __grid_constant__ GroupedArguments c) {                \
    if constexpr (hasWarpgroups)                                               \
      multiplyWide<WideShape<TYPE>, ALONG_A, ALONG_B>(c);                      \
  }
#define TPSP_ATTENTION(NAME, ARGUMENTS, FUNCTION)                              \
  extern "C" __global__ void tpsp_##NAME(                                      \
      const __grid_constant__ ARGUMENTS c) {                                   \
    FUNCTION(c);                                                               \
  }
#include "DeviceKernels.def"

extern "C" __global__ void __launch_bounds__(orderThreads)
    tpsp_order_rows(const __grid_constant__ GroupedArguments c) {
  orderRows(c);
}
