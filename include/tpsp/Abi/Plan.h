/// A plan: one step of a program as plain values, without its code. It has the
/// mesh, the buffers, the commands of one rank, and the ledger of collectives.
///
/// The compiler makes it once (Passes/Plan/PlanOfProgram.h). The scheduler, the
/// proof, the cost model and the simulator read it, and so do plan files, runs,
/// pictures and reports. None of these needs LLVM or IR.
///
/// Sizes and offsets are in bytes, for one rank. Buffers, commands, rows and
/// axes are named by their positions in the lists of the plan.
#ifndef TPSP_ABI_PLAN_H
#define TPSP_ABI_PLAN_H

#include "tpsp/Abi/CommandKind.h"
#include "tpsp/Abi/Commands.h"
#include "tpsp/Abi/DataRole.h"
#include "tpsp/Abi/LedgerRow.h"
#include "tpsp/Abi/MeshAxis.h"
#include "tpsp/Abi/PlanSegment.h"
#include "tpsp/Abi/ScoreOptions.h"
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
  /// The value's name in the program; empty if it has none.
  std::string name;
  BufferKind kind = BufferKind::Temporary;

  // The tensor of a buffer that lasts.

  /// The number of the function's argument, or of its result.
  int64_t number = 0;
  /// "b, s@tp, d".
  std::string subscripts;
  /// Global extents without padding, as the program declares them. Files are
  /// read and written, and results are compared, with these extents.
  std::vector<int64_t> shape;
  /// The dimension that micro-batches cut; -1: none. A rank's block of the
  /// tensor is then stored as `parts` parts, one after another, each with its
  /// positions of this dimension.
  int64_t cutDim = -1, parts = 1;
  /// Per dimension, how many positions of padding follow the last one; empty if
  /// there are none. In arguments the padding is zero.
  std::vector<int64_t> padding;
  /// Per dimension, its axes, major to minor.
  std::vector<std::vector<int64_t>> axes;
  /// Axes over which the ranks' values are still to be combined: added, or, if
  /// `pendingMax`, their maximum taken.
  std::vector<int64_t> pending;
  bool pendingMax = false;
  /// TPSP_RT_F32, ...
  int64_t dtype = TPSP_RT_F32;
  /// For integers: their values are in [0, below). 0 if the bound is not known.
  int64_t below = 0;
  /// For other numbers: the mean and standard deviation of random values.
  double mean = 0, deviation = 1;
  /// The standard deviation of a parameter when training begins; `deviation` if
  /// there is none.
  std::optional<double> initialDeviation;
  /// For an input: its part of a batch of tokens.
  DataRole data = DataRole::None;
  /// For a gradient or a state: the number of its argument. For a cotangent:
  /// the number of its result. Else -1.
  int64_t of = -1;
  /// isMaster, for a state: it begins as a copy of its parameter. isScalar, for
  /// an input: a number that the driver sets for each step.
  bool isMaster = false, isScalar = false;
  /// Whether micro-batches add to it in place. It begins as zeros.
  bool isSum = false;
  /// Whether this temporary holds only what becomes gradients of parameters.
  bool isForGradient = false;
  /// For an argument: the number of the result that replaces it at the end of
  /// the step; -1 if the argument stays unchanged.
  int64_t updatedBy = -1;

  /// The stages that have it, ascending, as coordinates on `stageAxis`; empty:
  /// all ranks have it.
  std::vector<int64_t> stages;
  int64_t stageAxis = -1;
  /// The pool in which it has a place for every micro-batch under way
  /// (Plan::pools); -1: none.
  int64_t pool = -1;
  /// Whether a temporary of a segment's program has its value before the
  /// segment begins, and whether it keeps it afterwards.
  bool livesBefore = false, livesAfter = false;
  /// Where the buffer begins in the arena, or in its pool's first slot; empty
  /// before allocation.
  std::optional<int64_t> offset;
  int64_t bytes = 0;
  /// "gpt.mlir:12:8", or empty.
  std::string location;

  /// Elements of the whole tensor, without padding.
  int64_t elements() const;
  /// The extent of a dimension with its padding, which its axes divide.
  int64_t heldExtent(size_t dim) const {
    return shape[dim] + (padding.empty() ? 0 : padding[dim]);
  }
  /// Whether it is the number of the step. Dropout draws its numbers by it, and
  /// optimizers correct biases by it.
  bool isStepNumber() const { return isScalar && name == "step"; }
  /// Whether it is a state that belongs to no parameter. Such a state begins as
  /// its mean.
  bool isStepState() const { return kind == BufferKind::State && of < 0; }
  /// Whether it is filled before the step.
  bool isArgument() const {
    return kind == BufferKind::Input || kind == BufferKind::Parameter ||
           kind == BufferKind::State;
  }
  /// Whether ranks of the stage have it, and whether the rank with these
  /// coordinates has it.
  bool isOfStage(int64_t stage) const;
  bool isHeldAt(const std::vector<int64_t> &coordinates) const;
  /// The number of the result that it holds at the end of the step; -1 if none.
  int64_t resultNumber() const { return isArgument() ? updatedBy : number; }
  /// Whether a command may write it.
  bool isWritten() const { return !isArgument() || updatedBy >= 0; }
  /// Whether it is read after the step.
  bool isResult() const { return lasts() && !isArgument(); }
  /// Whether it keeps its bytes all through the step.
  bool lasts() const { return kind != BufferKind::Temporary; }
  /// Whether every micro-batch has its own part.
  bool isCut() const { return cutDim >= 0; }
  /// Bytes of one micro-batch's part; all of them if it is not cut.
  int64_t partBytes() const { return bytes / parts; }
  /// Whether it is the gradient of a result. It is an argument, but its value
  /// is computed from the result.
  bool isCotangent() const { return kind == BufferKind::Input && of >= 0; }
};

