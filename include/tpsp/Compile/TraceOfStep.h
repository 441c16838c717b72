/// A compiled step as the trace of a run that has not happened: what each
/// command is called, where it comes from and what it reads.
#ifndef TPSP_COMPILE_TRACEOFSTEP_H
#define TPSP_COMPILE_TRACEOFSTEP_H

#include "tpsp/Runtime/Driver/StepTrace.h"
#include "tpsp/Schedule/Simulator.h"
#include "tpsp/Schedule/Step.h"

namespace tpsp {

/// Everything but the spans and the counters, which a run or a simulation adds.
/// `step` and `manifest` are of one plan. Linear in the accesses, but for
/// buffers that are written in parts.
rt::StepTrace traceOf(const Step &step, const rt::Manifest &manifest);

/// Gives every rank of `trace`, which is of `step`, the spans and the memory
/// that were predicted: one rank stands for all.
void fillSimulated(rt::StepTrace &trace, const Step &step,
                   const SimulatedStep &simulated);

} // namespace tpsp

#endif // TPSP_COMPILE_TRACEOFSTEP_H
