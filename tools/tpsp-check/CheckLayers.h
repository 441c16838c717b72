// --layers: every layer of a model alone, from what a dump has at its ends.
#ifndef TPSP_TOOLS_TPSP_CHECK_CHECKLAYERS_H
#define TPSP_TOOLS_TPSP_CHECK_CHECKLAYERS_H

#include "Opened.h"

namespace tpsp::checktool {

/// Checks the layers one after another, and then what is left without them.
/// At any time the tensors of one part are in memory. INVALID, with the names,
/// if the dump lacks arguments of a part.
rt::Status checkLayers(const Options &options, tool::Progress &progress,
                       check::CheckReport &report);

} // namespace tpsp::checktool

#endif // TPSP_TOOLS_TPSP_CHECK_CHECKLAYERS_H
