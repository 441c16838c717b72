// The page that --html writes.
#ifndef TPSP_TOOLS_TPSP_CHECK_PAGE_H
#define TPSP_TOOLS_TPSP_CHECK_PAGE_H

#include "Options.h"
#include "common/Progress.h"

#include "tpsp/Abi/Status.h"
#include "tpsp/Runtime/Driver/Page/Page.h"

namespace tpsp::checktool {

/// Writes a page of the checks, with the model's text and its equations. They
/// have gradients if `hasGradients`.
rt::Status writePage(const Options &options, bool hasGradients,
                     tool::Progress &progress,
                     const std::vector<rt::PageCheck> &checks);

} // namespace tpsp::checktool

#endif // TPSP_TOOLS_TPSP_CHECK_PAGE_H
