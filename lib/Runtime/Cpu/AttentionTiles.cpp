#include "AttentionTiles.h"

#include "CpuMatmul.h"
#include "HalfRows.h"

#include <cstring>

namespace tpsp::rt {
static bool isHalf(int64_t dtype) { return elementBytes(dtype) == 2; }

// A 16-bit tensor's rows are of float.
void loadElements(int64_t dtype, const std::byte *from, float *to,
                  int64_t count) {
  if (isHalf(dtype))
    halfRows(dtype).widen(reinterpret_cast<const uint16_t *>(from), to, count);
  else
    std::memcpy(to, from, size_t(count) * sizeof(float));
}
void loadElements(int64_t, const std::byte *from, double *to, int64_t count) {
  std::memcpy(to, from, size_t(count) * sizeof(double));
}
void storeElements(int64_t dtype, const float *from, std::byte *to,
                   int64_t count) {
  if (isHalf(dtype))
    halfRows(dtype).round(from, reinterpret_cast<uint16_t *>(to), count);
  else
    std::memcpy(to, from, size_t(count) * sizeof(float));
}
void storeElements(int64_t, const double *from, std::byte *to, int64_t count) {
  std::memcpy(to, from, size_t(count) * sizeof(double));
}

template <typename T>
std::byte *AttentionTensor<T>::row(const AttentionHead &head,
                                   int64_t number) const {
  int64_t element = head.batch * at.batch + head.head * at.head +
                    head.group * at.group + number * at.row;
  return memory + element * elementBytes(dtype);
}

template <typename T>
void AttentionTensor<T>::load(const AttentionHead &head, TileRows rows,
                              T *to) const {
  for (int64_t i = 0; i < rows.count; ++i, to += columns)
    loadElements(dtype, row(head, rows.begin + i), to, columns);
}

template <typename T>
void AttentionTensor<T>::store(const T *from, const AttentionHead &head,
                               TileRows rows) const {
  for (int64_t i = 0; i < rows.count; ++i, from += columns)
    storeElements(dtype, from, row(head, rows.begin + i), columns);
}

template class AttentionTensor<float>;
template class AttentionTensor<double>;

Status multiply(const TileProduct &p, const float *a, const float *b,
                float *c) {
  int64_t lda = p.transposeA ? p.m : p.k, ldb = p.transposeB ? p.k : p.n;
  return Sgemm{p.m,          p.n,          p.k,
               lda,          ldb,          p.n,
               p.transposeA, p.transposeB, float(p.alpha),
               float(p.beta)}
      .run(a, b, c);
}

/// f64 serves for checking, and oneDNN has none.
Status multiply(const TileProduct &p, const double *a, const double *b,
                double *c) {
  for (int64_t i = 0; i < p.m; ++i)
    for (int64_t j = 0; j < p.n; ++j) {
      double sum = 0;
      for (int64_t k = 0; k < p.k; ++k)
        sum += (p.transposeA ? a[k * p.m + i] : a[i * p.k + k]) *
               (p.transposeB ? b[j * p.k + k] : b[k * p.n + j]);
      double before = p.beta == 0 ? 0 : p.beta * c[i * p.n + j];
      c[i * p.n + j] = p.alpha * sum + before;
    }
  return {};
}

} // namespace tpsp::rt
