/// The sizes of collectives that bounds look at.
#ifndef TPSP_LIB_PLANNER_DECIDINGSIZES_H
#define TPSP_LIB_PLANNER_DECIDINGSIZES_H

#include "tpsp/Schedule/Hardware.h"

namespace tpsp::planner {

/// The sizes in bytes, ascending, up to 1e12: powers of two, and those of the
/// machine's tables. Between two of them a byte takes no less time, without the
/// launch, than at one of the two.
std::vector<double> decidingSizes(const Hardware &machine);

} // namespace tpsp::planner

#endif // TPSP_LIB_PLANNER_DECIDINGSIZES_H
