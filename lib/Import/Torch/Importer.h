/// From an archive's graph to a Program.
#ifndef TPSP_IMPORT_TORCH_IMPORTER_H
#define TPSP_IMPORT_TORCH_IMPORTER_H

#include "Builder.h"
#include "Operators.h"
#include "tpsp/Import/Torch.h"

namespace tpsp::import::torch {

/// With `options.loss`, the program has a loss that the module lacks. Throws a
/// Refusal that lists every operation that cannot be expressed.
Program buildProgram(const Archive &archive, const Graph &graph,
                     const TorchOptions &options);

/// The elements of a tensor of the archive, in its type, row-major.
std::string readStored(const Archive &archive, const StoredTensor &stored);

/// The same as numbers.
ConstantPtr readConstant(const Archive &archive, const StoredTensor &stored);

} // namespace tpsp::import::torch

#endif // TPSP_IMPORT_TORCH_IMPORTER_H
