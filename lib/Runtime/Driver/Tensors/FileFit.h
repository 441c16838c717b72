/// Describes, in words, how a file's tensors differ from a program's.
#ifndef TPSP_RUNTIME_DRIVER_TENSORS_FILEFIT_H
#define TPSP_RUNTIME_DRIVER_TENSORS_FILEFIT_H

#include "tpsp/Abi/Plan.h"

namespace tpsp::rt {

/// "a, b, c and 4 more": lists at most `most` entries.
std::string listOf(const std::vector<std::string> &entries,
                   const char *separator, size_t most = 5);

/// "'w' is [64, 64], not [4, 64]". If one shape is the other with adjacent
/// dimensions merged, also says what to declare. Empty if the shapes are the
/// same.
std::string shapeDifference(const PlanBuffer &wanted,
                            const std::vector<int64_t> &found);

} // namespace tpsp::rt

#endif // TPSP_RUNTIME_DRIVER_TENSORS_FILEFIT_H
