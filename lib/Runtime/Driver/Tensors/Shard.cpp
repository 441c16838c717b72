#include "tpsp/Runtime/Driver/Tensors/Shard.h"

#include "tpsp/Abi/FlatCut.h"

using namespace tpsp;
using namespace tpsp::rt;

Shard::Shard(const PlanBuffer &tensor, const std::vector<MeshAxis> &mesh,
             const std::vector<int64_t> &coordinates) {
  int64_t pieces = 1, piece = 0;
  for (size_t dim = 0; dim < tensor.shape.size(); ++dim) {
    std::vector<int64_t> sizes;
    for (int64_t axis : tensor.axes[dim])
      sizes.push_back(mesh[axis].size);
    size_t even = evenAxes(tensor.heldExtent(dim), sizes);
    int64_t group = 1, number = 0;
    for (size_t i = 0; i < sizes.size(); ++i) {
      int64_t &ranks = i < even ? group : pieces,
              &at = i < even ? number : piece;
      ranks *= sizes[i];
      at = at * sizes[i] + coordinates[tensor.axes[dim][i]];
    }
    int64_t extent = tensor.shape[dim], held = tensor.heldExtent(dim) / group,
            start = number * held;
    int64_t before = std::clamp<int64_t>(extent - start, 0, held);
    // Parts of the outermost dimension follow each other in any case.
    bool isCut = tensor.cutDim == int64_t(dim) && dim > 0;
    int64_t inPart = isCut ? held / tensor.parts : held;
    dims.push_back({extent, start, before, held, inPart});
    count *= before;
    partElements *= inPart;
  }
  // A run spans the innermost dimension, and each further dimension while those
  // inside it are whole. It does not span positions of several parts.
  outerDims = dims.size();
  while (outerDims > 0 &&
         dims[outerDims - 1].inPart == dims[outerDims - 1].held) {
    const Dim &dim = dims[--outerDims];
    runLength *= dim.count;
    if (dim.count != dim.extent || dim.count != dim.held)
      break;
  }
  numRuns = count == 0 ? 0 : count / runLength;
  if (pieces > 1)
    keepPiece(piece, pieces);
}

int64_t Shard::runAfter(int64_t local) const {
  int64_t low = 0, high = numRuns;
  while (low < high) {
    int64_t middle = low + (high - low) / 2;
    if (startOf(middle).local + runLength > local)
      high = middle;
    else
      low = middle + 1;
  }
  return low;
}

void Shard::keepPiece(int64_t number, int64_t pieces) {
  int64_t held = 1;
  for (const Dim &dim : dims)
    held *= dim.held;
  int64_t elements = pieceOf(held, pieces);
  pieceBegin = std::min(number * elements, held);
  pieceEnd = std::min(pieceBegin + elements, held);
  if (pieceBegin == pieceEnd) {
    count = numRuns = 0;
    return;
  }
  firstRun = runAfter(pieceBegin);
  int64_t last = runAfter(pieceEnd - 1);
  bool isInLast = last < numRuns && startOf(last).local < pieceEnd;
  numRuns = last + isInLast - firstRun;
  count = 0;
  forEachRun([&](int64_t, int64_t, int64_t n) { count += n; });
}

Shard::RunStart Shard::startOf(int64_t run) const {
  RunStart start{0, 0};
  int64_t globalStride = 1, localStride = 1;
  for (size_t i = dims.size(); i-- > 0;) {
    const Dim &dim = dims[i];
    int64_t at = 0;
    if (i < outerDims) {
      at = run % dim.count;
      run /= dim.count;
    }
    start.global += (dim.start + at) * globalStride;
    if (dim.inPart != dim.held)
      start.local += at / dim.inPart * partElements;
    start.local += at % dim.inPart * localStride;
    globalStride *= dim.extent;
    localStride *= dim.inPart;
  }
  return start;
}

bool tpsp::rt::isFirstHolder(const PlanBuffer &tensor,
                             const std::vector<int64_t> &coordinates) {
  std::vector<bool> differs(coordinates.size(), false);
  for (int64_t axis : tensor.pending)
    differs[axis] = true;
  for (const std::vector<int64_t> &axes : tensor.axes)
    for (int64_t axis : axes)
      differs[axis] = true;
  for (size_t axis = 0; axis < coordinates.size(); ++axis) {
    bool isDivided = int64_t(axis) == tensor.stageAxis;
    int64_t first = isDivided ? tensor.stages.front() : 0;
    if (!differs[axis] && coordinates[axis] != first)
      return false;
  }
  return true;
}
