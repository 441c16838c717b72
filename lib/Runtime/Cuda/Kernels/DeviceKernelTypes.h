/// What the built-in kernels are given; shared by host and device code, hence
/// plain C++ without the standard library.
#ifndef TPSP_RUNTIME_CUDA_KERNELS_DEVICEKERNELTYPES_H
#define TPSP_RUNTIME_CUDA_KERNELS_DEVICEKERNELTYPES_H

namespace tpsp::rt {

/// How many ranks may share a GPU: their addresses are a kernel's parameters,
/// which are 4 KiB at most.
constexpr long long maxSources = 128;

/// target[row, i] = sources[0][row, i] op sources[1][row, i] op ..., from left
/// to right, for `count` elements of `rows` rows; pitches in elements.
struct CombineArguments {
  void *target;
  long long numSources, rows, count, targetPitch, sourcePitch;
  const void *sources[maxSources];
};

/// Copies `blocks` blocks of `rows` runs of `units` units; all strides in
/// units.
struct CopyArguments {
  void *target;
  const void *source;
  long long blocks, rows, units;
  long long targetBlock, targetRow, sourceBlock, sourceRow;
};

/// Rounds f32 sums, dense [blocks, rows, columns], to 16 bits; strides
/// in elements.
struct RoundArguments {
  void *target;
  const float *sums;
  long long blocks, rows, columns, targetBlock, targetRow;
};

/// A matmul's epilogue where cuBLASLt has none. For x = source[block, row,
/// column], in the type of arithmetic, or 0 if there is no source: x +=
/// bias[column]; keep = x; x = gelu(x); x *= gelu'(slope); target = x. `keep`
/// and `slope` are laid out as `target` is; what is null is left out. Strides
/// in elements. `source` may be `target`.
struct EpilogueArguments {
  void *target;
  const void *source, *bias;
  void *keep;
  const void *slope;
  long long gelu;
  long long blocks, rows, columns;
  long long targetBlock, targetRow, sourceBlock, sourceRow;
};

/// A sum over an operand in two passes, result[i] = sum over j of source[i, j].
/// The first makes `parts` sums for each i, of j = part, part + parts, ..., in
/// the type of arithmetic. The second adds these. The order never changes.
/// Strides in elements. Neighbouring threads are at neighbours of the source:
/// along j if `summedStride` is 1, else along i; `partials` lies the same way.
struct OperandSumArguments {
  void *result, *partials;
  const void *source;
  long long kept, summed, keptStride, summedStride, parts;
};

/// A loop of a grouped product: from one of its places to the next, in elements
/// of each operand.
struct GroupedLoop {
  long long extent, a, b, c, ids;
};

/// Whatever a command has of loops with more than one place: each doubles the
/// number of their points, which is below 2^63.
constexpr long long maxGroupedLoops = 63;

/// A GroupedMatmulCommand. First the rows of every list of integers are put in
/// order of their groups. The rows of no group come last, as those of group
/// number `groups`. For each list `order` has `groups` + 2 numbers, where the
/// rows of each group begin among the ordered ones. Then it has these.
///
/// A[m, k] is at m * mStrideA + k * kStrideA, and likewise B[k, n]. Of the
/// loops the first `batchLoops` are the batch's. Each point of the batch has a
/// list or, if `sumsRows`, each point and step. Tiles along m are those of all
/// groups together or, if `sumsRows`, of each.
struct GroupedArguments {
  const void *a, *b;
  void *c;
  const int *ids;
  long long *order;
  long long sumsRows, m, n, k;
  long long mStrideA, kStrideA, kStrideB, nStrideB, ldc;
  long long groups, groupStride, firstGroup;
  long long points, steps, lists, rows;
  long long tiles, tilesM, tilesN;
  long long batchLoops, loops;
  GroupedLoop loop[maxGroupedLoops];
};

/// Threads of a block of either pass.
constexpr int orderThreads = 1024, groupedThreads = 128;

/// A block makes so many rows and columns of C.
constexpr int groupedEdge(int elementBytes) {
  return elementBytes == 2 ? 128 : 64;
}

} // namespace tpsp::rt

#endif // TPSP_RUNTIME_CUDA_KERNELS_DEVICEKERNELTYPES_H
