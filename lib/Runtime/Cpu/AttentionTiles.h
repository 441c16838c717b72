/// Tiles that attention and its gradients on the CPU share: parts of tensors as
/// dense matrices of the type of arithmetic, and products of them.
#ifndef TPSP_RUNTIME_CPU_ATTENTIONTILES_H
#define TPSP_RUNTIME_CPU_ATTENTIONTILES_H

#include "CpuMatmul.h"

#include "tpsp/Abi/Commands.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace tpsp::rt {

/// Consecutive rows of queries or of keys.
struct TileRows {
  int64_t begin = 0, count = 0;
  int64_t end() const { return begin + count; }
};

/// Calls body(rows) -> Status for blocks of `whole` rows. Each block has
/// `block` rows, except for the last.
template <typename Body>
Status forEachBlock(int64_t whole, int64_t block, const Body &body) {
  for (int64_t begin = 0; begin < whole; begin += block)
    TPSP_TRY(body(TileRows{begin, std::min(block, whole - begin)}));
  return {};
}

/// The position of a head of queries. For keys, group is 0.
struct AttentionHead {
  int64_t batch = 0, head = 0, group = 0;
};

/// Converts elements of `dtype` to the type of arithmetic (double for f64, else
/// float), and back, rounded.
void loadElements(int64_t dtype, const std::byte *from, float *to,
                  int64_t count);
void loadElements(int64_t dtype, const std::byte *from, double *to,
                  int64_t count);
void storeElements(int64_t dtype, const float *from, std::byte *to,
                   int64_t count);
void storeElements(int64_t dtype, const double *from, std::byte *to,
                   int64_t count);

/// A tensor of an attention. Its rows are read and written as dense matrices of
/// T: double for f64, else float.
template <typename T> class AttentionTensor {
public:
  AttentionTensor(std::byte *memory, int64_t dtype, const AttentionLayout &at,
                  int64_t columns)
      : memory(memory), dtype(dtype), at(at), columns(columns) {}

  void load(const AttentionHead &head, TileRows rows, T *to) const;
  /// Rounds to the tensor's type.
  void store(const T *from, const AttentionHead &head, TileRows rows) const;

private:
  std::byte *row(const AttentionHead &head, int64_t number) const;

  std::byte *memory;
  int64_t dtype;
  AttentionLayout at;
  int64_t columns;
};

/// C[m, n] = alpha op(A) op(B) + beta C, all dense. A, whose op(A) is [m, k],
/// is stored as [m, k] or [k, m]. B, whose op(B) is [k, n], is stored as [k, n]
/// or [n, k]. Runs on this thread alone.
struct TileProduct {
  int64_t m = 0, n = 0, k = 0;
  bool transposeA = false, transposeB = false;
  double alpha = 1, beta = 0;
};
template <typename T>
Status multiply(const TileProduct &p, const T *a, const T *b, T *c) {
  int64_t lda = p.transposeA ? p.m : p.k, ldb = p.transposeB ? p.k : p.n;
  return Gemm<T>{p.m, p.n,          p.k,          lda,        ldb,
                 p.n, p.transposeA, p.transposeB, T(p.alpha), T(p.beta)}
      .run(a, b, c);
}

} // namespace tpsp::rt

#endif // TPSP_RUNTIME_CPU_ATTENTIONTILES_H
