/// What one chunk of a program's layers takes for one micro-batch. It is read
/// off the plan of the chunk, a program that receives activations, computes,
/// and sends activations and gradients.
///
/// Its commands are in four segments:
///
///   forward   of the forward pass
///   input     of the backward pass, and needed for a gradient that is sent
///   weights   of the backward pass, and nobody waits for them
///   update    once a step: parameters' gradients reduced over ranks, and what
///             reads them behind that
#ifndef TPSP_SCHEDULE_CHUNKWORK_H
#define TPSP_SCHEDULE_CHUNKWORK_H

#include "tpsp/Abi/Plan.h"
#include "tpsp/Schedule/CostModel.h"
#include "tpsp/Schedule/Simulator.h"

#include "llvm/ADT/STLFunctionalExtras.h"

#include <map>

namespace tpsp {

/// What a chunk's plan is of: its first arguments are received, its first
/// results sent.
struct ChunkEnds {
  int64_t received = 0, sent = 0;
};

/// Seconds and bytes, of one rank.
struct ChunkWork {
  double forward = 0, input = 0, weights = 0, update = 0;
  /// The backward pass as the plan has it, not in two parts.
  double backward = 0;
  /// Of the backward pass: adding a micro-batch's gradients to the sums.
  double sums = 0;
  /// Of products and attention, of one micro-batch.
  double flops = 0;

  /// Sent to the next chunk, and the gradient to the one before; equal to what
  /// those receive.
  int64_t sentForward = 0, sentBackward = 0;
  /// Of the gradients that the next chunk sends back.
  int64_t cotangents = 0;

  /// By the number of the argument: what lasts from step to step, and the sum
  /// of a parameter's gradients over the micro-batches. At -1 are state of no
  /// parameter, and what addLayers() has added.
  std::map<int64_t, int64_t> parameters, state, gradients;
  /// Inputs that are not received, of one micro-batch, and results that are not
  /// sent.
  int64_t inputs = 0, outputs = 0;
  /// Of a micro-batch: kept between the passes, and between the backward pass's
  /// two parts.
  int64_t saved = 0, heldForWeights = 0;
  /// The most that a command of the segment has at once, with what it has
  /// received, saved and is to send.
  int64_t peakForward = 0, peakBackward = 0, peakInput = 0, peakWeights = 0;
  /// Beside gradients, state and parameters.
  int64_t peakUpdate = 0;
};

/// Is told of the forward pass, of the whole backward pass, and of the update:
/// their commands as a plan, and how they ran.
using SegmentVisitor = llvm::function_ref<void(
    const Plan &segment, const SimulatedStep &step, bool isUpdate)>;

/// `parts`: micro-batches of a step; with several, gradients are added up, in
/// f32 where they have 16 bits. Fails as simulate() does.
llvm::Expected<ChunkWork> chunkWork(const Plan &plan, const CostModel &cost,
                                    ChunkEnds ends, int64_t parts,
                                    SegmentVisitor visit = nullptr);

/// Adds to the work of a chunk what so many more layers take, of which `deeper`
/// has one more than `base`. `receives`: the chunk sends gradients back, as
/// those two do.
void addLayers(ChunkWork &sum, const ChunkWork &base, const ChunkWork &deeper,
               int64_t layers, bool receives);

} // namespace tpsp

#endif // TPSP_SCHEDULE_CHUNKWORK_H