/// A part of a buffer: `count` runs of `length` bytes, `pitch` bytes from start
/// to start, the first at byte `begin`. With one run the pitch has no meaning.
///
/// If the part depends on the rank (a plan.tile with axes), this is the part of
/// the rank with coordinate 0 on all axes. Parts of one buffer that are
/// numbered from the rank's own number differ on all ranks or on none.
struct BufferPart {
  int64_t begin = 0, length = 0, count = 1, pitch = 0;

  int64_t bytes() const { return length * count; }
  /// One past the last byte.
  int64_t end() const {
    return count > 0 ? begin + (count - 1) * pitch + length : begin;
  }
  /// Whether the two parts have a byte in common. Conservative: parts of
  /// different pitches whose ranges intersect count as overlapping.
  bool overlaps(const BufferPart &other) const;
  /// The exact number of bytes that the two parts have in common, if no part's
  /// runs overlap each other. Takes time linear in the smaller number of runs.
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

/// The work of a matmul's epilogue, on its results or on an operand.
struct EpilogueWork {
  /// Scalar arithmetic, and calls of exp and the like.
  double operations = 0, transcendentals = 0;
  /// Bytes of elements that it loads and stores, C's included.
  double elementBytes = 0;
  /// Bytes of memory that it reads and writes besides the product's operands.
  double bytes = 0;

  void operator+=(const EpilogueWork &other) {
    operations += other.operations;
    transcendentals += other.transcendentals;
    elementBytes += other.elementBytes;
    bytes += other.bytes;
  }
  void operator*=(double times) {
    operations *= times;
    transcendentals *= times;
    elementBytes *= times;
    bytes *= times;
  }
};

/// C[m, n] += A[m, k] B[k, n], `batch` products each of `steps` summed ones.
struct MatmulWork {
  int64_t m = 1, n = 1, k = 1;
  int64_t batch = 1, steps = 1;
  bool transposeA = false, transposeB = false;
  /// Bytes, a power of two and 16 at most: every row of A, B and C begins at a
  /// multiple of it.
  int64_t alignment = 16;
  /// Whether only the device knows which rows belong to which matrix.
  bool isGrouped = false;
  EpilogueWork epilogue = {};

