#include "CudaGroupedMatmul.h"

#include "Runtime/Core/MatmulOffsets.h"

#include "tpsp/Abi/CheckedMath.h"
#include "tpsp/Abi/ElementType.h"

#include <fmt/format.h>

#include <algorithm>

namespace tpsp::rt {
/// Adds the loops that have more than one place.
void CudaGroupedMatmul::addLoops(const std::vector<MatmulLoop> &loops,
                                 const int64_t *idStrides) {
  GroupedArguments &g = arguments;
  if (g.points == 0 || g.steps == 0)
    return;
  for (const MatmulLoop &loop : loops) {
    int64_t ids = *idStrides++;
    if (loop.extent > 1)
      g.loop[g.loops++] = {loop.extent, loop.strideA, loop.strideB,
                           loop.strideC, ids};
  }
}

/// Whether the operands are as WarpgroupProduct.h requires.
bool CudaGroupedMatmul::canBeWide() const {
  const GroupedArguments &g = arguments;
  constexpr long long whole = 8, most = 1 << 30;
  if (elementBytes(dtype) != 2 || (g.sumsRows ? alongA || alongB : !alongA))
    return false;
  long long strideA = alongA ? g.mStrideA : g.kStrideA,
            strideB = alongB ? g.nStrideB : g.kStrideB,
            lineA = alongA ? g.k : g.m, lineB = alongB ? g.k : g.n;
  long long all = strideA | strideB | g.ldc | g.groupStride | lineA | lineB;
  for (int64_t i = 0; i < g.loops; ++i)
    all |= g.loop[i].a | g.loop[i].b | g.loop[i].c;
  auto addresses = reinterpret_cast<uintptr_t>(g.a) |
                   reinterpret_cast<uintptr_t>(g.b) |
                   reinterpret_cast<uintptr_t>(g.c);
  return all % whole == 0 && addresses % 16 == 0 &&
         std::max({strideA, strideB, g.m, g.n, g.k}) < most;
}

/// Computes the number of tiles and the bytes of the sorted order.
Status CudaGroupedMatmul::count() {
  GroupedArguments &g = arguments;
  int64_t edge = groupedEdge(int(elementBytes(dtype)));
  int64_t edgeM = isWide ? wideEdgeM : edge, edgeN = isWide ? wideEdgeN : edge;
  auto partsOf = [](int64_t extent, int64_t edge) {
    return extent / edge + (extent % edge != 0);
  };
  g.lists = g.points * (g.sumsRows ? g.steps : 1);
  g.tilesM = g.sumsRows ? partsOf(g.m, edgeM) : g.rows / edgeM + g.groups + 1;
  g.tilesN = partsOf(g.n, edgeN);
  int64_t tiles = 0;
  bool fits =
      checkedProduct({g.points, g.tilesM, g.tilesN, g.sumsRows ? g.groups : 1},
                     tiles) &&
      checkedProduct({g.lists, g.rows + g.groups + 2, int64_t(sizeof(int64_t))},
                     orderBytes);
  if (!fits)
    return {TPSP_RT_UNSUPPORTED,
            fmt::format("a grouped matmul of {} rows by {} matrices, {} times, "
                        "is too large; divide its rows or its batch",
                        g.rows, g.groups, g.lists)};
  g.tiles = tiles;
  return {};
}

Status CudaGroupedMatmul::prepare(const GroupedMatmulCommand &command,
                                  int64_t firstGroup,
                                  const std::vector<std::byte *> &buffers,
                                  bool hasWarpgroups) {
  dtype = command.dtype;
  alongA = !command.transposeA, alongB = command.transposeB;
  GroupedArguments &g = arguments;
  g.a = buffers[0], g.b = buffers[1], g.c = buffers[3];
  g.ids = reinterpret_cast<const int *>(buffers[2]);
  g.sumsRows = command.sumsRows;
  g.m = command.m, g.n = command.n, g.k = command.k;
  g.mStrideA = alongA ? command.lda : 1, g.kStrideA = alongA ? 1 : command.lda;
  g.nStrideB = alongB ? command.ldb : 1, g.kStrideB = alongB ? 1 : command.ldb;
  g.ldc = command.ldc;
  g.groups = command.groups, g.groupStride = command.groupStride;
  g.firstGroup = firstGroup, g.rows = command.rows();
  g.points = pointsOf(command.batch), g.steps = pointsOf(command.accumulate);
  addLoops(command.batch, command.idStrides.data());
  g.batchLoops = g.loops;
  addLoops(command.accumulate, command.idStrides.data() + command.batch.size());
  isWide = hasWarpgroups && canBeWide();
  return count();
}

Status CudaGroupedMatmul::run(const BuiltinKernels &kernels,
                              CudaStream &stream) {
  if (arguments.tiles == 0)
    return {};
  std::byte *order = nullptr;
  TPSP_TRY(stream.reserveScratch(orderBytes, order));
  arguments.order = reinterpret_cast<long long *>(order);
  return kernels.multiplyGrouped(dtype, alongA, alongB, arguments, isWide,
                                 stream.get());
}

} // namespace tpsp::rt
