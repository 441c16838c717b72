/// The arguments and the memory that the unsharded program of a plan needs.
#ifndef TPSP_RUNTIME_DRIVER_COMPARISON_REFERENCEARGUMENTS_H
#define TPSP_RUNTIME_DRIVER_COMPARISON_REFERENCEARGUMENTS_H

#include "tpsp/Runtime/Driver/Plans/PlanFile.h"
#include "tpsp/Runtime/Driver/Tensors/TensorSource.h"

namespace tpsp::rt {

/// Sets `out` to the unsharded arguments, in the order of the program.
Status wholeArguments(const PlanDescription &description,
                      const TensorSource &source,
                      std::vector<reference::Tensor> &out);

/// INVALID if the unsharded program needs more memory than there is. The
/// message begins with `subject` and ends with `wayOut`.
Status checkReferenceMemory(const reference::Program &program,
                            const std::string &subject,
                            const std::string &wayOut);

/// INVALID if so many bytes are more than there are, with a message as above.
Status checkHostMemory(int64_t needed, const std::string &subject,
                       const std::string &wayOut);

} // namespace tpsp::rt

#endif // TPSP_RUNTIME_DRIVER_COMPARISON_REFERENCEARGUMENTS_H
