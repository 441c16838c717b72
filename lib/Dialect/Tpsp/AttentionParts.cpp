// Attention and its parts as what a library does in one call.
#include "tpsp/Dialect/Tpsp/AttentionOps.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace tpsp;

namespace {

/// A tensor's names and extents, with storage.
struct Named {
  explicit Named(Value value)
      : names(indexNames(value.getType())),
        shape(cast<RankedTensorType>(value.getType()).getShape()) {}
  NamedShape get() const { return {names, shape}; }

  SmallVector<StringRef> names;
  ArrayRef<int64_t> shape;
};

/// Whether two operations speak of the same scores in the same phase.
template <typename Op, typename Other> bool sameScores(Op op, Other other) {
  return op.getOperand(0) == other.getOperand(0) &&
         op.getOperand(1) == other.getOperand(1) &&
         op.getQuery() == other.getQuery() && op.getKey() == other.getKey() &&
         op.getFeature() == other.getFeature() &&
         op.getScale() == other.getScale() &&
         op.getCausal() == other.getCausal() &&
         op.getDropoutAttr() == other.getDropoutAttr() &&
         op.getSeed() == other.getSeed() &&
         op->hasAttr(backwardAttrName) == other->hasAttr(backwardAttrName) &&
         op->getBlock() == other->getBlock();
}

template <typename Other, typename Op> Other findSameScores(Op op) {
  for (Operation *user : op.getOperand(0).getUsers())
    if (auto other = dyn_cast<Other>(user); other && sameScores(op, other))
      return other;
  return {};
}

/// Whether a rank has a part of `index` of `value`.
bool isSharded(Value value, StringRef index) {
  IdxAttr idx = getIdx(value);
  std::optional<unsigned> dim = idx.dimOf(index);
  return idx.getLocal() && dim && !idx.getAxes()[*dim].empty();
}

/// What no library's call does, whatever the shapes.
template <typename Op> StringRef obstacleTo(Op op) {
  if (op.getDropout() && !op.getDropout()->isZero())
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
  return matchAttentionHeads({q.get(), k.get(), v.get(), out.get(),
                              op.getQuery(), op.getKey(), op.getFeature()});
}

} // namespace

AttentionPart AttentionOp::getPart() { return AttentionPart::Result; }
AttentionPart AttentionStatisticOp::getPart() {
  return AttentionPart::Statistic;
}
AttentionPart AttentionGradientOp::getPart() {
  return AttentionPart(int(AttentionPart::QueryGradient) + int(getOf()));
}

AttentionMatch AttentionOp::matchHeads() { return match(*this, getResult()); }
AttentionMatch AttentionGradientOp::matchHeads() {
  return match(*this, getOperand(5));
}
AttentionMatch AttentionStatisticOp::matchHeads() {
  if (auto attention = findSameScores<AttentionOp>(*this))
    return attention.matchHeads();
  return {{}, "it stands without the attention that it is of"};
}

SmallVector<Operation *> AttentionOp::getCallParts() {
  SmallVector<Operation *> parts = {*this};
  if (auto statistic = findSameScores<AttentionStatisticOp>(*this))
    parts.push_back(statistic);
  return parts;
}
SmallVector<Operation *> AttentionStatisticOp::getCallParts() {
  if (auto attention = findSameScores<AttentionOp>(*this))
    return {attention, *this};
  return {*this};
}
SmallVector<Operation *> AttentionGradientOp::getCallParts() {
  SmallVector<Operation *> parts;
  for (Operation *user : getOperand(0).getUsers()) {
    auto other = dyn_cast<AttentionGradientOp>(user);
    if (other && sameScores(*this, other) &&
        llvm::equal(getOperands(), other.getOperands()) &&
        !llvm::is_contained(parts, other))
      parts.push_back(other);
  }
  llvm::sort(parts, [](Operation *x, Operation *y) {
    return cast<AttentionGradientOp>(x).getOf() <
           cast<AttentionGradientOp>(y).getOf();
  });
  return parts;
}