  double flops() const {
    return 2.0 * double(m) * double(n) * double(k) * double(batch) *
           double(steps);
  }
};

/// Attention in one call, or its gradients.
struct AttentionWork : ScoreOptions {
  /// Heads of queries, multiplied by the batch.
  int64_t heads = 1;
  int64_t queries = 1, keys = 1;
  int64_t features = 1, valueFeatures = 1;
  bool isGradient = false;
  /// The position of the first query in the mask, counted in keys, on the rank
  /// with the most work.
  int64_t queryStart = 0;
  /// Whether segments or lengths hide keys.
  bool hidesKeys = false;

  /// The number of pairs of a query and a key that it sees. Segments are
  /// ignored, because they are not known.
  double pairs() const;
  /// FLOP of the scores and the sums of values. A gradient has five products:
  /// the scores again, and the gradients of weights, values, keys and queries.
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
  /// Loads and stores of elements that do not follow the previous element in
  /// memory, but are a known distance from it. On a GPU neighbouring threads
  /// or later accesses find the rest of the memory that each one brings.
  double stridedElements = 0;
  /// Loads and stores of elements that may be anywhere: each is a separate
  /// access.
  double scatteredElements = 0;

  /// Bytes that memory serves. `bytes`: the parts of tensors that the kernel
  /// accesses. If it looks up a few rows of a table, only those rows count.
  double memoryBytes(double bytes) const;
};

struct CollectiveWork {
  CollectiveKind kind = CollectiveKind::AllReduce;
  /// Major to minor, and the ranks that take part.
  std::vector<AxisId> axes;
  int64_t group = 1;
  /// nccl-tests' size S: the whole tensor of an all_reduce, the gathered tensor
  /// of an all_gather, the unreduced tensor of a reduce_scatter. For an
  /// all_to_all or a permute it is the part that one rank holds. The sizes of
  /// several tensors in one call are added.
  int64_t bytes = 0;
  /// Bytes that one rank sends in the ring algorithm.
  int64_t bytesSent = 0;
  /// The row of the ledger that this command performs, wholly or in part; -1 if
  /// there is none.
  int64_t row = -1;
};

struct PlanCommand {
  CommandKind kind = CommandKind::Kernel;
  /// For people: the call ("matmul"), or a kernel's function if its result has
  /// no name.
  std::string call;
  /// The value that it computes or moves, if the source names it.
  std::string value;
  /// "gpt.mlir:12:8", or empty.
  std::string location;
  /// 0 computes; others communicate.
  int64_t stream = 0;
  /// The number of the pass within the step: forward and backward pass, of each
  /// micro-batch in turn. It never decreases in program order; a schedule may
  /// change the order.
  int64_t phase = 0;
  /// The number of its segment; it never decreases.
  int64_t segment = 0;
  /// The event of an EventRecord or EventWait.
  int64_t event = -1;
  /// The element type of the values that are computed or moved.
  int64_t dtype = TPSP_RT_F32;
  /// The work of a command of kind Matmul, Attention, Kernel or Collective. The
  /// other members keep their defaults.
  MatmulWork matmul;
  AttentionWork attention;
  KernelWork kernel;
  CollectiveWork collective;
  /// For a Matmul: the steps of its epilogue.
  std::vector<rt::EpilogueStep> epilogue;
  std::vector<PlanAccess> accesses;

