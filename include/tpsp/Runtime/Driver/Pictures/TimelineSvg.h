/// A step's trace as one picture, for people and papers. The ranks' streams are
/// lanes over time. Communication has two colours: hidden and exposed, as
/// Exposure.h has it. Under the lanes is the memory in use. One self-contained
/// SVG file, without scripts; colours that differ in grey, too.
#ifndef TPSP_RUNTIME_DRIVER_PICTURES_TIMELINESVG_H
#define TPSP_RUNTIME_DRIVER_PICTURES_TIMELINESVG_H

#include "tpsp/Abi/StepTrace.h"

namespace tpsp::rt {

/// `summary` (summaryLine, in Exposure.h) goes under the title. Well-formed XML
/// whatever bytes names are made of. What is narrower than a pixel is drawn
/// together with its neighbours, so that the file's size does not grow with the
/// number of commands.
std::string toSvg(const StepTrace &trace, const std::string &summary);

} // namespace tpsp::rt

#endif // TPSP_RUNTIME_DRIVER_PICTURES_TIMELINESVG_H
