/// Tiles of two matrices in shared memory, and their multiplication by threads.
///
/// A tile is `edge` positions along m or n by `depth` along k, which is 64
/// bytes. It consists of 16-byte chunks, in lines along the dimension that is
/// contiguous in memory. The chunks of a line are permuted by the line's
/// number. So threads that read one chunk from each of eight lines have no bank
/// conflict.
#ifndef TPSP_RUNTIME_CUDA_KERNELS_GROUPEDTILE_H
#define TPSP_RUNTIME_CUDA_KERNELS_GROUPEDTILE_H

#include "GroupedRows.h"

namespace tpsp::rt::device {

template <typename T> struct alignas(16) Chunk {
  static constexpr int size = 16 / sizeof(T);
  T values[size];
};

template <typename T> struct Tile {
  using Number = T;
  static constexpr int edge = groupedEdge(sizeof(T)), depth = 64 / sizeof(T);
  static constexpr int edgeM = edge, edgeN = edge;
  static constexpr int chunks = edge * 4;

  /// With `AlongK`, lines run along k, and each position of m or n has one
  /// line.
  template <bool AlongK>
  static constexpr int chunksOfLine = AlongK ? 4 : edge / Chunk<T>::size;

  template <bool AlongK> __device__ static int chunkAt(int line, int place) {
    int turned = AlongK ? place ^ (line >> 1 & 3) : place ^ (line & 7);
    return line * chunksOfLine<AlongK> + turned;
  }
};

/// A part of a matrix, no larger than a tile, that has lines of one length. The
/// elements of a line are adjacent in memory, or their positions are listed.
template <typename T> struct TileSource {
  /// The first element of the first line. If positions are listed, the element
  /// at position 0.
  const T *first;
  long long stride;
  const Positions &lines, &line;
  int numLines, length;

  /// Whether each line is contiguous and aligned to 16 bytes.
  __device__ bool isWhole() const {
    return !line.list && stride % Chunk<T>::size == 0 &&
           (unsigned long long)first % sizeof(Chunk<T>) == 0;
  }
};

/// Begins to copy whole chunks. Each thread copies the same place of several
/// lines.
template <typename T, bool AlongK>
__device__ inline void beginChunks(Chunk<T> *tile, const TileSource<T> &from) {
  constexpr int inLine = Tile<T>::template chunksOfLine<AlongK>,
                count = Tile<T>::chunks / groupedThreads,
                step = groupedThreads / inLine;
  const int line = int(threadIdx.x) / inLine,
            place = int(threadIdx.x) % inLine * Chunk<T>::size;
  long long lines[count];
#pragma unroll
  for (int i = 0; i < count; ++i)
    lines[i] = line + i * step;
  if (from.lines.list)
#pragma unroll
    for (int i = 0; i < count; ++i)
      lines[i] = from.lines.list[lines[i] < from.numLines ? lines[i] : 0];
  const int left = int(lesser(from.length - place, Chunk<T>::size));
#pragma unroll
  for (int i = 0; i < count; ++i) {
    int bytes =
        left > 0 && line + i * step < from.numLines ? left * int(sizeof(T)) : 0;
    // The permutation of places repeats after eight lines.
    Chunk<T> *to = tile + i * step / 8 * 8 * inLine +
                   Tile<T>::template chunkAt<AlongK>(line + i * step % 8,
                                                     place / Chunk<T>::size);
    beginCopy(to, from.first + lines[i] * from.stride + place, bytes);
  }
}

/// Copies element by element.
template <typename T, bool AlongK>
__device__ inline void copyElements(Chunk<T> *tile, const TileSource<T> &from) {
  constexpr int size = Chunk<T>::size,
                inLine = Tile<T>::template chunksOfLine<AlongK> * size;
#pragma unroll 1
  for (int number = int(threadIdx.x); number < Tile<T>::chunks * size;
       number += groupedThreads) {
    int at = number / inLine, inside = number % inLine;
    T value = {};
    if (at < from.numLines && inside < from.length)
      value = from.first[(from.lines.list ? from.lines.list[at] : at) *
                             from.stride +
                         (from.line.list ? from.line.list[inside] : inside)];
    tile[Tile<T>::template chunkAt<AlongK>(at, inside / size)]
        .values[inside % size] = value;
  }
}

/// Begins to copy a tile: the part of a matrix at these positions. One of the
/// matrix's strides is 1. Elements of the tile outside the matrix become 0.
template <typename T, bool AlongK>
__device__ inline void beginTile(Chunk<T> *tile, const T *matrix,
                                 long long edgeStride, long long kStride,
                                 const Positions &edge, const Positions &k) {
  const Positions &lines = AlongK ? edge : k, &line = AlongK ? k : edge;
  const long long stride = AlongK ? edgeStride : kStride;
  constexpr int edgeMost = Tile<T>::edge, kMost = Tile<T>::depth;
  TileSource<T> from{matrix + line.first + lines.first * stride,
                     stride,
                     lines,
                     line,
                     int(lesser(lines.count, AlongK ? edgeMost : kMost)),
                     int(lesser(line.count, AlongK ? kMost : edgeMost))};
  if (from.isWhole())
    beginChunks<T, AlongK>(tile, from);
  else
    copyElements<T, AlongK>(tile, from);
}

/// The destination of a tile of C: rows at `m`, and consecutive columns.
template <typename T> struct TileTarget {
  T *base;
  long long stride, columns;
  Positions m;

  using Wide = typename Element<T>::Wide;
  struct alignas(2 * sizeof(T)) Pair {
    T values[2];
  };

  /// The address of a row; null if there is no such row.
  __device__ T *row(int row) const {
    return row < m.count ? base + m.at(row) * stride : nullptr;
  }
  __device__ void put(T *row, int column, Wide value) const {
    if (row && column < columns)
      row[column] = Element<T>::store(value);
  }
  /// Stores the values from `column` on. The address is a multiple of 16.
  __device__ void putChunk(T *row, int column, const Chunk<T> &chunk) const {
    if (row && column + Chunk<T>::size <= columns) {
      *(Chunk<T> *)(row + column) = chunk;
      return;
    }
#pragma unroll
    for (int i = 0; i < Chunk<T>::size; ++i)
      if (row && column + i < columns)
        row[column + i] = chunk.values[i];
  }
  /// Stores two values, at `column` and at the next one.
  __device__ void putPair(T *row, int column, Wide first, Wide second) const {
    if (row && column + 1 < columns &&
        (unsigned long long)(row + column) % sizeof(Pair) == 0) {
      *(Pair *)(row + column) = {
          {Element<T>::store(first), Element<T>::store(second)}};
      return;
    }
    put(row, column, first);
    put(row, column + 1, second);
  }
};

/// A thread's sums of a tile of C for 16-bit types. Four warps have a quarter
/// of the tile each, and use the tensor cores.
template <typename T> struct MatrixSums {
  static constexpr int steps = 2, rows = 4, columns = 8;
  float sums[rows][columns][4];
  unsigned a[rows][4], b[columns / 2][4];

  __device__ static int rowOfWarp() { return threadIdx.x / 32 % 2 * 64; }
  __device__ static int columnOfWarp() { return threadIdx.x / 64 * 64; }

  __device__ void clear() {
#pragma unroll
    for (int i = 0; i < rows; ++i)
#pragma unroll
      for (int j = 0; j < columns; ++j)
#pragma unroll
        for (float &sum : sums[i][j])
          sum = 0;
  }

  /// Loads 16 x 16 numbers from position `edge` on at step `step` of k, as four
  /// matrices whose numbers are adjacent along k. The second matrix is the next
  /// along k if `KFirst`, and the next along the edge otherwise.
  template <bool AlongK, bool KFirst>
  __device__ static void loadSquare(unsigned (&registers)[4],
                                    const Chunk<T> *tile, int edge, int step) {
    loadMatrices<!AlongK>(registers, [&](int row) {
      int odd = row / 8 % 2 * 8, high = row / 16 * 8,
          atEdge = edge + (KFirst ? high : odd),
          atK = step * 16 + (KFirst ? odd : high);
      return tile + (AlongK ? Tile<T>::template chunkAt<true>(atEdge + row % 8,
                                                              atK / 8)
                            : Tile<T>::template chunkAt<false>(atK + row % 8,
                                                               atEdge / 8));
    });
  }

  template <bool AlongA, bool AlongB>
  __device__ void load(const Chunk<T> *tileA, const Chunk<T> *tileB, int step) {
#pragma unroll
    for (int i = 0; i < rows; ++i)
      loadSquare<AlongA, /*KFirst=*/false>(a[i], tileA, rowOfWarp() + i * 16,
                                           step);
#pragma unroll
    for (int j = 0; j < columns / 2; ++j)
      loadSquare<AlongB, /*KFirst=*/true>(b[j], tileB, columnOfWarp() + j * 16,
                                          step);
  }

  __device__ void multiply() {
#pragma unroll
    for (int i = 0; i < rows; ++i)
#pragma unroll
      for (int j = 0; j < columns; ++j)
        multiplyMatrices<T>(sums[i][j], a[i], b[j / 2][j % 2 * 2],
                            b[j / 2][j % 2 * 2 + 1]);
  }

  template <bool, bool>
  __device__ void store(const TileTarget<T> &target) const {
    const int lane = int(threadIdx.x % 32);
#pragma unroll
    for (int i = 0; i < 2 * rows; ++i) {
      T *row = target.row(rowOfWarp() + i * 8 + lane / 4);
#pragma unroll
      for (int j = 0; j < columns; ++j)
        target.putPair(row, columnOfWarp() + j * 8 + lane % 4 * 2,
                       sums[i / 2][j][i % 2 * 2],
                       sums[i / 2][j][i % 2 * 2 + 1]);
    }
  }
};

/// A thread's sums for other types, in their own arithmetic: each of 16 x 8
/// threads has 4 x 8 sums.
template <typename T> struct PlainSums {
  static constexpr int steps = 4, rows = 4, columns = 8, size = Chunk<T>::size;
  T sums[rows][columns];
  T a[rows][size], b[columns][size];

  /// The place of a thread's position number i, if `threads` threads share the
  /// positions.
  template <bool AlongK>
  __device__ static int placeOf(int thread, int threads, int i) {
    return AlongK ? thread + threads * i
                  : (thread + threads * (i / size)) * size + i % size;
  }
  __device__ static int threadOfRow() { return threadIdx.x % 16; }
  __device__ static int threadOfColumn() { return threadIdx.x / 16; }

  __device__ void clear() {
#pragma unroll
    for (int i = 0; i < rows; ++i)
#pragma unroll
      for (T &sum : sums[i])
        sum = 0;
  }

  /// Loads a chunk's length of k for each of a thread's positions.
  template <bool AlongK, int Count>
  __device__ static void loadPart(T (&part)[Count][size], const Chunk<T> *tile,
                                  int thread, int threads, int step) {
    if constexpr (AlongK) {
#pragma unroll
      for (int i = 0; i < Count; ++i) {
        Chunk<T> chunk = tile[Tile<T>::template chunkAt<true>(
            placeOf<true>(thread, threads, i), step)];
#pragma unroll
        for (int k = 0; k < size; ++k)
          part[i][k] = chunk.values[k];
      }
    } else {
#pragma unroll
      for (int k = 0; k < size; ++k)
#pragma unroll
        for (int i = 0; i < Count; i += size) {
          Chunk<T> chunk = tile[Tile<T>::template chunkAt<false>(
              step * size + k, thread + threads * (i / size))];
#pragma unroll
          for (int j = 0; j < size; ++j)
            part[i + j][k] = chunk.values[j];
        }
    }
  }

  template <bool AlongA, bool AlongB>
  __device__ void load(const Chunk<T> *tileA, const Chunk<T> *tileB, int step) {
    loadPart<AlongA>(a, tileA, threadOfRow(), 16, step);
    loadPart<AlongB>(b, tileB, threadOfColumn(), 8, step);
  }

  __device__ void multiply() {
#pragma unroll
    for (int k = 0; k < size; ++k)
#pragma unroll
      for (int i = 0; i < rows; ++i)
#pragma unroll
        for (int j = 0; j < columns; ++j)
          sums[i][j] += a[i][k] * b[j][k];
  }

  template <bool AlongA, bool AlongB>
  __device__ void store(const TileTarget<T> &target) const {
#pragma unroll
    for (int i = 0; i < rows; ++i) {
      T *row = target.row(placeOf<AlongA>(threadOfRow(), 16, i));
#pragma unroll
      for (int j = 0; j < columns; ++j)
        target.put(row, placeOf<AlongB>(threadOfColumn(), 8, j), sums[i][j]);
    }
  }
};

template <typename T> struct SumsOf { using Type = PlainSums<T>; };
template <> struct SumsOf<Bf16> { using Type = MatrixSums<Bf16>; };
template <> struct SumsOf<F16> { using Type = MatrixSums<F16>; };

} // namespace tpsp::rt::device

#endif // TPSP_RUNTIME_CUDA_KERNELS_GROUPEDTILE_H
