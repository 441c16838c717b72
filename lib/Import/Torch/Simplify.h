/// Rewrites of a Program that keep what it computes.
#ifndef TPSP_IMPORT_TORCH_SIMPLIFY_H
#define TPSP_IMPORT_TORCH_SIMPLIFY_H

#include "Program.h"

namespace tpsp::import::torch {

/// Removes operations whose results nothing uses, and arguments that are
/// constants and unused.
void removeDead(Program &program);

/// Removes positions that are taken out of what `stack` makes of them: parts of
/// complex numbers.
void removeTakenParts(Program &program);

/// Removes transpositions whose results are used where the order of indices
/// does not matter.
void removeTranspositions(Program &program);

} // namespace tpsp::import::torch

#endif // TPSP_IMPORT_TORCH_SIMPLIFY_H
