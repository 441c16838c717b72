/// The arguments of the built-in kernels. Host and device code share this
/// header, so it is plain C++ without the standard library.
#ifndef TPSP_RUNTIME_CUDA_KERNELS_DEVICEKERNELTYPES_H
#define TPSP_RUNTIME_CUDA_KERNELS_DEVICEKERNELTYPES_H

namespace tpsp::rt {

/// The largest number of ranks that share a GPU. Their addresses are a kernel's
/// parameters, which are at most 4 KiB.
constexpr long long maxSources = 128;

/// target[row, i] = sources[0][row, i] op sources[1][row, i] op ..., from left
/// to right, for `count` elements of each of `rows` rows. Pitches are in
/// elements.
struct CombineArguments {
  void *target;
  long long numSources, rows, count, targetPitch, sourcePitch;
  const void *sources[maxSources];
};

/// Copies `blocks` blocks of `rows` runs of `units` units; all strides are in
/// units.
struct CopyArguments {
  void *target;
  const void *source;
  long long blocks, rows, units;
  long long targetBlock, targetRow, sourceBlock, sourceRow;
};

/// Rounds f32 sums, dense [blocks, rows, columns], to 16 bits. Strides are in
/// elements.
struct RoundArguments {
  void *target;
  const float *sums;
  long long blocks, rows, columns, targetBlock, targetRow;
};

/// A matmul's epilogue that cuBLASLt does not have. x = source[block, row,
/// column] in the type of arithmetic, or 0 if `source` is null. Then: x +=
/// bias[column]; keep = x; x = gelu(x); x *= gelu'(slope); target = x. A step
/// whose pointer is null is left out. `keep` and `slope` are laid out as
/// `target` is. Strides are in elements. `source` may be `target`.
struct EpilogueArguments {
  void *target;
  const void *source, *bias;
  void *keep;
  const void *slope;
  long long gelu;
  long long blocks, rows, columns;
  long long targetBlock, targetRow, sourceBlock, sourceRow;
};

/// A sum over an operand in two passes: result[i] = sum over j of source[i, j].
/// The first pass makes `parts` sums for each i, over j = part, part + parts,
/// ..., in the type of arithmetic. The second pass adds these up. The order is
/// always the same. Strides are in elements. Neighbouring threads read
/// neighbours of the source: along j if `summedStride` is 1, otherwise along i.
/// `partials` has the same layout.
struct OperandSumArguments {
  void *result, *partials;
  const void *source;
  long long kept, summed, keptStride, summedStride, parts;
};

/// The rows of an attention without keys, [batch, heads, rows], are those whose
/// statistic is at most `limit`. `statistic` is dense. The first kernel sets
/// their statistic to minus infinity and the `features` elements of their
/// result, of 16 bits, to 0. The second copies the statistic to `copy`, with 0
/// for these rows. Strides are in elements.
struct AttentionRowsArguments {
  float *statistic, *copy;
  unsigned short *result;
  float limit;
  long long batch, heads, rows, features;
  long long resultBatch, resultHead, resultRow;
};

/// Which keys of an attention count: of the first `keys` those whose segment
/// number is the query's, and whose position is below the length. A pointer is
/// null if there is no such tensor. Strides are in elements.
///
/// The first kernel writes numbers, [batch, queries] and [batch, keys]: a key
/// counts if it has the query's number. The second writes 16-bit elements,
/// [batch, queries, pitch]: 0 if the key counts, else `hidden`. `pitch` is a
/// multiple of 8.
struct SegmentsArguments {
  const int *querySegments, *keySegments, *lengths;
  int *queryNumbers, *keyNumbers;
  unsigned short *mask;
  long long batch, queries, keys, pitch, hidden;
  long long queryBatch, queryRow, keyBatch, keyRow, lengthBatch;
};

/// A loop of a grouped product: its extent, and the distance between its places
/// in elements of each operand.
struct GroupedLoop {
  long long extent, a, b, c, ids;
};

/// The largest number of loops with more than one place in a command. Each such
/// loop at least doubles the number of points, which is below 2^63.
constexpr long long maxGroupedLoops = 63;

/// A GroupedMatmulCommand. The first pass sorts the rows of every list of
/// integers by group. Rows without a group come last, as those of group number
/// `groups`. For each list, `order` has `groups` + 2 numbers, which say where
/// each group begins among the sorted rows. The sorted rows follow them.
///
/// A[m, k] is at m * mStrideA + k * kStrideA, and B[k, n] correspondingly. The
/// first `batchLoops` loops are the batch's. Each point of the batch has a list
/// or, if `sumsRows`, each point and step. Tiles along m are counted over all
/// groups together or, if `sumsRows`, for each group.
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

/// Threads of a block in the first and in the second pass.
constexpr int orderThreads = 1024, groupedThreads = 128;

/// The number of rows, and of columns, of C that a block computes.
constexpr int groupedEdge(int elementBytes) {
  return elementBytes == 2 ? 128 : 64;
}

/// The second pass on a GPU with warpgroup products, for 16-bit types. A block
/// has `wideThreads` threads and computes `wideEdgeM` rows of `wideEdgeN`
/// columns of C. A slice is `wideDepth` positions of k; `wideStages` of them
/// are in shared memory.
constexpr int wideThreads = 256, wideEdgeM = 128, wideEdgeN = 256,
              wideDepth = 64, wideStages = 4;
constexpr int wideBytes(int edgeM, int edgeN, int stages) {
  return stages * ((edgeM + edgeN) * wideDepth * 2 + 128);
}

} // namespace tpsp::rt

#endif // TPSP_RUNTIME_CUDA_KERNELS_DEVICEKERNELTYPES_H
