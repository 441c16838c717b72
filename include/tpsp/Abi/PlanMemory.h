/// The use of a rank's memory, to the byte.
#ifndef TPSP_ABI_PLANMEMORY_H
#define TPSP_ABI_PLANMEMORY_H

#include "tpsp/Abi/Plan.h"

namespace tpsp {

/// Bytes of a rank at the peak of its memory. All but inputGradients and
/// mostGradients add up to the arena.
struct PlanMemory {
  int64_t parameters = 0;
  /// Copies of parameters in f32, and the other state of the optimizer.
  int64_t master = 0, optimizer = 0;
  /// In a step without an update, the gradients that it returns. In other
  /// steps, the temporaries that become gradients of parameters: at the arena's
  /// peak, and at their own peak.
  int64_t gradients = 0, mostGradients = 0;
  /// The part of `gradients` that is returned gradients of inputs.
  int64_t inputGradients = 0;
  int64_t inputs = 0, outputs = 0, choices = 0;
  /// All other temporaries at the peak.
  int64_t activations = 0;
};

PlanMemory memoryOf(const Plan &plan);

} // namespace tpsp

#endif // TPSP_ABI_PLANMEMORY_H
