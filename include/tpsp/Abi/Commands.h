/// What the integers of a tpsp_rt_command mean.
///
/// Each command is a plain struct. `code` lists its parameters, once for both
/// directions: `encode` serves the compiler's lowering, `decode` the runtime.
/// `isLegal` says what else must hold of them, and `buffers` how each of the
/// command's buffers is used. A plan file may be corrupt: what has not been
/// found legal may hold any integers. Depends on the standard library alone, so
/// that both the compiler and a runtime built without LLVM can include it.
///
/// Shapes are of one rank ("local"), row-major, extents and strides in
/// elements. Axes are positions in the mesh's list of axes, and an axis list is
/// major to minor. Its *group* is the set of ranks that differ only in those
/// axes. They are numbered by their coordinates on them, first axis slowest.
#ifndef TPSP_ABI_COMMANDS_H
#define TPSP_ABI_COMMANDS_H

#include "tpsp/Abi/EnumNames.h"
#include "tpsp/Abi/ParamCoder.h"

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace tpsp::rt {

/// How a command uses one of its buffers.
struct BufferUse {
  const char *role; ///< for people: "src"
  /// From the first to one past the last element that may be touched.
  int64_t elements = 0;
  int64_t dtype = 0;
  bool isWritten = false;
};

template <typename Command> Params encoded(Command command) {
  ParamWriter writer;
  command.code(writer);
  return std::move(writer.params);
}

/// False if the parameters are malformed; `out` is anything then.
template <typename Command>
bool decode(const int64_t *params, int64_t count, Command &out) {
  ParamReader reader(params, count);
  out.code(reader);
  return reader.done() && out.isLegal();
}

/// A loop of a batched matmul: `extent` steps with these strides (in elements;
/// 0 broadcasts).
struct MatmulLoop {
  int64_t extent = 1;
  int64_t strideA = 0, strideB = 0, strideC = 0;
};

/// What a matmul does besides its product, a step at a time.
///
/// With x the finished sum that is to be stored in C[i, j], not rounded yet:
///
///   Bias    x += vector[j]
///   Keep    matrix[i, j] = x
///   Gelu    x = gelu(x), the tanh form
///   Slope   x *= gelu'(matrix[i, j])
///
/// and of an operand:
///
///   SumA    vector[i] = sum_k A[i, k]
///   SumB    vector[j] = sum_k B[k, j]
///
/// `matrix` is laid out as C is, with C's leading dimension and strides;
/// `vector` is dense and the same for all points of the batch. Elements are of
/// the matmul's type.
enum class EpilogueStep : int64_t { Bias, Keep, Gelu, Slope, SumA, SumB };

} // namespace tpsp::rt

/// For people, and in plan.matmul.
template <> struct tpsp::EnumNames<tpsp::rt::EpilogueStep> {
  static constexpr const char *all[] = {"bias",  "keep",  "gelu",
                                        "slope", "sum_a", "sum_b"};
};

namespace tpsp::rt {

using tpsp::nameOf;
constexpr int64_t numEpilogueSteps = std::size(EnumNames<EpilogueStep>::all);

/// Whether a step has a buffer, whether it is written, and whether it is laid
/// out as C is.
constexpr bool hasBuffer(EpilogueStep step) {
  return step != EpilogueStep::Gelu;
}
constexpr bool writesBuffer(EpilogueStep step) {
  return step == EpilogueStep::Keep || step == EpilogueStep::SumA ||
         step == EpilogueStep::SumB;
}
constexpr bool hasMatrix(EpilogueStep step) {
  return step == EpilogueStep::Keep || step == EpilogueStep::Slope;
}

/// The lists that there are: [bias], [bias] [keep] gelu, slope, sum_a, sum_b.
/// They are what cuBLASLt can do in one call.
bool isEpilogue(const std::vector<EpilogueStep> &steps);

/// C[m, n] = sum_k A[m, k] B[k, n] for every point of `batch`, summed over
/// `accumulate` (whose strideC is 0). C is row-major with leading dimension
/// ldc. A is row-major [m, k] with leading dimension lda. If transposeA, it is
/// stored as [k, m] with leading dimension lda. Likewise B: [k, n] or [n, k].
struct MatmulForm {
  int64_t m = 1, n = 1, k = 1;
  /// In elements.
  int64_t lda = 1, ldb = 1, ldc = 1;
  bool transposeA = false, transposeB = false;
  std::vector<MatmulLoop> batch, accumulate;
};

/// A product of this form. Accumulation is in f32 (f64 for f64). Behind it
/// comes `epilogue`, which with a sum of an operand needs a single point and
/// step. Buffers: A, B, C, then those of the epilogue's steps, in order.
struct MatmulCommand : MatmulForm {
  int64_t dtype = 0;
  std::vector<EpilogueStep> epilogue;