  /// "matmul q".
  std::string name() const { return value.empty() ? call : call + " " + value; }
  bool isEvent() const {
    return kind == CommandKind::EventRecord || kind == CommandKind::EventWait;
  }
  /// Whether the command hides communication that runs meanwhile.
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

/// An index that is padded: it has more positions than the program declares.
struct PaddedIndex {
  std::string name;
  int64_t extent = 0, heldExtent = 0;
};

/// The commands of each segment are in the order in which a rank issues them; a
/// command's position is its tpsp_rt_command.id. Every rank issues the same
/// ones. A stream runs its commands in their order; streams wait for each other
/// by events only.
///
/// A step runs the segments in their order, each for its micro-batches
/// (SegmentRuns). With stages every stage has an order of its own. An access to
/// a cut buffer is to the first micro-batch's part; for a later micro-batch the
/// same bytes of its own part are meant.
struct Plan {
  std::string program;
  std::vector<MeshAxis> mesh;
  std::vector<PaddedIndex> padded;
  std::vector<PlanBuffer> buffers;
  std::vector<PlanCommand> commands;
  /// There is at least one.
  std::vector<PlanSegment> segments = {{"step"}};
  /// The parts of the batch for which segments run.
  int64_t microBatches = 1;
  /// The mesh axis whose ranks run different segments; -1: there are no stages.
  int64_t stageAxis = -1;
  /// For each stage, in which order it issues its segments (StepOrder.h). Empty
  /// without stages.
  std::vector<std::vector<StepAction>> order;
  std::vector<PlanPool> pools;
  /// Bytes of each stage's arena; empty without stages.
  std::vector<int64_t> stageArenas;
  std::vector<LedgerRow> ledger;
  /// Bytes of a rank's arena; with stages those of the largest.
  int64_t arenaBytes = 0;
  /// Bytes that a rank saves in the forward pass of one micro-batch for its
  /// backward pass.
  int64_t savedBytes = 0;
  /// The arena's bytes if the commands ran one after another; 0 if they do run
  /// so.
  int64_t serialBytes = 0;
  int64_t numStreams = 1, numEvents = 0;
  /// Products that no matrix layout fits without a transpose copy.
  int64_t transposeCopies = 0;

  int64_t numRanks() const;
  /// The number of stages; 1 if no axis divides layers.
  int64_t numStages() const { return stageAxis < 0 ? 1 : mesh[stageAxis].size; }
  /// The stage from whose view the plan is (stageView()); -1: from all.
  int64_t viewedStage = -1;

  /// How often a step runs a segment, on a stage that has it.
  int64_t timesOf(const PlanSegment &segment) const {
    return segment.times(microBatches);
  }
  /// How often a step runs the command.
  int64_t timesOf(const PlanCommand &command) const {
    const PlanSegment &segment = segments[command.segment];
    if (viewedStage >= 0 && !segment.runsOn(viewedStage))
      return 0;
    return timesOf(segment);
  }
  /// The buffers that last: arguments and results, each in the order of the
  /// program.
  std::vector<std::reference_wrapper<const PlanBuffer>> tensors() const;
  /// Bytes per rank of all buffers of one kind.
  int64_t bytesOf(BufferKind kind) const;
  /// Bytes per rank of the gradients of inputs.
  int64_t inputGradientBytes() const;
  /// Bytes per rank of the values that live only within a step, at their peak.
  int64_t activationBytes() const;
  /// FLOP of one rank's matmuls in one step (2 m n k each), and of the products
  /// in its calls of attention. The rank is the one with the most work.
  double matmulFlops() const;
};

/// A plan with stages as a rank of one stage sees it. Buffers that it lacks
/// take no bytes, and commands of other stages run 0 times.
Plan stageView(const Plan &plan, int64_t stage);

/// The views of all stages; without stages the plan itself.
std::vector<Plan> stageViews(const Plan &plan);

/// Matmuls of one place in the model with the same epilogue, or one place's
/// calls of attention.
struct PlaceRow {
  std::string call, value, location;
  std::vector<rt::EpilogueStep> steps;
  /// More than one if a command was cut, is rematerialised, or runs in each
  /// micro-batch.
  int64_t commands = 0;
};

/// Matmuls with an epilogue, by place and steps, in the order of each row's
/// first command.
std::vector<PlaceRow> epiloguesOf(const Plan &plan);
/// Calls of attention, by call, value and place.
std::vector<PlaceRow> attentionOf(const Plan &plan);

/// For each command, the earlier commands whose results it reads, each once,
/// ascending. Takes time linear in the accesses, unless buffers are written in
/// parts.
std::vector<std::vector<int64_t>> readsOf(const Plan &plan);

/// For each buffer that is a cotangent, the buffer of its result; -1 for
/// others.
std::vector<int64_t> resultsOfCotangents(const Plan &plan);

} // namespace tpsp

#endif // TPSP_ABI_PLAN_H
