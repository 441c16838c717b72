/// Attention with a sink, by attention without one. Let o and l be the result
/// and the statistic without the sink. With it, they are
///
///     o' = o sigmoid(l - sink),  l' = sink + softplus(l - sink)
///
/// because the sink adds exp(sink) to each row's sum of exponentials. A row
/// that sees no key has l = -infinity, so o' = 0 and l' = sink.
#ifndef TPSP_DIALECT_TPSP_ATTENTION_ATTENTIONSINKS_H
#define TPSP_DIALECT_TPSP_ATTENTION_ATTENTIONSINKS_H

#include "tpsp/Dialect/Tpsp/IR/TpspDialect.h"

namespace tpsp {

/// The gradient of a sink, unplaced and of its type: minus the sum over rows of
/// exp(sink - statistic) times the sum of g o. `g` is the gradient of the
/// result `o`, which has all indices of `statistic`; `o` and `statistic` are
/// those with the sink.
mlir::Value sinkGradient(mlir::OpBuilder &b, mlir::Value sink, mlir::Value g,
                         mlir::Value o, mlir::Value statistic);

} // namespace tpsp

#endif // TPSP_DIALECT_TPSP_ATTENTION_ATTENTIONSINKS_H