  void code(ParamCoder &coder);
  bool isLegal() const;
  std::vector<BufferUse> buffers(int64_t ranks) const;
  Params encode() const { return encoded(*this); }
};

/// The global position at which this rank's part of an index starts: ((rank +
/// shift) mod group) * stride + offset. `rank` is its number in the group of
/// `axes`. Its own shard is shift 0 and offset 0; a shard that came around the
/// ring has a shift, a part of one an offset. With a negative stride ranks have
/// parts in the opposite order. No rank's part starts before position 0.
struct PartStart {
  int64_t stride = 0;
  std::vector<int64_t> axes;
  int64_t shift = 0;
  int64_t offset = 0;

  void code(ParamCoder &coder);
  /// Whether it is at position 0 on every rank.
  bool isZero() const { return axes.empty() && offset == 0; }
  /// Of rank `self` of a group of `ranks`.
  int64_t of(int64_t self, int64_t ranks) const {
    return (self + shift) % ranks * stride + offset;
  }
};

/// A product whose rows each meet one of several matrices, which an integer of
/// theirs chooses. Rows are along m, and B is one of `groups` matrices:
///
///   C[r, n] = sum_k A[r, k] B_id[r][k, n]
///
/// or, if `sumsRows`, along k, and C is:
///
///   C_g[m, n] = sum_{r: id[r] = g} A[m, r] B[r, n]
///
/// The matrices are `groupStride` elements apart. Integers of neighbouring rows
/// are neighbours. Along each loop of the batch, then of the accumulation, they
/// are `idStrides` apart. An integer that is no matrix's number, less where the
/// rank's matrices start, is of no product: its row of C is 0.
struct GroupedMatmulForm : MatmulForm {
  bool sumsRows = false;
  int64_t groups = 1, groupStride = 0;
  std::vector<int64_t> idStrides;

  int64_t rows() const { return sumsRows ? k : m; }
};

/// Accumulation is as in a matmul. Buffers: A, B, the integers (i32), C.
struct GroupedMatmulCommand : GroupedMatmulForm {
  int64_t dtype = 0;
  /// The number of this rank's first matrix.
  PartStart firstGroup;

  void code(ParamCoder &coder);
  bool isLegal() const;
  std::vector<BufferUse> buffers(int64_t ranks) const;
  Params encode() const { return encoded(*this); }
};

/// Where a tensor of attention has its elements: from one to the next of an
/// index, in elements. The feature is innermost, and nothing lies between what
/// belongs to the tensor: it is a dense tensor with its indices in some order.
struct AttentionLayout {
  int64_t batch = 0, head = 0, group = 0, row = 0;
};

/// Likewise of what is added to scores: 0 along what it is the same along.
struct ScoreLayout : AttentionLayout {
  int64_t key = 0;
};

/// Attention that keeps no row of scores.
///
///   z[b, h, g, s, t] = scale * sum_d q[b, h, g, s, d] k[b, h, t, d]
///   score = softcap * tanh(z / softcap) + bias
///   o[b, h, g, s, e] = sum_t softmax_t(score) v[b, h, t, e]
///   statistic[b, h, g, s] = ln sum_t exp(score)
///
/// A head of keys and values serves `groups` heads of queries. If causal, only
/// t <= s count, and with a window (0: none) only s - t < window. There s is
/// counted from where this rank's queries start, t from the first key. With
/// segments only those count whose numbers are equal, with lengths only t <
/// length[b, h], and with a bias only those where it is more than minus
/// infinity. Any other bias is a number, however low. A row without keys that
/// count is 0, its statistic minus infinity. The statistic is dense, in the
/// order written, in f32 (f64 for f64). Sums are in f32 (f64) whatever the
/// type.
///
/// Buffers: q, k, v, o, then the statistic if `keepsStatistic`, the bias if
/// `hasBias`. Segment numbers (i32) of queries and of keys follow if
/// `hasSegments`, and the lengths (i32) if `hasLengths`.
struct AttentionCommand {
  int64_t dtype = 0;
  int64_t batch = 1, heads = 1, groups = 1;
  int64_t queries = 1, keys = 1;
  /// Extents of d and of e.
  int64_t features = 1, valueFeatures = 1;
  double scale = 1;
  bool causal = false, keepsStatistic = false;
  /// 0: there is none. A window goes with causal, and with no more queries than
  /// keys.
  int64_t window = 0;
  double softcap = 0;
  bool hasBias = false, hasSegments = false, hasLengths = false;
  /// At which key the mask has this rank's first query; zero without a mask.
  PartStart queryStart;
  /// The group's stride of k and v is 0.
  AttentionLayout q, k, v, o;
  /// Where they are there. Dense along the indices that they have.
  ScoreLayout bias;
  AttentionLayout querySegments, keySegments, lengths;

