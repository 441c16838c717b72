/// The loops of epilogues: over rows of a product's result, and over an operand
/// that is summed.
#ifndef TPSP_RUNTIME_CPU_EPILOGUELOOPS_H
#define TPSP_RUNTIME_CPU_EPILOGUELOOPS_H

#include <cstddef>
#include <cstdint>

namespace tpsp::rt {

/// c = the epilogue of c, a row: x = c + bias; keep = x; c = gelu(x); or
/// c times gelu'(slope). Null: there is no such step.
struct EpilogueRow {
  std::byte *c = nullptr;
  const std::byte *bias = nullptr;
  std::byte *keep = nullptr;
  const std::byte *slope = nullptr;
  bool gelu = false;
  int64_t columns = 0;
};

using RowLoop = void (*)(const EpilogueRow &row);

/// The loop for a floating-point type.
RowLoop rowLoop(int64_t dtype);

/// result[i] = sum over j < summed of source[i, j], for i in [begin, end);
/// strides in elements, one of which is 1.
struct OperandSum {
  const std::byte *source = nullptr;
  std::byte *result = nullptr;
  int64_t summed = 0, keptStride = 1, summedStride = 1;
};

using SumLoop = void (*)(const OperandSum &sum, int64_t begin, int64_t end);

SumLoop sumLoop(int64_t dtype);

} // namespace tpsp::rt

#endif // TPSP_RUNTIME_CPU_EPILOGUELOOPS_H
