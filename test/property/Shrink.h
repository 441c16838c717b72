/// Makes a failing program smaller.
#ifndef TPSP_TEST_PROPERTY_SHRINK_H
#define TPSP_TEST_PROPERTY_SHRINK_H

#include "Program.h"

#include <functional>

namespace tpsp::property {

/// Whether a smaller program still fails in the same way.
using StillFails = std::function<bool(const Program &)>;

/// Drops operations, results, axes, subscripts, indices and extents as long as
/// the program still fails. Calls `stillFails` at most `attempts` times.
Program shrink(Program program, const StillFails &stillFails,
               unsigned attempts);

} // namespace tpsp::property

#endif // TPSP_TEST_PROPERTY_SHRINK_H
