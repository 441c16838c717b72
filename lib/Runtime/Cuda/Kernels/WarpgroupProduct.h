/// The second pass of a grouped product of 16-bit types on a GPU with warpgroup
/// products. Slices of A and B are copied to a ring in shared memory. The ring
/// is filled across the ends of tiles of C, so the next tile's first slices
/// arrive while this tile is stored.
///
/// A slice of an operand consists of lines of 128 bytes along the dimension
/// that is contiguous in memory. If that is k, each position of the edge has a
/// line. Otherwise each position of k has one in every block of 64 positions of
/// the edge. The 16-byte chunks of a line are permuted by the line's number, as
/// the tensor cores expect it.
///
/// All operands must begin, and have strides and lines, at multiples of 16
/// bytes. Rows that are listed must be lines. A line's number and its stride in
/// bytes must be below 2^32. `CudaGroupedMatmul::canBeWide` checks
/// this on the host.
#ifndef TPSP_RUNTIME_CUDA_KERNELS_WARPGROUPPRODUCT_H
#define TPSP_RUNTIME_CUDA_KERNELS_WARPGROUPPRODUCT_H

#include "GroupedProduct.h"
#include "Warpgroup.h"

namespace tpsp::rt::device {

template <typename T, int EdgeM = wideEdgeM, int EdgeN = wideEdgeN,
          int Stages = wideStages>
struct WideShape {
  using Number = T;
  static constexpr int edgeM = EdgeM, edgeN = EdgeN, depth = wideDepth,
                       stages = Stages;
  /// Blocks of 64 rows of a warpgroup.
  static constexpr int squares = edgeM / (wideThreads / 128 * 64);
  static constexpr int bytesA = edgeM * depth * 2, bytesB = edgeN * depth * 2,
                       bytes = wideBytes(edgeM, edgeN, stages);
};

/// The bytes between blocks of 64 positions of the edge.
constexpr int blockPitch = wideDepth * 128;

/// Begins to copy a slice of one operand. Each thread copies the same place of
/// several lines. Elements outside the matrix become 0.
template <typename T, int Edge, bool AlongK>
__device__ inline void beginSlice(unsigned char *slice, const T *matrix,
                                  long long stride, const Positions &edge,
                                  const Positions &k) {
  constexpr int size = Chunk<T>::size,
                inLine = (AlongK ? wideDepth : Edge) / size,
                inPass = wideThreads / inLine,
                passes = (AlongK ? Edge : wideDepth) / inPass;
  static_assert(inPass % 8 == 0, "places do not depend on the pass");
  const Positions &lines = AlongK ? edge : k, &columns = AlongK ? k : edge;
  const int line = int(threadIdx.x) / inLine, place = int(threadIdx.x) % inLine;
  const int count = place * size < columns.count
                        ? int(lesser(lines.count, inPass * passes))
                        : 0;
  const unsigned pitch = unsigned(stride) * unsigned(sizeof(T));
  const T *from = matrix + lines.first * stride + columns.first + place * size;
  unsigned char *to =
      slice + place / 8 * blockPitch + line * 128 + (place ^ line) % 8 * 16;
  unsigned rows[passes];
#pragma unroll
  for (int i = 0; i < passes; ++i)
    rows[i] = unsigned(line + i * inPass);
  if (lines.list)
#pragma unroll
    for (int i = 0; i < passes; ++i)
      rows[i] = line + i * inPass < count ? unsigned(lines.list[rows[i]]) : 0;
#pragma unroll
  for (int i = 0; i < passes; ++i)
    beginWholeCopy(to + i * inPass * 128,
                   (const char *)from + (unsigned long long)rows[i] * pitch,
                   line + i * inPass < count);
}

/// The tile of a slice in the ring.
template <typename T> struct SliceNote {
  /// The number of the tile's slices; 0 if there are no more tiles.
  long long slices;
  TileTarget<T> target;
};

/// The slices of all tiles of a block, one after another. A tile that sums
/// nothing has one slice without positions.
template <typename Shape> class SliceFeed {
public:
  using T = typename Shape::Number;

  __device__ explicit SliceFeed(const GroupedArguments &g)
      : g(g), tile(blockIdx.x) {
    open();
  }

  template <bool AlongA, bool AlongB>
  __device__ void begin(unsigned char *stage, SliceNote<T> &note) const {
    if (threadIdx.x == 0) {
      note.slices = left == 0 ? 0 : total;
      note.target = {job.c + job.n.first, g.ldc, job.n.count, job.m};
    }
    if (left == 0)
      return;
    beginSlice<T, Shape::edgeM, AlongA>(
        stage, slices.a, AlongA ? g.mStrideA : g.kStrideA, job.m, slices.k);
    beginSlice<T, Shape::edgeN, AlongB>(stage + Shape::bytesA, slices.b,
                                        AlongB ? g.nStrideB : g.kStrideB, job.n,
                                        slices.k);
  }

  __device__ void next() {
    if (left == 0)
      return;
    if (--left > 0) {
      slices.next(g, job);
      return;
    }
    tile += gridDim.x;
    open();
  }

private:
  __device__ void open() {
    left = 0;
#pragma unroll 1
    for (; tile < g.tiles; tile += gridDim.x) {
      job = GroupedJob<Shape>(g, tile);
      if (job.m.count <= 0)
        continue;
      slices = Slices<Shape>(g, job);
      left = total = slices.total > 0 ? slices.total : 1;
      return;
    }
  }

  const GroupedArguments &g;
  long long tile, left = 0, total = 0;
  GroupedJob<Shape> job;
  Slices<Shape> slices;
};

/// A thread's sums of a tile of C. Each warpgroup has rows of its own.
template <typename Shape> struct WideSums {
  using T = typename Shape::Number;
  static constexpr int squares = Shape::squares;
  float sums[squares][Shape::edgeN / 2];

  /// The first row of a block of 64 rows.
  __device__ static int rowOf(int square) {
    return (int(threadIdx.x) / 128 * squares + square) * 64;
  }

  template <bool Along>
  __device__ static SharedOperand operandAt(const unsigned char *slice,
                                            int edge, int step) {
    return {slice + (Along ? edge * 128 + step * 32
                           : edge / 64 * blockPitch + step * 16 * 128),
            blockPitch};
  }

  /// Begins the products of a slice. `adds` is false for a tile's first slice.
  template <bool AlongA, bool AlongB>
  __device__ void multiply(const unsigned char *stage, bool adds) {
    openProducts();
#pragma unroll
    for (int step = 0; step < Shape::depth / 16; ++step)
#pragma unroll
      for (int i = 0; i < squares; ++i)
        multiplyShared<T, !AlongA, !AlongB>(
            sums[i], operandAt<AlongA>(stage, rowOf(i), step),
            operandAt<AlongB>(stage + Shape::bytesA, 0, step),
            adds || step > 0);
    closeProducts();
  }

  __device__ void finish() {
#pragma unroll
    for (int i = 0; i < squares; ++i)
      finishProducts(sums[i]);
  }

  /// Stores 16 bytes at a time.
  __device__ void store(const TileTarget<T> &target) const {
    const int warp = int(threadIdx.x) / 32 % 4, lane = int(threadIdx.x) % 32;
#pragma unroll
    for (int i = 0; i < 2 * squares; ++i) {
      T *row = target.row(rowOf(i / 2) + warp * 16 + i % 2 * 8 + lane / 4);
#pragma unroll
      for (int q = 0; q < Shape::edgeN / 32; ++q) {
        Chunk<T> chunk;
        columnsOfThread(chunk.values, sums[i / 2], q, i % 2);
        target.putChunk(row, q * 32 + lane % 4 * 8, chunk);
      }
    }
  }
};

/// The kernel. Rows along m need `AlongA`; rows along k need neither `AlongA`
/// nor `AlongB`.
template <typename Shape, bool AlongA, bool AlongB>
__device__ inline void multiplyWide(const GroupedArguments &g) {
  using T = typename Shape::Number;
  using Sums = WideSums<Shape>;
  constexpr int stages = Shape::stages, ahead = stages - 2,
                bytes = Shape::bytesA + Shape::bytesB;
  static_assert(sizeof(SliceNote<T>) <= 128);
  ThreadBlock<Sums> block;
  if (!block.leads())
    return;
  unsigned char *ring = launchedMemory<Shape::bytes>();
  auto *notes = (SliceNote<T> *)(ring + stages * bytes);
  SliceFeed<Shape> feed(g);
  int target = 0, source = 0;
  auto beginNext = [&] {
    block.each([&](Sums &) {
      feed.template begin<AlongA, AlongB>(ring + target * bytes, notes[target]);
      closeCopies();
    });
    target = target + 1 == stages ? 0 : target + 1;
    feed.next();
  };
  // Waits until the slice at `source` is there. The products of the slice
  // before the last one have then ended in all threads, so its place is free.
  auto receive = [&] {
    block.each([&](Sums &) {
      waitForCopies<ahead - 1>();
      showToProducts();
    });
    block.meet();
  };
#pragma unroll 1
  for (int i = 0; i < ahead; ++i)
    beginNext();
  for (;;) {
    receive();
    const long long slices = notes[source].slices;
    if (slices == 0)
      break;
#pragma unroll 1
    for (long long slice = 0;;) {
      const unsigned char *stage = ring + source * bytes;
      block.each([&](Sums &own) {
        own.template multiply<AlongA, AlongB>(stage, slice > 0);
      });
      block.each([&](Sums &) { waitForProducts<1>(); });
      beginNext();
      if (++slice == slices)
        break;
      source = source + 1 == stages ? 0 : source + 1;
      receive();
    }
    // Other threads overwrite the note only after the next meeting.
    block.each([&](Sums &own) { own.finish(); });
    block.each([&](Sums &own) { own.store(notes[source].target); });
    source = source + 1 == stages ? 0 : source + 1;
  }
}

} // namespace tpsp::rt::device

#endif // TPSP_RUNTIME_CUDA_KERNELS_WARPGROUPPRODUCT_H
