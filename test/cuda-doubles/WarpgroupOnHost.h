/// Warpgroup products on the host, with the interface of
/// lib/Runtime/Cuda/Kernels/Warpgroup.h. Included in place of that file, after
/// ThreadBlockOnHost.h.
///
/// A product is done when it begins. So a missing wait is not noticed.
#ifndef TPSP_RUNTIME_CUDA_KERNELS_WARPGROUP_H
#define TPSP_RUNTIME_CUDA_KERNELS_WARPGROUP_H

namespace tpsp::rt::device {

constexpr bool hasWarpgroups = true;

template <int Bytes> unsigned char *launchedMemory() {
  alignas(1024) static thread_local unsigned char memory[Bytes];
  return memory;
}

inline void showToProducts() {}

struct SharedOperand {
  const unsigned char *first;
  int pitch;

  /// The element at a position of the edge and of k. As in the tensor
  /// cores, bits 4 to 6 of an address are combined with bits 7 to 9.
  template <typename T, bool Turned> float at(int edge, int k) const {
    auto address = reinterpret_cast<uintptr_t>(first);
    address += size_t(Turned ? edge / 64 * pitch + edge % 64 * 2 +
                                   k / 8 * 1024 + k % 8 * 128
                             : edge / 8 * 1024 + edge % 8 * 128 + k * 2);
    address ^= (address >> 7 & 7) << 4;
    return Element<T>::load(*reinterpret_cast<const T *>(address));
  }
};

inline void openProducts() {}
inline void closeProducts() {}
template <int Left> void waitForProducts() {}
template <int Count> void finishProducts(float (&)[Count]) {}

template <typename T, bool TurnedA, bool TurnedB, int Count>
void multiplyShared(float (&sums)[Count], const SharedOperand &a,
                    const SharedOperand &b, bool adds) {
  int warp = int(threadIdx.x) / 32 % 4, g = int(threadIdx.x) % 32 / 4,
      t = int(threadIdx.x) % 4;
  for (int half = 0; half < 2; ++half) {
    float row[16];
    for (int k = 0; k < 16; ++k)
      row[k] = a.at<T, TurnedA>(16 * warp + g + 8 * half, k);
    for (int j = 0; j < Count / 2; ++j) {
      int column = j / 2 * 8 + 2 * t + j % 2;
      float &sum = sums[j / 2 * 4 + half * 2 + j % 2];
      sum = adds ? sum : 0;
      for (int k = 0; k < 16; ++k)
        sum += row[k] * b.at<T, TurnedB>(column, k);
    }
  }
}

template <typename T, int Count>
void columnsOfThread(T (&columns)[8], const float (&sums)[Count], int q,
                     int half) {
  unsigned t = threadIdx.x % 4, first = threadIdx.x % 32 - t;
  for (unsigned i = 0; i < 8; ++i)
    columns[i] = Element<T>::store(
        ofLane(sums, first + i / 2)[(4 * q + int(t)) * 4 + 2 * half + i % 2]);
}

} // namespace tpsp::rt::device

#endif // TPSP_RUNTIME_CUDA_KERNELS_WARPGROUP_H
