/// Makes a .cu file C++ for the host. One thread of the GPU runs after another.
/// The only barriers are those of ThreadBlockOnHost.h. This header is included
/// before the file; then OnHost registers a kernel with the double.
#ifndef TPSP_TEST_CUDADOUBLES_GPUSYNTAX_H
#define TPSP_TEST_CUDADOUBLES_GPUSYNTAX_H

#include "Doubles.h"

#include <tuple>
#include <utility>

#undef __device__
#undef __global__
#undef __grid_constant__
#undef __launch_bounds__
#undef __shared__
#define __device__
#define __global__
#define __grid_constant__
#define __launch_bounds__(...)
/// A block's threads all run on one thread of the host.
#define __shared__ static thread_local

namespace tpsp::doubles {
inline thread_local dim3 gridOfThread, blockOfThread, blockIndex, threadIndex;

/// A kernel of the given parameters, as a DoubleKernel.
template <auto Kernel> struct OnHost;
template <typename... P, void (*Kernel)(P...)> struct OnHost<Kernel> {
  static void run(dim3 grid, dim3 block, size_t, void **parameters) {
    gridOfThread = grid;
    blockOfThread = block;
    for (blockIndex.x = 0; blockIndex.x < grid.x; ++blockIndex.x)
      for (threadIndex.x = 0; threadIndex.x < block.x; ++threadIndex.x)
        call(parameters, std::index_sequence_for<P...>());
  }
  template <size_t... I>
  static void call(void **parameters, std::index_sequence<I...>) {
    Kernel(*static_cast<std::remove_const_t<P> *>(parameters[I])...);
  }
  /// Registers the kernel; `add` is tpspDoubleRegisterKernel.
  template <typename Add> static void registerAs(const char *entry, Add add) {
    const size_t sizes[] = {sizeof(P)...};
    add(entry, &run, sizes, int(sizeof...(P)));
  }
};
} // namespace tpsp::doubles

#define gridDim tpsp::doubles::gridOfThread
#define blockDim tpsp::doubles::blockOfThread
#define blockIdx tpsp::doubles::blockIndex
#define threadIdx tpsp::doubles::threadIndex

#endif // TPSP_TEST_CUDADOUBLES_GPUSYNTAX_H
