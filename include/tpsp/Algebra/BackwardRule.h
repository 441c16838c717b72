/// The rule of thumb for backward communication, by index. It is printed with
/// the derivation. No pass places collectives by it.
///
/// The documents state it over DTensor placements ("must_have_bwd_comms"). An
/// input's gradient certainly needs communication if a mesh axis shards the
/// output in a way that it does not shard the input. Their code compares
/// dimensions by number, which gives the wrong answer for W here. Compared by
/// index:
///
///   y[b, s, e@tp] = W[e@tp, d] x[b, s, d]      x: yes (lacks e@tp), W: no
///
/// The rule is sound: if it says yes, the derivation has a collective, on every
/// axis of more than one rank. (The derivation is the adjoint's index structure
/// under its compute placement.) The rule is not complete: if it says no, there
/// may still be a collective. There are two possible reasons. Both need an
/// input that an axis shards differently from the output:
///
/// - *Regathers.* The adjoint reads the other inputs. An input that the forward
///   pass moved is moved again, unless it was saved. Examples are FSDP's weight
///   for the activations' gradient, and context-parallel keys for the queries'
///   gradient.
/// - *One-sided sums.* y[b, e] = W[e, d] x[b, d@tp]: the gradient of W comes
///   out on d@tp, because x is on d@tp, but W is wanted whole.
///
/// An input's shard that the output lacks is no reason in itself, although the
/// documents list it as one. After a row-parallel product, and after a gather,
/// every rank has the whole gradient, and slicing it is free. The rule judges
/// one operation as a whole: for a composite that communicates internally (ring
/// attention), the parts' communication is not counted.
///
/// The rule decides nothing; collectives are derived. Tests and
/// `--tpsp-explain=rule` compare it with the derivation.
#ifndef TPSP_ALGEBRA_BACKWARDRULE_H
#define TPSP_ALGEBRA_BACKWARDRULE_H

#include "tpsp/Algebra/IndexStructure.h"

namespace tpsp {

/// For each operand, whether its gradient certainly needs communication. It
/// does if some axis shards an index of the (single) result but does not shard
/// that index of the operand. The placements must have no pending axes.
llvm::SmallVector<bool, 3>
mustHaveBackwardCollective(const IndexStructure &structure,
                           llvm::ArrayRef<Placement> operands,
                           const Placement &result);

} // namespace tpsp

#endif // TPSP_ALGEBRA_BACKWARDRULE_H
