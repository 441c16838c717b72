#include "AttentionTiles.h"

#include "HalfRows.h"

#include <cstring>

namespace tpsp::rt {
static bool isHalf(int64_t dtype) { return elementBytes(dtype) == 2; }

// Only for f32 and 16-bit types: rows of 16-bit tensors become float.
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

} // namespace tpsp::rt
