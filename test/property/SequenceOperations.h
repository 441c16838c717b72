/// Operations along an index, of which positions depend on those before, or are
/// masked behind an end. Each
/// function adds one to the program, or returns false if nothing there fits.
#ifndef TPSP_TEST_PROPERTY_SEQUENCEOPERATIONS_H
#define TPSP_TEST_PROPERTY_SEQUENCEOPERATIONS_H

#include "ProgramBuilder.h"

namespace tpsp::property {

bool applyScan(ProgramBuilder &b);
bool applyCumsum(ProgramBuilder &b);
bool applyDelay(ProgramBuilder &b);
template <bool isLinear> bool applyEndMask(ProgramBuilder &b);

} // namespace tpsp::property

#endif // TPSP_TEST_PROPERTY_SEQUENCEOPERATIONS_H