  int64_t numRows() const { return batch * heads * groups * queries; }
  int64_t queryElements() const { return numRows() * features; }
  int64_t keyElements() const { return batch * heads * keys * features; }
  int64_t valueElements() const { return batch * heads * keys * valueFeatures; }
  int64_t resultElements() const { return numRows() * valueFeatures; }
  int64_t biasElements() const;
  int64_t statisticType() const;
  /// How many keys, of the first ones, queries from `start` on see.
  int64_t seenKeys(int64_t start) const {
    return causal && keys > start + queries ? start + queries : keys;
  }

  void code(ParamCoder &coder);
  bool isLegal() const;
  std::vector<BufferUse> buffers(int64_t ranks) const;
  Params encode() const { return encoded(*this); }
};

/// The gradients of an attention that has kept its statistic. They are 0
/// through a row without keys. With a bias they do not read the statistic, in
/// which the logarithm is lost beside a low one. Buffers: q, k, v, o, the
/// statistic, and the gradient of o, laid out as o is. Then those that are
/// written: the gradients of q, k and v, laid out as these are. Then the bias,
/// the segment numbers and the lengths, as forward. Last, written, the bias's
/// gradient if it is wanted.
struct AttentionGradientCommand : AttentionCommand {
  bool wantsBiasGradient = false;

  void code(ParamCoder &coder);
  Params encode() const { return encoded(*this); }
  bool isLegal() const {
    return keepsStatistic && (hasBias || !wantsBiasGradient) &&
           AttentionCommand::isLegal();
  }
  std::vector<BufferUse> buffers(int64_t ranks) const;
};

/// Runs command->kernel over [0, grid). Buffers: inputs, then outputs.
struct KernelCommand {
  int64_t grid = 1;
  std::vector<PartStart> positions;

  void code(ParamCoder &coder);
  bool isLegal() const { return true; }
  Params encode() const { return encoded(*this); }
};

/// A whole tensor and the parts of it that the ranks of a group have: the whole
/// is [outer, group, chunk], a part [outer, chunk]. A part may be a tile of
/// something larger: its runs of chunk elements are then `pitch` elements
/// apart.
struct ShardLayout {
  int64_t outer = 1, chunk = 1;
  int64_t pitch = 0; // 0: chunk

  int64_t runPitch() const { return pitch ? pitch : chunk; }
  /// From the first to the last element of a part.
  int64_t span() const {
    return outer && chunk ? (outer - 1) * runPitch() + chunk : 0;
  }
  bool isLegal() const;
};

/// Between whole tensors and their parts: one tensor, or in one transfer also
/// `others`. Buffers of the calls below: src_0, dst_0, src_1, dst_1, ...
struct ShardCommand : ShardLayout {
  int64_t dtype = 0;
  int64_t reduction = 0; // ReduceScatterCommand only
  std::vector<int64_t> axes;
  std::vector<ShardLayout> others;

