/// The meaning of the integers of a tpsp_rt_command.
///
/// Each command is a plain struct. `code` lists its parameters, once for both
/// directions: `encode` serves the compiler's lowering, `decode` the runtime.
/// `isLegal` checks the parameters against each other, and `buffers` says how
/// the command uses each of its buffers. A plan file may be corrupt: before
/// `isLegal`, a command may hold any integers. This header depends on the
/// standard library alone, so that a runtime built without LLVM can include it.
///
/// Shapes are of one rank ("local") and row-major; extents and strides are in
/// elements. Axes are positions in the mesh's list of axes, and an axis list is
/// major to minor. The *group* of an axis list is the set of ranks that differ
/// only in those axes. A group's ranks are numbered by their coordinates on its
/// axes, first axis slowest.
#ifndef TPSP_ABI_COMMANDS_H
#define TPSP_ABI_COMMANDS_H

#include "tpsp/Abi/EnumNames.h"
#include "tpsp/Abi/ParamCoder.h"
#include "tpsp/Abi/ScoreOptions.h"

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace tpsp::rt {

/// How a command uses one of its buffers.
struct BufferUse {
  const char *role; ///< for people: "src"
  /// The command may touch the buffer's elements [0, elements).
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

/// A step that a matmul does besides its product.
///
/// These steps change x, the finished sum for C[i, j], before it is rounded and
/// stored:
///
///   Bias    x += vector[j]
///   Keep    matrix[i, j] = x
///   Gelu    x = gelu(x), the tanh form
///   Slope   x *= gelu'(matrix[i, j])
///
/// These steps add up an operand:
///
///   SumA    vector[i] = sum_k A[i, k]
///   SumB    vector[j] = sum_k B[k, j]
///
/// `matrix` is laid out as C is, with C's leading dimension and strides;
/// `vector` is dense and the same for all points of the batch. Elements are of
/// the matmul's type.
///
/// This step adds the product to what C holds:
///
///   Add     C[i, j] += x, which is not rounded before
///
/// Its buffer is C. C then has the type in which products are summed: f32, or
/// f64 for f64.
enum class EpilogueStep : int64_t { Bias, Keep, Gelu, Slope, SumA, SumB, Add };

} // namespace tpsp::rt

/// The names in messages and in plan.matmul.
template <> struct tpsp::EnumNames<tpsp::rt::EpilogueStep> {
  static constexpr const char *all[] = {"bias",  "keep",  "gelu", "slope",
                                        "sum_a", "sum_b", "add"};
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
  return step == EpilogueStep::Keep || step == EpilogueStep::Slope ||
         step == EpilogueStep::Add;
}

/// Whether `steps` is a list that cuBLASLt can do in one call. The lists are:
/// bias; [bias] [keep] gelu; slope; sum_a; sum_b; add.
bool isEpilogue(const std::vector<EpilogueStep> &steps);

/// C[m, n] = sum_k A[m, k] B[k, n] for every point of `batch`, summed over
/// `accumulate` (whose strideC is 0). C is row-major with leading dimension
/// ldc. A is row-major with leading dimension lda, [m, k] or, if transposeA,
/// [k, m]. B is row-major with leading dimension ldb, [k, n] or, if transposeB,
/// [n, k].
struct MatmulForm {
  int64_t m = 1, n = 1, k = 1;
  /// In elements.
  int64_t lda = 1, ldb = 1, ldc = 1;
  bool transposeA = false, transposeB = false;
  std::vector<MatmulLoop> batch, accumulate;
};

/// A matrix product, then the steps of `epilogue`. Accumulation is in f32 (f64
/// for f64). An epilogue that sums an operand requires one point of `batch` and
/// one step of `accumulate`. Buffers: A, B, C, then the buffers of the
/// epilogue's steps, in order.
struct MatmulCommand : MatmulForm {
  int64_t dtype = 0;
  std::vector<EpilogueStep> epilogue;

  /// Whether C keeps what it holds, and the product is added to it.
  bool adds() const;
  /// C's element type.
  int64_t resultType() const;

  void code(ParamCoder &coder);
  bool isLegal() const;
  std::vector<BufferUse> buffers(int64_t ranks) const;
  Params encode() const { return encoded(*this); }
};

/// The global position at which this rank's part of an index starts: ((rank +
/// shift) mod group) * stride + offset + batch * batchStride. `rank` is its
/// number in the group of `axes`, and `batch` the number of the micro-batch.
/// The rank's own shard has shift 0 and offset 0. A shard that came around the
/// ring has a shift, and a part of a shard has an offset. A negative stride
/// reverses the order of the ranks' parts. No rank's part starts before
/// position 0.
struct PartStart {
  int64_t stride = 0;
  std::vector<int64_t> axes;
  int64_t shift = 0;
  int64_t offset = 0;
  int64_t batchStride = 0;

  void code(ParamCoder &coder);
  /// Whether the part starts at position 0 on every rank.
  bool isZero() const {
    return axes.empty() && offset == 0 && batchStride == 0;
  }
  /// The starting position on rank `self` of a group of `ranks`, of micro-batch
  /// `batch`.
  int64_t of(int64_t self, int64_t ranks, int64_t batch = 0) const {
    return (self + shift) % ranks * stride + offset + batch * batchStride;
  }
};

/// A product that multiplies each row by one of several matrices. Each row has
/// an integer that chooses the matrix. Rows are along m, and B is one of
/// `groups` matrices:
///
///   C[r, n] = sum_k A[r, k] B_id[r][k, n]
///
/// or, if `sumsRows`, along k, and C is:
///
///   C_g[m, n] = sum_{r: id[r] = g} A[m, r] B[r, n]
///
/// The matrices are `groupStride` elements apart. Integers of neighbouring rows
/// are neighbours. `idStrides` has the integers' stride for each loop of the
/// batch, then for each loop of the accumulation. The number of the rank's
/// first matrix is subtracted from each integer. If the difference is not in
/// [0, groups), the row takes part in no product; its row of C is 0.
struct GroupedMatmulForm : MatmulForm {
  bool sumsRows = false;
  int64_t groups = 1, groupStride = 0;
  std::vector<int64_t> idStrides;

  int64_t rows() const { return sumsRows ? k : m; }
};

/// A grouped product. Accumulation is in f32 (f64 for f64). Buffers: A, B, the
/// integers (i32), C.
struct GroupedMatmulCommand : GroupedMatmulForm {
  int64_t dtype = 0;
  /// The number of this rank's first matrix.
  PartStart firstGroup;

  void code(ParamCoder &coder);
  bool isLegal() const;
  std::vector<BufferUse> buffers(int64_t ranks) const;
  Params encode() const { return encoded(*this); }
};

/// Strides of a tensor of attention, in elements, one per index. The feature is
/// innermost, with stride 1. The tensor is dense, with its indices in any
/// order.
struct AttentionLayout {
  int64_t batch = 0, head = 0, group = 0, row = 0;
};

/// Strides of a tensor that is added to scores, in elements. The stride is 0
/// along an index that the tensor does not have.
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
/// A head of keys and values serves `groups` heads of queries. The sums over t
/// run over the keys that count. All of these must hold:
///
/// - the query at position s sees the key at t (PositionMask, ScoreOptions.h)
/// - the key's and the query's segment numbers are equal, if there are segments
/// - t < length[b, h], if there are lengths
/// - the bias is not minus infinity, if there is a bias
///
/// In these conditions s is a position among all queries; this rank's queries
/// start at `queryStart`. A position among all keys is t. The buffers have all
/// keys, or with `hasLastKeys` those that end at this rank's last query. Keys
/// before position 0 do not count.
///
/// A bias excludes no key as long as it is finite. A row without keys that
/// count has result 0 and statistic minus infinity. The statistic is dense, in
/// the order written, in f32 (f64 for f64). Sums are in f32 (f64 for f64).
///
/// Buffers: q, k, v, o, then the statistic if `keepsStatistic` and the bias if
/// `hasBias`. If `hasSegments`, the segment numbers (i32) of queries and of
/// keys follow; if `hasLengths`, the lengths (i32).
struct AttentionCommand : ScoreOptions {
  int64_t dtype = 0;
  int64_t batch = 1, heads = 1, groups = 1;
  int64_t queries = 1, keys = 1;
  /// Extents of d and of e.
  int64_t features = 1, valueFeatures = 1;
  bool keepsStatistic = false;
  bool hasBias = false, hasSegments = false, hasLengths = false;
  /// The position of this rank's first query, counted in keys, for the mask;
  /// zero without a mask.
  PartStart queryStart;
  /// Whether the last key is at the position of this rank's last query.
  bool hasLastKeys = false;
  /// Keys and values have no group: their group's stride is 0.
  AttentionLayout q, k, v, o;
  /// Used only if the flags above say so. Each is dense along the indices that
  /// it has.
  ScoreLayout bias;
  AttentionLayout querySegments, keySegments, lengths;

  int64_t numRows() const { return batch * heads * groups * queries; }
  int64_t queryElements() const { return numRows() * features; }
  int64_t keyElements() const { return batch * heads * keys * features; }
  int64_t valueElements() const { return batch * heads * keys * valueFeatures; }
  int64_t resultElements() const { return numRows() * valueFeatures; }
  int64_t biasElements() const;
  int64_t statisticType() const;
  /// The number of first keys that lie before position 0 if queries start at
  /// `start`.
  int64_t keysBefore(int64_t start) const {
    int64_t before = hasLastKeys ? keys - queries - start : 0;
    return before > 0 ? before : 0;
  }
  /// The first query at `start`, counted in keys from the first one that the
  /// rank has and that is not before position 0.
  int64_t startAmongKeys(int64_t start) const {
    return hasLastKeys && start > keys - queries ? keys - queries : start;
  }
  /// The queries from `start` on see no keys but the first seenKeys(start).
  int64_t seenKeys(int64_t start) const {
    return causal && keys > start + queries ? start + queries : keys;
  }

  void code(ParamCoder &coder);
  bool isLegal() const;
  std::vector<BufferUse> buffers(int64_t ranks) const;
  Params encode() const { return encoded(*this); }
};

/// The gradients of an attention that has kept its statistic. They are 0
/// through a row without keys. With a bias the command does not read the
/// statistic: beside a low bias, rounding loses the logarithm. Buffers: q, k,
/// v, o, the statistic, and the gradient of o, laid out as o is. Next, written:
/// the gradients of q, k and v, laid out as q, k and v are. Next the bias, the
/// segment numbers and the lengths, as in AttentionCommand. Last, written, the
/// bias's gradient if `wantsBiasGradient`.
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

/// A whole tensor, [outer, group, chunk], and the parts of it that a group's
/// ranks hold, each [outer, chunk]. A part may be a tile of a larger buffer.
/// Its runs of `chunk` elements are then `pitch` elements apart.
struct ShardLayout {
  int64_t outer = 1, chunk = 1;
  int64_t pitch = 0; // 0: chunk

  int64_t runPitch() const { return pitch ? pitch : chunk; }
  /// Elements from the first to one past the last of a part.
  int64_t span() const {
    return outer && chunk ? (outer - 1) * runPitch() + chunk : 0;
  }
  bool isLegal() const;
};

/// A transfer between whole tensors and their parts: of one tensor, and of
/// `others` in the same call. Buffers of the commands below: src_0, dst_0,
/// src_1, dst_1, ...
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

/// dst[o, c] = src[o, r, c] with r the rank's number in the group. It has one
/// tensor, and communicates nothing.
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
/// ordered by rank. Rank r receives as block q the scattered block r of rank q.
/// Buffers: src, dst.
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

/// Rank number `from` of the group of `axes` sends `count` elements to rank
/// number `to`. Only these two make the call; from then on they are its group.
/// `transfer` tells transfers of one step apart. Buffers: one, the sender's
/// source or the receiver's destination.
struct TransferCommand {
  int64_t dtype = 0;
  std::vector<int64_t> axes;
  int64_t from = 0, to = 0;
  int64_t count = 0, transfer = 0;

  void code(ParamCoder &coder);
  bool isLegal() const { return from != to; }
  std::vector<BufferUse> buffers(int64_t ranks) const;
  Params encode() const { return encoded(*this); }
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
