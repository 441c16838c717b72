/// The rule of thumb for backward communication, by index.
///
/// The documents state it over DTensor placements ("must_have_bwd_comms"): an
/// input's gradient certainly needs communication if the output is sharded by a
/// mesh axis in a way that the input is not. By index:
///
///   y[b, s, e@tp] = W[e@tp, d] x[b, s, d]      x: yes (lacks e@tp), W: no
///
/// The rule is sound: where it says yes, the derivation (the adjoint's index
/// structure under its compute placement) has a collective, on every axis of
/// more than one rank. It is not complete. Where it says no, there may be one
/// for these reasons, both of which need an input that an axis shards otherwise
/// than the output:
///
/// - *Regathers.* The adjoint reads the other inputs, and one that the forward
///   pass moved is moved again, unless it was kept: FSDP's weight for the
///   gradient of the activations, the sequence-parallel input for the gradient
///   of a column-parallel weight, context-parallel keys for the gradient of the
///   queries.
/// - *One-sided sums.* y[b, e] = W[e, d] x[b, d@tp]: the gradient of W comes
/// out
///   on d@tp, because x is, and W is wanted whole.
///
/// An input's shard that the output lacks is no reason in itself, although the
/// documents list it as one: after a row-parallel product, and after a gather,
/// the whole gradient is there and slicing it is free. And the rule sees one
/// operation from outside: a composite that communicates within (ring
/// attention) answers for its parts.
///
/// Nothing is decided by this; collectives are derived. It is held against the
/// derivation, in tests and by `--tpsp-explain=rule`.
#ifndef TPSP_ALGEBRA_BACKWARDRULE_H
#define TPSP_ALGEBRA_BACKWARDRULE_H

#include "tpsp/Algebra/IndexStructure.h"

namespace tpsp {

/// For each operand, whether its gradient certainly needs communication: some
/// axis shards an index of the (single) result, and does not shard that index
/// of the operand. Placements are without pending axes.
llvm::SmallVector<bool, 3>
mustHaveBackwardCollective(const IndexStructure &structure,
                           llvm::ArrayRef<Placement> operands,
                           const Placement &result);

} // namespace tpsp

#endif // TPSP_ALGEBRA_BACKWARDRULE_H
