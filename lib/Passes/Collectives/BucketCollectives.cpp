// tpsp-bucket-collectives: moves several tensors in one collective.
//
// One sweep over a function. A collective waits in the bucket of its kind until
// an operation uses its result or the bucket is full. The bucket then becomes
// one collective where its last tensor is ready. All-reduces wait. So do
// collectives that no operation of their phase waits for: a gradient's
// reduce-scatter, and the gather of a new parameter. No operation that depends
// on a waiting result can stand in between, so members never depend on each
// other. Before and after: the same bytes, fewer latencies; a summand lives
// until its bucket's last tensor is ready.
#include "CollectiveBuilder.h"
#include "Ledger.h"
#include "Passes/Program/FunctionWalk.h"
#include "Passes/Program/SegmentsOfStep.h"
#include "tpsp/Dialect/Tpsp/IR/TpspDialect.h"
#include "tpsp/Passes/Options/OptionFlags.h"
#include "tpsp/Passes/Passes.h"

#include "tpsp/Dialect/Tpsp/IR/ErrorPlace.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Remarks.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/STLExtras.h"

namespace tpsp {
#define GEN_PASS_DEF_BUCKETCOLLECTIVES
#include "tpsp/Passes/Passes.h.inc"
} // namespace tpsp

using namespace mlir;
using namespace tpsp;

namespace {

/// Collectives that will be merged, in the order in which they become ready.
struct Bucket {
  SmallVector<CollectiveOpInterface, 0> ops;
  /// Views of their results, which nothing reads yet; they wait with the
  /// results.
  SmallVector<Operation *, 0> views;
  /// How many of the views stand before the last of `ops`.
  size_t viewsBefore = 0;
  /// Bytes of one rank, on the larger side.
  int64_t bytes = 0;
};

bool isView(Operation *op) {
  auto indexed = dyn_cast<IndexedOpInterface>(op);
  return indexed && indexed.isView();
}

/// Whether no operation of the same phase waits for the results, but only the
/// function's end or the update.
bool isForLater(Operation *op) {
  return llvm::all_of(op->getUsers(), [&](Operation *user) {
    return user->hasTrait<OpTrait::IsTerminator>() ||
           (isUpdate(user) && !isUpdate(op)) ||
           (isView(user) && isForLater(user));
  });
}

bool mayWait(CollectiveOpInterface op) {
  switch (op.getCollectiveKind()) {
  case CollectiveKind::AllReduce:
    return true;
  case CollectiveKind::ReduceScatter:
    return isForLater(op) && llvm::any_of(op->getUsers(), isUpdate);
  case CollectiveKind::AllGather:
    return isUpdate(op) && isForLater(op);
  default:
    return false;
  }
}

/// The kind of a collective; only collectives of one kind are merged. It
/// consists of the collective, its axes, element type, reduction and phase, and
/// whether an operation waits for it. A gradient that is only returned must not
/// lengthen a reduction that the next operation needs. A parameter's gradient,
/// reduced once a step, is not mixed with results of every micro-batch.
Attribute kindOf(CollectiveOpInterface op, StepSegment segment) {
  auto type = cast<RankedTensorType>(op->getOperand(0).getType());
  IdxAttr idx = getIdx(type);
  Builder builder(op.getContext());
  Origin origin = originOf(op);
  return builder.getArrayAttr(
      {originAttr(op.getContext(), {.phase = origin.phase,
                                    .chunk = origin.chunk,
                                    .stages = origin.stages}),
       builder.getI64IntegerAttr(int64_t(op.getCollectiveKind())), op.getAxes(),
       TypeAttr::get(type.getElementType()),
       builder.getBoolAttr(idx.getPendingMax()),
       builder.getI64IntegerAttr(int64_t(segment)),
       builder.getBoolAttr(isForLater(op)),
       builder.getBoolAttr(bool(op.getGradientsAttr()))});
}

class Buckets {
public:
  Buckets(Block &block, const Mesh &mesh, int64_t limit)
      : block(block), mesh(mesh), limit(limit), segments(block) {}

  void fill() {
    for (Operation &op : llvm::make_early_inc_range(block)) {
      serve(&op);
      auto collective = dyn_cast<CollectiveOpInterface>(op);
      if (collective && mayWait(collective))
        add(collective);
    }
  }

private:
  int64_t bytesOf(Operation *op) const {
    int64_t bytes = 0;
    for (auto [from, to] : llvm::zip_equal(op->getOperands(), op->getResults()))
      bytes += std::max(localBytes(from.getType(), mesh),
                        localBytes(to.getType(), mesh));
    return bytes;
  }

  void add(CollectiveOpInterface op) {
    Attribute kind = kindOf(op, segments.of(op));
    int64_t bytes = bytesOf(op);
    // It fills a bucket by itself, or belongs to a layer (tpsp-bucket-layers).
    // Smaller collectives may still be merged.
    if (bytes >= limit || op->getNumOperands() > 1)
      return;
    if (open[kind].bytes + bytes > limit)
      close(kind);
    Bucket &bucket = open[kind];
    bucket.ops.push_back(op);
    bucket.bytes += bytes;
    bucket.viewsBefore = bucket.views.size();
    for (Value result : op->getResults())
      waiting[result] = kind;
  }

  /// Closes the buckets whose results `op` reads. A view does not count as a
  /// reader: it waits, too.
  void serve(Operation *op) {
    for (Value operand : op->getOperands()) {
      Attribute kind = waiting.lookup(operand);
      if (!kind)
        continue;
      if (!isView(op)) {
        close(kind);
        continue;
      }
      open[kind].views.push_back(op);
      waiting[op->getResult(0)] = kind;
    }
  }

  void close(Attribute kind) {
    Bucket bucket = std::move(open[kind]);
    open.erase(kind);
    for (Operation *op : bucket.ops)
      for (Value result : op->getResults())
        waiting.erase(result);
    for (Operation *view : bucket.views)
      waiting.erase(view->getResult(0));
    if (bucket.ops.size() > 1)
      merge(bucket);
  }

  void merge(const Bucket &bucket) {
    Operation *last = bucket.ops.back(), *behind = last->getNextNode();
    for (size_t i = 0; i < bucket.viewsBefore; ++i)
      bucket.views[i]->moveBefore(behind);
    Operation *merged = mergeCollectives(bucket.ops, last);
    remark::passed(
        merged->getLoc(),
        remark::RemarkOpts::name("bucket").category("tpsp-bucket-collectives"))
        << remark::reason("{0} collectives are one", bucket.ops.size())
        << remark::metric("bytes", bucket.bytes);
  }

  Block &block;
  const Mesh &mesh;
  int64_t limit;
  const SegmentsOfStep segments;
  llvm::DenseMap<Attribute, Bucket> open;
  /// The bucket in which a result, or a view of it, waits.
  llvm::DenseMap<Value, Attribute> waiting;
};

struct BucketCollectives
    : public WithOptions<tpsp::impl::BucketCollectivesBase<BucketCollectives>,
                         &CompileOptions::bucketBytes> {
  void runOnOperation() override {
    int64_t bytes = options().bucketBytes;
    if (bytes < 0) {
      emitOptionError(getOperation(), getArgument(), "bucket-bytes")
          << "bucket-bytes=" << bytes
          << " is no size of a bucket; 0 is one for each tensor";
      return signalPassFailure();
    }
    auto visit = [&](FunctionOpInterface function) {
      Mesh mesh = meshOf(function);
      Buckets(function.getFunctionBody().front(), mesh, bytes).fill();
      return success();
    };
    if (failed(forEachFunction(getOperation(), visit)))
      signalPassFailure();
  }
};

} // namespace
