/// Compiled plans as files: a shared object that exports the step, followed by
/// a description of it.
///
///     [shared object][description, JSON][trailer]
///
/// A dynamic linker ignores what follows an object. The trailer says how long
/// the others are and holds a hash of them. So a file that was cut or changed
/// is known before anything of it runs.
#ifndef TPSP_RUNTIME_DRIVER_PLANS_PLANFILE_H
#define TPSP_RUNTIME_DRIVER_PLANS_PLANFILE_H

#include "tpsp/Abi/Plan.h"
#include "tpsp/Abi/Status.h"
#include "tpsp/Runtime/ReferenceProgram.h"

#include <cstdint>
#include <memory>
#include <string>

namespace tpsp::rt {

/// What a compiled program is, apart from its code: all that running, drawing,
/// verifying and reporting need.
struct PlanDescription {
  /// Never null.
  std::shared_ptr<const Plan> plan = std::make_shared<Plan>();
  /// The model's path as it was given, and a hash of its text (XXH3).
  std::string model;
  uint64_t modelHash = 0;
  /// "f32", "bf16", "f16" or "as written".
  std::string dtype;
  /// What its code needs of a processor: "x86-64-v3", or "" for nothing that
  /// is known.
  std::string processor;
  /// The unsharded program.
  reference::Program reference;
};

/// What a plan's code is called by.
using StepFunction = tpsp_rt_status (*)(tpsp_rt_rank *);
/// The name under which a plan's shared object exports it.
constexpr const char *stepSymbol = "tpsp_plan_step";

/// Whether the file begins as a compiled plan does, as far as can be seen
/// without reading it all. False for text, and for what cannot be read.
bool looksLikePlan(const std::string &path);

/// The description as JSON text, and back. INVALID if the text is no
/// description.
std::string toJson(const PlanDescription &description);
Status fromJson(const std::string &text, PlanDescription &out);

/// Writes a plan of this build's ABI: a whole file or none. `object` is the
/// shared object's bytes.
Status writePlan(const std::string &path, const std::string &object,
                 const PlanDescription &description);

/// Reads the description of a plan. INVALID, with what to do, for a file that
/// is no plan, or was cut or changed. Likewise for another ABI version, or a
/// processor that the plan does not run on.
Status readPlan(const std::string &path, PlanDescription &out);

/// Loads a plan's code into this process, which must export the calls of
/// tpsp_rt.h; after readPlan(). It stays loaded.
Status loadPlan(const std::string &path, StepFunction &out);

} // namespace tpsp::rt

#endif // TPSP_RUNTIME_DRIVER_PLANS_PLANFILE_H
