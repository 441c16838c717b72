/// The time and memory of one chunk of a program's layers for one micro-batch.
/// They are read from the chunk's plan: a program that receives activations,
/// computes, and sends activations and gradients.
///
/// Its commands are in four segments:
///
///   forward   the forward pass
///   input     the part of the backward pass that a sent gradient needs
///   weights   the rest of the backward pass, for which nobody waits
///   update    once a step: reductions of parameters' gradients over ranks, and
///             the commands that read the reduced gradients
#ifndef TPSP_SCHEDULE_CHUNKWORK_H
#define TPSP_SCHEDULE_CHUNKWORK_H

#include "tpsp/Abi/Plan.h"
#include "tpsp/Schedule/CostModel.h"
#include "tpsp/Schedule/Simulator.h"

#include "llvm/ADT/STLFunctionalExtras.h"

#include <map>

namespace tpsp {

/// The ends of a chunk's plan: the number of its first arguments that are
/// received, and of its first results that are sent.
struct ChunkEnds {
  int64_t received = 0, sent = 0;
};

/// How gradients are added up over micro-batches.
struct SumOptions {
  /// Bytes of an element of the sum of a gradient of 16 bits: 2 or 4.
  int64_t narrowBytes = 4;
  /// Whether products add what they compute (EpilogueStep::Add), if its sum is
  /// not narrow. Kernels add the rest.
  bool inProducts = true;

  bool areWide() const { return narrowBytes > 2; }
};

/// The moments of a micro-batch in a chunk, in their order. A tensor is in
/// memory from the first to the last that needs it.
enum class ChunkMoment {
  Arrival,         ///< of the activations that it receives
  Forward,         ///< pass
  Send,            ///< of activations
  GradientArrival, ///< of the gradients that it receives
  Input,           ///< gradients; the whole backward pass if it is not split
  GradientSend,
  Weights ///< gradients
};
inline constexpr unsigned numChunkMoments = 7;

/// The bit of a moment in a set of moments.
constexpr unsigned bitOf(ChunkMoment moment) { return 1u << unsigned(moment); }

/// Seconds and bytes, of one rank.
struct ChunkWork {
  double forward = 0, input = 0, weights = 0;
  /// The update with the reductions of gradients over ranks, and these alone,
  /// which come before a norm of all gradients.
  double update = 0, reductions = 0;
  /// PipelineProblem::Chunk::reducing.
  double reducing = 0;
  /// The backward pass as the plan has it, not split in two parts.
  double backward = 0;
  /// The part of the backward pass in which kernels add a micro-batch's
  /// gradients to the sums; and how much longer products take to add others.
  double sums = 0, sumsInProducts = 0;
  /// FLOP of products and attention, for one micro-batch.
  double flops = 0;

  /// Bytes sent to the next chunk, and of the gradient sent to the previous
  /// chunk. These chunks receive equally many.
  int64_t sentForward = 0, sentBackward = 0;
  /// Bytes of the gradients that the next chunk sends back.
  int64_t cotangents = 0;

  /// Bytes by the number of the argument. Parameters and state last from step
  /// to step; gradients are the sums over the micro-batches. Entry -1 has the
  /// state that belongs to no parameter, and the bytes that addLayers() added.
  std::map<int64_t, int64_t> parameters, state, gradients;
  /// Bytes of inputs that are not received, for one micro-batch, and of results
  /// that are not sent.
  int64_t inputs = 0, outputs = 0;
  /// Bytes of a micro-batch that are kept between the passes, and between the
  /// backward pass's two parts.
  int64_t saved = 0, heldForWeights = 0;
  /// The most bytes in use at a command of the segment, including received and
  /// saved tensors and tensors to be sent.
  int64_t peakForward = 0, peakBackward = 0, peakInput = 0, peakWeights = 0;
  /// The peak of the update, without gradients, state and parameters.
  int64_t peakUpdate = 0;
  /// By the moments at which they are needed: bytes of a micro-batch's tensors
  /// that pass from one segment to another.
  std::map<unsigned, int64_t> passed;
  /// The most bytes of tensors that one segment alone uses: of the backward
  /// pass as a whole, and in two parts.
  int64_t scratch = 0, scratchInParts = 0;
};

/// Called with the forward pass, the whole backward pass, and the update: their
/// commands as a plan, and their simulation.
using SegmentVisitor = llvm::function_ref<void(
    const Plan &segment, const SimulatedStep &step, bool isUpdate)>;

/// Reads the work of a chunk from its plan. `parts`: micro-batches of a step.
/// With several, gradients are added up as `sums` says. Fails as simulate()
/// does.
llvm::Expected<ChunkWork> chunkWork(const Plan &plan, const CostModel &cost,
                                    ChunkEnds ends, int64_t parts,
                                    SegmentVisitor visit = nullptr,
                                    SumOptions sums = {});

/// Adds the work of `layers` more layers to a chunk. `deeper` has one layer
/// more than `base`. `receives`: the chunk sends gradients back, as both of
/// these do.
void addLayers(ChunkWork &sum, const ChunkWork &base, const ChunkWork &deeper,
               int64_t layers, bool receives);

} // namespace tpsp

#endif // TPSP_SCHEDULE_CHUNKWORK_H
