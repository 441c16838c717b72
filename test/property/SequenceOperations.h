/// Operations along an index, whose positions depend on earlier ones or are
/// masked after an end. Each function adds one to the program, or returns false
/// if no value fits.
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
