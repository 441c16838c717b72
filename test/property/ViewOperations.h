/// Operations that change no element: views, requests and blocks. Each function
/// adds one to the program, or returns false if no value fits.
#ifndef TPSP_TEST_PROPERTY_VIEWOPERATIONS_H
#define TPSP_TEST_PROPERTY_VIEWOPERATIONS_H

#include "ProgramBuilder.h"

namespace tpsp::property {

bool applyRename(ProgramBuilder &b);
bool applySplit(ProgramBuilder &b);
bool applyMerge(ProgramBuilder &b);
bool applyReshard(ProgramBuilder &b);
bool applyTake(ProgramBuilder &b);
bool applyStack(ProgramBuilder &b);
bool applyConcat(ProgramBuilder &b);
bool applyCut(ProgramBuilder &b);
bool applyPad(ProgramBuilder &b);

} // namespace tpsp::property

#endif // TPSP_TEST_PROPERTY_VIEWOPERATIONS_H
