// Matches attention with the form that a library computes in one call.
#include "tpsp/Dialect/Tpsp/Attention/AttentionOps.h"

using namespace mlir;
using namespace tpsp;

namespace {

/// Owns a tensor's names and extents.
struct Named {
  Named() = default;
  explicit Named(Value value)
      : names(indexNames(value.getType())), shape(typeOf(value).getShape()) {}
  NamedShape get() const { return {names, shape}; }

  SmallVector<StringRef> names;
  ArrayRef<int64_t> shape;
};

template <typename Op> AttentionMatch match(Op op, Value o) {
  if (op.draws())
    return {{}, "its dropout draws by position, which no library does alike"};
  if (op.getBias() && op.getSink())
    return {{},
            "it has a bias and a sink, and with a bias its gradient does "
            "not read the statistic"};
  Named q(op.getOperand(0)), k(op.getOperand(1)), v(op.getOperand(2)), out(o);
  Named bias, ofQueries, ofKeys, lengths;
  if (op.getBias())
    bias = Named(op.getBias());
  if (ValueRange segments = op.getSegments(); !segments.empty()) {
    ofQueries = Named(segments[0]);
    ofKeys = Named(segments[1]);
  }
  if (op.getLengths())
    lengths = Named(op.getLengths());
  return matchAttentionHeads({q.get(), k.get(), v.get(), out.get(),
                              op.getQuery(), op.getKey(), op.getFeature(),
                              bias.get(), ofQueries.get(), ofKeys.get(),
                              lengths.get()});
}

} // namespace

AttentionMatch AttentionOp::matchHeads() { return match(*this, getResult()); }
AttentionMatch AttentionGradientOp::matchHeads() {
  return match(*this, getOperand(3));
}
bool AttentionGradientOp::isGradient() { return true; }
