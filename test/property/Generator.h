/// Random programs: what they compute (Operations.cpp), how they are placed,
/// and what is wrong with some of them (Mistakes.cpp).
#ifndef TPSP_TEST_PROPERTY_GENERATOR_H
#define TPSP_TEST_PROPERTY_GENERATOR_H

#include "ProgramBuilder.h"

namespace tpsp::property {

/// The same program for the same seed.
Program generate(uint64_t seed);

/// A program of at most `operations`, without a mistake in it; legal for sure
/// if `certain`. For tests that need no illegal ones.
Program generateLegal(uint64_t seed, unsigned operations);

/// Puts the axes of the mesh onto a tensor at random, where they divide.
void placeAtRandom(Random &random, const Program &program, Tensor &tensor,
                   double probability);

/// Makes one mistake in a legal, explicitly placed program; false if none of
/// the kinds fits.
bool makeMistake(Random &random, Program &program);

} // namespace tpsp::property

#endif // TPSP_TEST_PROPERTY_GENERATOR_H
