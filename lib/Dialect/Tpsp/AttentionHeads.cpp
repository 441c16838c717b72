// Attention as what a library does in one call.
#include "tpsp/Dialect/Tpsp/AttentionOps.h"

using namespace mlir;
using namespace tpsp;

namespace {

/// A tensor's names and extents, with storage.
struct Named {
  Named() = default;
  explicit Named(Value value)
      : names(indexNames(value.getType())),
        shape(cast<RankedTensorType>(value.getType()).getShape()) {}
  NamedShape get() const { return {names, shape}; }

  SmallVector<StringRef> names;
  ArrayRef<int64_t> shape;
};

/// Whether a rank has a part of `index` of `value`.
bool isSharded(Value value, StringRef index) {
  IdxAttr idx = getIdx(value);
  std::optional<unsigned> dim = idx.dimOf(index);
  return idx.getLocal() && dim && !idx.getAxes()[*dim].empty();
}

/// What no library's call does, whatever the shapes.
template <typename Op> StringRef obstacleTo(Op op) {
  if (op.draws())
    return "its dropout draws by position, which no library does alike";
  if (op.getCausal() && (isSharded(op.getOperand(0), op.getQuery()) ||
                         isSharded(op.getOperand(1), op.getKey())))
    return "its mask begins elsewhere on every rank";
  return "";
}

template <typename Op> AttentionMatch match(Op op, Value o) {
  if (StringRef obstacle = obstacleTo(op); !obstacle.empty())
    return {{}, obstacle.str()};
  Named q(op.getOperand(0)), k(op.getOperand(1)), v(op.getOperand(2)), out(o);
  Named bias, ofQueries, ofKeys;
  if (op.getBias())
    bias = Named(op.getBias());
  if (ValueRange segments = op.getSegments(); !segments.empty()) {
    ofQueries = Named(segments[0]);
    ofKeys = Named(segments[1]);
  }
  return matchAttentionHeads({q.get(), k.get(), v.get(), out.get(),
                              op.getQuery(), op.getKey(), op.getFeature(),
                              bias.get(), ofQueries.get(), ofKeys.get()});
}

} // namespace

AttentionMatch AttentionOp::matchHeads() { return match(*this, getResult()); }
AttentionMatch AttentionGradientOp::matchHeads() {
  return match(*this, getOperand(3));
}
bool AttentionGradientOp::isGradient() { return true; }
