/// The rule of thumb for backward communication, by index.
///
/// The documents state it over DTensor placements ("must_have_bwd_comms"). An
/// input's gradient certainly needs communication if a mesh axis shards the
/// output in a way that it does not shard the input. Their code takes ways to
/// be equal if the numbers of dimensions are: it is wrong about W here. By
/// index:
///
///   y[b, s, e@tp] = W[e@tp, d] x[b, s, d]      x: yes (lacks e@tp), W: no
///
/// The rule is sound: where it says yes, the derivation has a collective, on
/// every axis of more than one rank. (The derivation is the adjoint's index
/// structure under its compute placement.) The rule is not complete: where it
/// says no, there may be a collective. Two reasons are possible, and both need
/// an input that an axis shards otherwise than the output:
///
/// - *Regathers.* The adjoint reads the other inputs, and one that the forward
///   pass moved is moved again, unless it was saved. Examples are FSDP's weight
///   for the gradient of the activations, and context-parallel keys for that of
///   the queries.
/// - *One-sided sums.* y[b, e] = W[e, d] x[b, d@tp]: the gradient of W comes
///   out on d@tp, because x is, and W is wanted whole.
///
/// An input's shard that the output lacks is no reason in itself, although the
/// documents list it as one. After a row-parallel product, and after a gather,
/// the whole gradient is there, and slicing it is free. The rule sees one
/// operation from outside: a composite that communicates within (ring
/// attention) answers for its parts.
///
/// The rule decides nothing; collectives are derived. Tests and
/// `--tpsp-explain=rule` compare it with the derivation.
#ifndef TPSP_ALGEBRA_BACKWARDRULE_H
#define TPSP_ALGEBRA_BACKWARDRULE_H

#include "tpsp/Algebra/IndexStructure.h"

namespace tpsp {

/// For each operand, whether its gradient certainly needs communication. It
/// does if some axis shards an index of the (single) result, and does not shard
/// that index of the operand. Placements are without pending axes.
llvm::SmallVector<bool, 3>
mustHaveBackwardCollective(const IndexStructure &structure,
                           llvm::ArrayRef<Placement> operands,
                           const Placement &result);

} // namespace tpsp

#endif // TPSP_ALGEBRA_BACKWARDRULE_H
