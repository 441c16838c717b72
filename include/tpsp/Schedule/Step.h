/// One step of a plan as plain values: the commands of one rank, what they
/// touch and how much they do. What the scheduler, the proof, the cost model,
/// the simulator and the pictures read. No IR.
#ifndef TPSP_SCHEDULE_STEP_H
#define TPSP_SCHEDULE_STEP_H

#include "tpsp/Abi/tpsp_rt.h"
#include "tpsp/Algebra/Collective.h"
#include "tpsp/Algebra/Mesh.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tpsp {

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

struct StepAccess {
  /// Position in Step::buffers.
  int64_t buffer = 0;
  BufferPart part;
  bool isWrite = false;
};

struct StepBuffer {
  /// The value's name in the program, and where it is there: "gpt.mlir:12:8".
  /// Empty if the program does not say.
  std::string name, location;
  int64_t bytes = 0;
  /// In the arena, in bytes; before allocation there is none.
  std::optional<int64_t> offset;
  /// Whether it is filled before the step, or read after it. Such buffers keep
  /// their bytes all through the step.
  bool isArgument = false, isResult = false;
  /// Of the cotangent of a result: that result's position in Step::buffers. It
  /// is an argument, but who computes it needs the result first; -1 of others.
  int64_t cotangentOf = -1;

  bool lasts() const { return isArgument || isResult; }
};

enum class StepKind {
  Matmul,
  Attention,
  Kernel,
  Copy,
  Collective,
  EventRecord,
  EventWait
};

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

  /// Queries with a key that they see.
  double pairs() const {
    double all = double(queries) * double(keys);
    if (isCausal) {
      double square = double(std::min(queries, keys));
      all -= square * (square - 1) / 2 +
             square * double(std::max<int64_t>(keys - queries, 0));
    }
    return double(heads) * all;
  }
  /// Scores and sums of values; backward the scores again, and a product each
  /// for the weights' gradients, and the values', keys' and queries'.
  double flops() const {
    double d = double(features), e = double(valueFeatures);
    return 2 * pairs() * (isGradient ? 3 * d + 2 * e : d + e);
  }
};

/// A generated kernel: a function over `grid` independent work items.
struct KernelWork {
  int64_t grid = 1;
  /// Scalar arithmetic, and calls of exp, tanh, ... , over the whole grid.
  double operations = 0, transcendentals = 0;
  /// Loads and stores of elements over the whole grid, in bytes: what the
  /// caches serve. What memory serves is at least the parts that it accesses.
  double elementBytes = 0;
  /// Of the loads and stores, those of elements that are not neighbours of the
  /// ones before: one at a time.
  double scatteredElements = 0;
};

struct CollectiveWork {
  CollectiveKind kind = CollectiveKind::AllReduce;
  /// Of Step::mesh, major to minor, and the ranks that take part.
  AxisList axes;
  int64_t group = 1;
  /// nccl-tests' size S: the whole tensor of an all_reduce, the gathered one of
  /// an all_gather, the unreduced one of a reduce_scatter, what one rank holds
  /// of an all_to_all or a permute. Several tensors in one call are added.
  int64_t bytes = 0;
  /// Sent by one rank by the ring algorithm.
  int64_t bytesSent = 0;
  /// Of a collective that was cut into several commands: which whole it belongs
  /// to, from 0; -1 if it is whole.
  int64_t whole = -1;
};

struct StepCommand {
  StepKind kind = StepKind::Kernel;
  /// 0 computes; others communicate.
  int64_t stream = 0;
  /// EventRecord, EventWait.
  int64_t event = -1;
  /// The element type of what is computed or moved.
  int64_t dtype = TPSP_RT_F32;
  /// Of Matmul, Attention, Kernel and Collective; else untouched.
  MatmulWork matmul;
  AttentionWork attention;
  KernelWork kernel;
  CollectiveWork collective;
  std::vector<StepAccess> accesses;
  /// For people: "all_gather xn", and "gpt.mlir:12:8".
  std::string name, location;

  bool isEvent() const {
    return kind == StepKind::EventRecord || kind == StepKind::EventWait;
  }
  int64_t bytesRead() const;
  int64_t bytesWritten() const;
};

/// The commands are in the order in which a rank issues them; a command's
/// position is its tpsp_rt_command.id. Every rank issues the same ones. A
/// stream runs its commands in their order; streams wait for each other by
/// events only.
struct Step {
  std::string program;
  Mesh mesh;
  std::vector<StepBuffer> buffers;
  std::vector<StepCommand> commands;
  int64_t arenaBytes = 0;
  int64_t numStreams = 1, numEvents = 0;
};

} // namespace tpsp

#endif // TPSP_SCHEDULE_STEP_H
