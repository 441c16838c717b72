/// The functions of Pictures.def. Each returns a file's text.
#ifndef TPSP_RUNTIME_DRIVER_PICTURES_PICTURES_H
#define TPSP_RUNTIME_DRIVER_PICTURES_PICTURES_H

#include "tpsp/Abi/StepTrace.h"

#include <string>

namespace tpsp::rt {

/// `summary` is a line about the step (summaryLine, in Exposure.h).
#define PICTURE(field, flag, draw, help)                                       \
  std::string draw(const StepTrace &trace, const std::string &summary);
#include "tpsp/Runtime/Driver/Pictures/Pictures.def"
#undef PICTURE

} // namespace tpsp::rt

#endif // TPSP_RUNTIME_DRIVER_PICTURES_PICTURES_H