  size_t numTensors() const { return 1 + others.size(); }
  const ShardLayout &tensor(size_t i) const {
    return i == 0 ? *this : others[i - 1];
  }
  std::vector<BufferUse> buffers(int64_t ranks) const;

  void code(ParamCoder &coder);
  bool isLegal() const;
  Params encode() const { return encoded(*this); }
};

/// dst[o, c] = src[o, r, c] with r the rank's number in the group, of one
/// tensor. No communication.
struct SliceCommand : ShardCommand {
  bool isLegal() const { return others.empty() && ShardCommand::isLegal(); }
};

/// dst[o, r, c] = src of rank r [o, c].
struct AllGatherCommand : ShardCommand {
  std::vector<BufferUse> buffers(int64_t ranks) const;
};

/// dst[o, c] = combine over ranks q of src of rank q [o, r, c] with r the
/// receiver's number. Elements combine in group order, in f32 for bf16 and f16.
struct ReduceScatterCommand : ShardCommand {};

/// dst_i = combine over the group of src_i, for several tensors at once.
/// counts[i]: elements of tensor i. Buffers: src_0, dst_0, src_1, dst_1, ...
/// src_i may be dst_i.
struct AllReduceCommand {
  int64_t dtype = 0;
  int64_t reduction = 0;
  std::vector<int64_t> axes;
  std::vector<int64_t> counts;

  void code(ParamCoder &coder);
  bool isLegal() const { return !counts.empty(); }
  std::vector<BufferUse> buffers(int64_t ranks) const;
  Params encode() const { return encoded(*this); }
};

/// Moves a group of n ranks' shards from dimension j to dimension i. Dimension
/// i is gathered (local extent I -> n*I) and dimension j scattered (n*J -> J).
/// If gatherFirst: src is [a, I, b, n*J, c], dst [a, n*I, b, J, c]. Else: src
/// is [a, n*J, b, I, c], dst [a, J, b, n*I, c]. The gathered dimension is
/// ordered by rank: its block q comes from rank q, whose scattered block r (r
/// the receiver's number) is taken. Buffers: src, dst.
struct AllToAllCommand {
  int64_t dtype = 0;
  std::vector<int64_t> axes;
  bool gatherFirst = true;
  int64_t a = 1, gather = 1, b = 1, scatter = 1,
          c = 1; // gather = I, scatter = J

  void code(ParamCoder &coder);
  bool isLegal() const;
  std::vector<BufferUse> buffers(int64_t ranks) const;
  Params encode() const { return encoded(*this); }
};

/// dst of rank r = src of rank source[r]: `runs` runs of `count` elements,
/// which are `sourcePitch` and `targetPitch` elements apart. `source` is a
/// permutation of the group's numbers. Buffers: src, dst.
struct PermuteCommand {
  int64_t dtype = 0;
  std::vector<int64_t> axes;
  int64_t count = 0;
  std::vector<int64_t> source;
  int64_t runs = 1;
  int64_t sourcePitch = 0, targetPitch = 0; // at least count if runs > 1

  int64_t sourceSpan() const { return spanWith(sourcePitch); }
  int64_t targetSpan() const { return spanWith(targetPitch); }

  void code(ParamCoder &coder);
  bool isLegal() const;
  std::vector<BufferUse> buffers(int64_t ranks) const;
  Params encode() const { return encoded(*this); }

private:
  int64_t spanWith(int64_t pitch) const {
    return runs && count ? (runs - 1) * pitch + count : 0;
  }
};

/// Events are numbered from 0; each is recorded once a step before it is waited
/// for (in program order). No buffers.
struct EventCommand {
  int64_t event = 0;

  void code(ParamCoder &coder) { coder.extents(event); }
  bool isLegal() const { return true; }
  std::vector<BufferUse> buffers(int64_t) const { return {}; }
  Params encode() const { return encoded(*this); }
};

/// Marks the event done when all earlier commands of the command's stream are.
struct EventRecordCommand : EventCommand {};

/// Later commands of the command's stream wait for the event.
struct EventWaitCommand : EventCommand {};

} // namespace tpsp::rt

#endif // TPSP_ABI_COMMANDS_H
