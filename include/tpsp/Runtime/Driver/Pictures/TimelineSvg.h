/// Draws a step's trace as one picture, for people and papers. The ranks'
/// streams are lanes over time. Hidden and exposed communication (Exposure.h)
/// have two colours. The memory in use is drawn under the lanes. The result is
/// one self-contained SVG file without scripts, whose colours also differ in
/// grey.
#ifndef TPSP_RUNTIME_DRIVER_PICTURES_TIMELINESVG_H
#define TPSP_RUNTIME_DRIVER_PICTURES_TIMELINESVG_H

#include "tpsp/Abi/StepTrace.h"

namespace tpsp::rt {

/// `summary` (summaryLine, in Exposure.h) is written under the title. The
/// result is well-formed XML whatever bytes names contain. Commands narrower
/// than a pixel are drawn together with their neighbours, so the file's size
/// does not grow with the number of commands.
std::string toSvg(const StepTrace &trace, const std::string &summary);

} // namespace tpsp::rt

#endif // TPSP_RUNTIME_DRIVER_PICTURES_TIMELINESVG_H
