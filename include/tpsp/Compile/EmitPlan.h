/// Writes a compiled model to a file that runs without the compiler.
#ifndef TPSP_COMPILE_EMITPLAN_H
#define TPSP_COMPILE_EMITPLAN_H

#include "tpsp/Compile/Compiler.h"
#include "tpsp/Runtime/Driver/Plans/PlanFile.h"

namespace tpsp {

/// Describes a compiled model without its code. `path` is the model's file;
/// `dtype` is as in CompileOptions. Fails if the file cannot be read again, or
/// if the mesh has too many ranks.
llvm::Expected<rt::PlanDescription> describePlan(const CompiledModel &model,
                                                 llvm::StringRef path,
                                                 llvm::StringRef dtype);

/// Lowers (and consumes the body of) the model's plan, compiles it for
/// `processor` and writes it to `path` (PlanFile.h). `processor` is a level
/// that plans know ("x86-64-v3"). If it is empty, the best level of this
/// machine is taken.
llvm::Error emitPlan(CompiledModel &model, rt::PlanDescription description,
                     llvm::StringRef processor, CodeEffort effort,
                     const std::string &path);

} // namespace tpsp

#endif // TPSP_COMPILE_EMITPLAN_H
