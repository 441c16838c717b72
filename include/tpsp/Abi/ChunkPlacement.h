/// Which stage runs which chunk of layers.
#ifndef TPSP_ABI_CHUNKPLACEMENT_H
#define TPSP_ABI_CHUNKPLACEMENT_H

#include <cstdint>

namespace tpsp {

/// With three stages and six chunks:
///
///   cyclic   0 1 2 0 1 2
///   folded   0 1 2 2 1 0
struct ChunkPlacement {
  int64_t stages = 1;
  /// Whether every other turn goes from the last stage to the first. The two
  /// chunks at a fold are on one stage, which sends nothing between them.
  bool isFolded = false;

  int64_t stageOf(int64_t chunk) const {
    int64_t place = chunk % stages;
    bool isBack = isFolded && chunk / stages % 2 == 1;
    return isBack ? stages - 1 - place : place;
  }
};

} // namespace tpsp

#endif // TPSP_ABI_CHUNKPLACEMENT_H
