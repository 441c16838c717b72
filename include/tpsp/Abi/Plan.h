/// A plan: what one step of a program is, apart from its code. Its mesh, its
/// buffers, the commands of one rank, and the ledger of its collectives.
///
/// The compiler makes it once (Passes/Plan/PlanOfProgram.h). The scheduler, the
/// proof, the cost model and the simulator read it, and so do plan files, runs,
/// pictures and reports: without LLVM, without IR.
///
/// Sizes and offsets are in bytes and of one rank. Buffers, commands, rows and
/// axes are named by their positions in the lists of the plan.
#ifndef TPSP_ABI_PLAN_H
#define TPSP_ABI_PLAN_H

#include "tpsp/Abi/CommandKind.h"
#include "tpsp/Abi/Commands.h"
#include "tpsp/Abi/DataRole.h"
#include "tpsp/Abi/LedgerRow.h"
#include "tpsp/Abi/MeshAxis.h"
#include "tpsp/Abi/tpsp_rt.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace tpsp {

//===----------------------------------------------------------------------===//
// Buffers
//===----------------------------------------------------------------------===//

/// All but temporaries last the whole step.
enum class BufferKind {
  Input,
  Parameter,
  State, ///< the optimizer's, of one parameter
  Output,
  Gradient,
  Choice, ///< returned for the reference, not by the program
  Temporary
};

template <> struct EnumNames<BufferKind> {
  static constexpr const char *all[] = {"input",    "parameter", "state",
                                        "output",   "gradient",  "choice",
                                        "temporary"};
};

struct PlanBuffer {
  /// The value's name in the program; empty if the program does not say.
  std::string name;
  BufferKind kind = BufferKind::Temporary;

  // What is known of the tensor of a buffer that lasts.

  /// Which argument, or which result, of the function it is.
  int64_t number = 0;
  /// "b, s@tp, d".
  std::string subscripts;
  /// Global extents, as the program says them: what is read from files,
  /// compared and written.
  std::vector<int64_t> shape;
  /// Per dimension, how many positions behind the end ranks hold besides; empty
  /// if there are none. In arguments they are zero.
  std::vector<int64_t> padding;
  /// Per dimension, its axes, major to minor.
  std::vector<std::vector<int64_t>> axes;
  /// Axes over which the ranks' values are still to be combined: added, or, if
  /// `pendingMax`, their maximum taken.
  std::vector<int64_t> pending;
  bool pendingMax = false;
  /// TPSP_RT_F32, ...
  int64_t dtype = TPSP_RT_F32;
  /// Integers: they are in [0, below). 0 if that is not known.
  int64_t below = 0;
  /// Other numbers: where they are made up, they scatter so around this.
  double mean = 0, deviation = 1;
  /// How a parameter scatters when training begins; without: as above.
  std::optional<double> initialDeviation;
  /// An input's: which part of a batch of tokens it is.
  DataRole data = DataRole::None;
  /// A gradient's, or a state's: the number of its argument. A cotangent's: the
  /// number of its result. Else -1.
  int64_t of = -1;
  /// Of a state: it begins as its parameter. Of an input: a number that the
  /// driver sets for each step.
  bool isMaster = false, isScalar = false;
  /// Whether this temporary holds only what becomes gradients of parameters.
  bool isForGradient = false;
  /// Of an argument: the number of the result that is in its place when the
  /// step has ended; -1: it stays as it is.
  int64_t updatedBy = -1;

  /// In the arena; before allocation there is none.
  std::optional<int64_t> offset;
  int64_t bytes = 0;
  /// "gpt.mlir:12:8", or empty.
  std::string location;

  /// Of the whole tensor, without padding.
  int64_t elements() const;
  /// The extent of a dimension that its axes divide.
  int64_t heldExtent(size_t dim) const {
    return shape[dim] + (padding.empty() ? 0 : padding[dim]);
  }
  /// The number of the step, by which dropout draws and biases are corrected.
  bool isStepNumber() const { return isScalar && name == "step"; }
  /// A state that is of no parameter, which begins as its mean.
  bool isStepState() const { return kind == BufferKind::State && of < 0; }
  /// Filled before the step.
  bool isArgument() const {
    return kind == BufferKind::Input || kind == BufferKind::Parameter ||
           kind == BufferKind::State;
  }
  /// The number of the result that it holds when the step has ended; -1: it
  /// holds none.
  int64_t resultNumber() const { return isArgument() ? updatedBy : number; }
  /// Whether a command may write it.
  bool isWritten() const { return !isArgument() || updatedBy >= 0; }
  /// Read after the step.
  bool isResult() const { return lasts() && !isArgument(); }
  /// Whether it keeps its bytes all through the step.
  bool lasts() const { return kind != BufferKind::Temporary; }
  /// The gradient of a result, which is an argument; but who computes it needs
  /// the result first.
  bool isCotangent() const { return kind == BufferKind::Input && of >= 0; }
};

