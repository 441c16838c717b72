/// Random programs: their operations (Operations.cpp), their placements, and
/// the mistakes in some of them (Mistakes.cpp).
#ifndef TPSP_TEST_PROPERTY_GENERATOR_H
#define TPSP_TEST_PROPERTY_GENERATOR_H

#include "ProgramBuilder.h"

namespace tpsp::property {

/// Returns a random program; always the same for the same seed.
Program generate(uint64_t seed);

/// Returns a program of at most `operations` operations without a planted
/// mistake. Its `expectation` says whether it is surely legal.
Program generateLegal(uint64_t seed, unsigned operations);

/// Puts axes of the mesh onto a tensor at random, if they divide its extents.
void placeAtRandom(Random &random, const Program &program, Tensor &tensor,
                   double probability);

/// Divides the queries and keys of some attentions of a tensor to itself alike
/// (AttentionOperations.cpp).
void divideOwnKeys(Random &random, Program &program);

/// Makes one mistake in a legal, explicitly placed program; false if none of
/// the kinds fits.
bool makeMistake(Random &random, Program &program);

} // namespace tpsp::property

#endif // TPSP_TEST_PROPERTY_GENERATOR_H
