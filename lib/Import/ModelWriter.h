/// Writes a model as a program: a function for each kind of layer, and a
/// function that calls them.
#ifndef TPSP_IMPORT_MODELWRITER_H
#define TPSP_IMPORT_MODELWRITER_H

#include "Model.h"
#include "tpsp/Import/Import.h"

namespace tpsp::import {

/// INVALID if the options do not fit the model.
rt::Status writeModel(Model model, const ImportOptions &options, Imported &out);

} // namespace tpsp::import

#endif // TPSP_IMPORT_MODELWRITER_H
