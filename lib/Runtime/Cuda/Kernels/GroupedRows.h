/// The first pass of a grouped product, in which the GPU finds which rows
/// belong to which matrix. Also the form in which the second pass reads them.
#ifndef TPSP_RUNTIME_CUDA_KERNELS_GROUPEDROWS_H
#define TPSP_RUNTIME_CUDA_KERNELS_GROUPEDROWS_H

#include "DeviceKernelTypes.h"
#include "ThreadBlock.h"

namespace tpsp::rt::device {

__device__ inline long long lesser(long long a, long long b) {
  return a < b ? a : b;
}

/// The beginnings of the matrices and integers at a point of some loops.
struct Offsets {
  long long a = 0, b = 0, c = 0, ids = 0;
};

__device__ inline Offsets offsetsAt(const GroupedLoop *loops, long long count,
                                    long long number) {
  Offsets at;
#pragma unroll 1
  for (long long i = count; i-- > 0;) {
    long long place = number % loops[i].extent;
    number /= loops[i].extent;
    at.a += place * loops[i].a;
    at.b += place * loops[i].b;
    at.c += place * loops[i].c;
    at.ids += place * loops[i].ids;
  }
  return at;
}

__device__ inline Offsets offsetsOfPoint(const GroupedArguments &c,
                                         long long point) {
  return offsetsAt(c.loop, c.batchLoops, point);
}

__device__ inline Offsets offsetsOfStep(const GroupedArguments &c,
                                        long long step) {
  return offsetsAt(c.loop + c.batchLoops, c.loops - c.batchLoops, step);
}

/// Positions along an index: consecutive from `first`, or listed. If they are
/// listed, `first` is 0.
struct Positions {
  const long long *list;
  long long first, count;

  __device__ long long at(long long i) const {
    return list ? list[i] : first + i;
  }
  __device__ Positions behind(long long skipped) const {
    return {list ? list + skipped : list, list ? 0 : first + skipped,
            count - skipped};
  }
  __device__ Positions upTo(long long most) const {
    return {list, first, lesser(count, most)};
  }
};

/// One list's part of `order`.
class OrderedRows {
public:
  __device__ OrderedRows(const GroupedArguments &c, long long list)
      : begins(c.order + list * (c.rows + c.groups + 2)),
        rows(begins + c.groups + 2) {}

  __device__ long long begin(long long group) const { return begins[group]; }

  /// The rows of a group, in ascending order. If the list's integers are
  /// sorted, the rows are consecutive and need no list.
  __device__ Positions of(long long group) const {
    long long from = begins[group], count = begins[group + 1] - from;
    if (count == 0)
      return {nullptr, 0, 0};
    const long long *list = rows + from;
    bool isDense = list[count - 1] - list[0] == count - 1;
    return {isDense ? nullptr : list, isDense ? list[0] : 0, count};
  }

  long long *begins, *rows;
};

/// The number of rows of a group, and of all groups before it.
struct RowCounts {
  long long own, lower;
};

/// A thread's part of a list.
struct OrderState {
  long long begin, end;
};

/// The group of an integer. Integers outside all groups get the last number,
/// `groups`.
__device__ inline long long groupOf(const GroupedArguments &c, int id) {
  long long group = (long long)id - c.firstGroup;
  return group >= 0 && group < c.groups ? group : c.groups;
}

/// Computes prefix sums of the counts that all threads have written to
/// counts[0]. In the returned half of `counts`, each thread has the sum of its
/// own count and those before it.
__device__ inline int sumCounts(ThreadBlock<OrderState> &block,
                                RowCounts (*counts)[orderThreads]) {
  int from = 0;
  for (unsigned distance = 1; distance < orderThreads; distance *= 2) {
    block.meet();
    block.each([&](OrderState &) {
      RowCounts sum = counts[from][threadIdx.x];
      if (threadIdx.x >= distance) {
        RowCounts before = counts[from][threadIdx.x - distance];
        sum.own += before.own;
        sum.lower += before.lower;
      }
      counts[1 - from][threadIdx.x] = sum;
    });
    from = 1 - from;
  }
  block.meet();
  return from;
}

/// The first pass: a block lists the rows of one group of one list.
__device__ inline void orderRows(const GroupedArguments &c) {
  __shared__ RowCounts counts[2][orderThreads];
  ThreadBlock<OrderState> block;
  if (!block.leads())
    return;
  long long part = (c.rows + orderThreads - 1) / orderThreads;
  for (long long unit = blockIdx.x; unit < c.lists * (c.groups + 1);
       unit += gridDim.x) {
    long long list = unit / (c.groups + 1), group = unit % (c.groups + 1);
    long long stepsOfPoint = c.sumsRows ? c.steps : 1;
    const int *ids = c.ids + offsetsOfPoint(c, list / stepsOfPoint).ids;
    if (c.sumsRows)
      ids += offsetsOfStep(c, list % stepsOfPoint).ids;
    block.each([&](OrderState &own) {
      own.begin = lesser(c.rows, threadIdx.x * part);
      own.end = lesser(c.rows, own.begin + part);
      RowCounts count = {0, 0};
      for (long long i = own.begin; i < own.end; ++i) {
        long long found = groupOf(c, ids[i]);
        count.own += found == group;
        count.lower += found < group;
      }
      counts[0][threadIdx.x] = count;
    });
    int sums = sumCounts(block, counts);
    OrderedRows ordered(c, list);
    block.each([&](OrderState &own) {
      long long begin = counts[sums][orderThreads - 1].lower, at = begin;
      if (threadIdx.x == 0)
        ordered.begins[group] = begin;
      else
        at += counts[sums][threadIdx.x - 1].own;
      if (threadIdx.x == 0 && group == c.groups)
        ordered.begins[group + 1] = c.rows;
      for (long long i = own.begin; i < own.end; ++i)
        if (groupOf(c, ids[i]) == group)
          ordered.rows[at++] = i;
    });
    block.meet();
  }
}

} // namespace tpsp::rt::device

#endif // TPSP_RUNTIME_CUDA_KERNELS_GROUPEDROWS_H
