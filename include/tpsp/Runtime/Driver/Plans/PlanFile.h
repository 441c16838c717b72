/// Stores compiled plans in files: a shared object that exports the step,
/// followed by a description of the plan.
///
///     [shared object][description, JSON][trailer]
///
/// The object has the step's machine code, and the GPU's kernels as PTX. The
/// description has the plan, the unsharded program for --verify, and the
/// model's path and hash.
///
/// A dynamic linker ignores bytes after the object. The trailer holds the
/// lengths of the other two parts and a hash of them. So a file that was cut or
/// changed is detected before any of its code runs.
#ifndef TPSP_RUNTIME_DRIVER_PLANS_PLANFILE_H
#define TPSP_RUNTIME_DRIVER_PLANS_PLANFILE_H

#include "tpsp/Abi/Plan.h"
#include "tpsp/Abi/Status.h"
#include "tpsp/Runtime/ReferenceProgram.h"

#include <cstdint>
#include <memory>
#include <string>

namespace tpsp::rt {

/// Describes a compiled program apart from its code: the data needed to run,
/// draw, verify and report it.
struct PlanDescription {
  /// Never null.
  std::shared_ptr<const Plan> plan = std::make_shared<Plan>();
  /// The model's path as the user gave it, and a hash of its text (XXH3).
  std::string model;
  uint64_t modelHash = 0;
  /// "f32", "bf16", "f16" or "as written".
  std::string dtype;
  /// The processor that the code needs: "x86-64-v3", or "" if none is known.
  std::string processor;
  /// The unsharded program.
  reference::Program reference;
};

/// The type of a plan's entry function.
using StepFunction = tpsp_rt_status (*)(tpsp_rt_rank *, int64_t segment);
/// The name under which a plan's shared object exports that function.
constexpr const char *stepSymbol = "tpsp_plan_step";

/// Whether the file looks like a compiled plan, without reading it all. False
/// for text, and for files that cannot be read.
bool looksLikePlan(const std::string &path);

/// Converts a description to JSON text, and back. INVALID if the text is not a
/// description.
std::string toJson(const PlanDescription &description);
Status fromJson(const std::string &text, PlanDescription &out);

/// Writes a plan of this build's ABI, completely or not at all. `object` holds
/// the shared object's bytes.
Status writePlan(const std::string &path, const std::string &object,
                 const PlanDescription &description);

/// Reads the description of a plan. INVALID, with a way out, if the file is not
/// a plan, or was cut or changed. INVALID for another ABI version, and for a
/// processor that this machine does not have.
Status readPlan(const std::string &path, PlanDescription &out);

/// Loads a plan's code into this process, which must export the calls of
/// tpsp_rt.h. Call readPlan() first. The code stays loaded.
Status loadPlan(const std::string &path, StepFunction &out);

} // namespace tpsp::rt

#endif // TPSP_RUNTIME_DRIVER_PLANS_PLANFILE_H