/// A part of a buffer: `count` runs of `length` bytes, `pitch` bytes from start
/// to start, the first at byte `begin`. With one run the pitch says nothing.
///
/// Where the part depends on the rank (a plan.tile with axes) it is that of the
/// rank with coordinate 0 on all axes. Parts of one buffer that are numbered
/// from the rank's own number differ on one rank if and only if they differ on
/// all.
struct BufferPart {
  int64_t begin = 0, length = 0, count = 1, pitch = 0;

  int64_t bytes() const { return length * count; }
  /// One past the last byte.
  int64_t end() const {
    return count > 0 ? begin + (count - 1) * pitch + length : begin;
  }
  /// Whether the two have a byte in common. Parts of different pitches, each in
  /// the other's range, are taken to.
  bool overlaps(const BufferPart &other) const;
  /// How many bytes the two have in common, exactly; runs of one part do not
  /// overlap. Time is linear in the runs of the part that has fewer, unless the
  /// parts lie apart.
  int64_t commonBytes(const BufferPart &other) const;
  bool operator==(const BufferPart &other) const;
};

struct PlanAccess {
  int64_t buffer = 0;
  BufferPart part;
  bool isWrite = false;
};

//===----------------------------------------------------------------------===//
// Commands
//===----------------------------------------------------------------------===//

/// What a matmul's epilogue does to its results, or adds up of an operand.
struct EpilogueWork {
  /// Scalar arithmetic, and calls of exp and the like.
  double operations = 0, transcendentals = 0;
  /// Of elements that it loads and stores, C's included.
  double elementBytes = 0;
  /// Of memory that it reads and writes beside the product's operands.
  double bytes = 0;
};

/// C[m, n] += A[m, k] B[k, n], `batch` products each of `steps` summed ones.
struct MatmulWork {
  int64_t m = 1, n = 1, k = 1;
  int64_t batch = 1, steps = 1;
  bool transposeA = false, transposeB = false;
  /// Bytes, a power of two and 16 at most: every row of A, B and C begins at a
  /// multiple of it.
  int64_t alignment = 16;
  EpilogueWork epilogue = {};

  double flops() const {
    return 2.0 * double(m) * double(n) * double(k) * double(batch) *
           double(steps);
  }
};

/// Attention in one call, or its gradients.
struct AttentionWork {
  /// Of queries, over the batch.
  int64_t heads = 1;
  int64_t queries = 1, keys = 1;
  int64_t features = 1, valueFeatures = 1;
  bool isCausal = false, isGradient = false;
  /// How many keys a query sees at most; 0: all that the mask leaves it.
  int64_t window = 0;
  /// At which key a mask has the first query, on the rank that has most to do.
  int64_t queryStart = 0;

  /// Queries with a key that they see. What segments hide is not known.
  double pairs() const;
  /// Scores and sums of values; backward the scores again, and a product each
  /// for the weights' gradients, and the values', keys' and queries'.
  double flops() const;
};

/// A generated kernel: a function over `grid` independent work items.
struct KernelWork {
  int64_t grid = 1;
  /// Scalar arithmetic, and calls of exp, tanh, ... , over the whole grid.
  double operations = 0, transcendentals = 0;
  /// Loads and stores of elements over the whole grid, in bytes: what the
  /// caches serve.
  double elementBytes = 0;
  /// Of the loads and stores, those of elements that are not neighbours of the
  /// ones before: one at a time.
  double scatteredElements = 0;

  /// What memory serves: `bytes`, the parts of tensors that it accesses. Of a
  /// table in which it looks up a few rows these alone count.
  double memoryBytes(double bytes) const;
};

struct CollectiveWork {
  CollectiveKind kind = CollectiveKind::AllReduce;
  /// Major to minor, and the ranks that take part.
  std::vector<AxisId> axes;
  int64_t group = 1;
  /// nccl-tests' size S: the whole tensor of an all_reduce, the gathered one of
  /// an all_gather, the unreduced one of a reduce_scatter. For an all_to_all or
  /// a permute it is what one rank holds. Several tensors in one call are
  /// added.
  int64_t bytes = 0;
  /// Sent by one rank by the ring algorithm.
  int64_t bytesSent = 0;
  /// The row of the ledger that it performs, or a part of it; -1 if there is
  /// none.
  int64_t row = -1;
};

