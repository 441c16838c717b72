/// A Program as text in the short form.
#ifndef TPSP_IMPORT_TORCH_WRITER_H
#define TPSP_IMPORT_TORCH_WRITER_H

#include "../ProgramText.h"
#include "Layers.h"
#include "Names.h"

namespace tpsp::import::torch {

/// Adds the functions of a program to `text`: one for each layer of
/// `functions`, and `@model`.
void writeProgram(const Program &program, const LayerFunctions &functions,
                  Names &names, ProgramText &text);

} // namespace tpsp::import::torch

#endif // TPSP_IMPORT_TORCH_WRITER_H