struct PlanCommand {
  CommandKind kind = CommandKind::Kernel;
  /// For people: the call ("matmul"), or the function of a kernel that makes no
  /// value with a name.
  std::string call;
  /// The value that it makes or moves, where the source has a name for it.
  std::string value;
  /// "gpt.mlir:12:8", or empty.
  std::string location;
  /// 0 computes; others communicate.
  int64_t stream = 0;
  /// Of the step: forward and backward pass, of each micro-batch in turn. Never
  /// falls from one command to the next, but in a schedule.
  int64_t phase = 0;
  /// EventRecord, EventWait.
  int64_t event = -1;
  /// The element type of what is computed or moved.
  int64_t dtype = TPSP_RT_F32;
  /// Of Matmul, Attention, Kernel and Collective; else untouched.
  MatmulWork matmul;
  AttentionWork attention;
  KernelWork kernel;
  CollectiveWork collective;
  /// Of Matmul: what is done within it.
  std::vector<rt::EpilogueStep> epilogue;
  std::vector<PlanAccess> accesses;

  /// "matmul q".
  std::string name() const { return value.empty() ? call : call + " " + value; }
  bool isEvent() const {
    return kind == CommandKind::EventRecord || kind == CommandKind::EventWait;
  }
  /// Whether it hides communication that runs meanwhile.
  bool computes() const {
    return !isEvent() && kind != CommandKind::Collective;
  }
  bool communicates() const {
    return kind == CommandKind::Collective && collective.group > 1;
  }
  int64_t bytesRead() const;
  int64_t bytesWritten() const;
};

//===----------------------------------------------------------------------===//
// The plan
//===----------------------------------------------------------------------===//

/// An index that runs with more positions than the program says.
struct PaddedIndex {
  std::string name;
  int64_t extent = 0, heldExtent = 0;
};

/// The commands are in the order in which a rank issues them; a command's
/// position is its tpsp_rt_command.id. Every rank issues the same ones. A
/// stream runs its commands in their order; streams wait for each other by
/// events only.
struct Plan {
  std::string program;
  std::vector<MeshAxis> mesh;
  std::vector<PaddedIndex> padded;
  std::vector<PlanBuffer> buffers;
  std::vector<PlanCommand> commands;
  std::vector<LedgerRow> ledger;
  int64_t arenaBytes = 0;
  /// What a rank's backward pass keeps of its forward pass: of one micro-batch.
  int64_t savedBytes = 0;
  /// The arena's bytes if the commands ran one after another; 0 if they do.
  int64_t serialBytes = 0;
  int64_t numStreams = 1, numEvents = 0;
  /// Products that no matrix layout fits without a transpose copy.
  int64_t transposeCopies = 0;

  int64_t numRanks() const;
  /// The buffers that last: arguments and results, each in the order of the
  /// program.
  std::vector<std::reference_wrapper<const PlanBuffer>> tensors() const;
  /// Bytes per rank of all buffers of one kind.
  int64_t bytesOf(BufferKind kind) const;
  /// Bytes per rank of the gradients of inputs.
  int64_t inputGradientBytes() const;
  /// Bytes per rank of what lives only within a step, at its peak.
  int64_t activationBytes() const;
  /// FLOP of one rank's matmuls in one step (2 m n k each), and of the products
  /// in its calls of attention. The rank is that with most to do.
  double matmulFlops() const;
};

/// Matmuls of one place in the model that have the same epilogue, or calls of
/// attention of one place.
struct PlaceRow {
  std::string call, value, location;
  std::vector<rt::EpilogueStep> steps;
  /// Several of a command that was cut, is redone, or is in each micro-batch.
  int64_t commands = 0;
};

/// Matmuls with an epilogue, by place and steps, in the order of their first.
std::vector<PlaceRow> epiloguesOf(const Plan &plan);
/// Attention that a library does in one call, by call, value and place.
std::vector<PlaceRow> attentionOf(const Plan &plan);

/// For each command the earlier ones whose results it reads, each once,
/// ascending. Linear in the accesses, but for buffers that are written in
/// parts.
std::vector<std::vector<int64_t>> readsOf(const Plan &plan);

/// For each buffer that is a cotangent the buffer of its result; -1 for others.
std::vector<int64_t> resultsOfCotangents(const Plan &plan);

} // namespace tpsp

#endif // TPSP_ABI_PLAN_H
